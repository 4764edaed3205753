"""What views of a whole run need of one rank: a small trace, kept beside the parsed one.

A summary is a :class:`Trace` with the tables those views look at and nothing else; what they would
compute from the slices is computed before, where the rank was parsed. Every view of scope ``run``
answers the same from summaries as from traces, with one exception: a time range that cuts into
merged kernels moves the compute time that advice compares by at most one merged stretch.
"""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.trace.cache import BrokenCacheError
from torch_tb_profiler.trace.columns import empty_table
from torch_tb_profiler.trace.model import DEVICE_WORK, TABLES, Trace, TraceMeta
from torch_tb_profiler.trace.nulls import table_to_frame
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.views import codes
from torch_tb_profiler.views.distributed_records import Records, records
from torch_tb_profiler.views.distributed_times import computation
from torch_tb_profiler.views.intervals import Intervals, empty, union
from torch_tb_profiler.views.kernel_kinds import KernelKinds, kernel_kinds
from torch_tb_profiler.views.roles import TIMED_ROLES, Role

SUMMARY_VERSION = 1
"""Raise with every change of what a summary holds."""

SUMMARY_PART = f"/summary {SUMMARY_VERSION}"
"""What tells its key in the cache from that of the trace."""

_FILE = "summary.msgpack"
_HEADER_KEYS = ("distributedInfo",)
_FRAMES = ("steps", "devices", "device_work")
_EMPTY_BUILT = ("slices", "operators", "tracks")
_EMPTY_RAW = {name: name for name in ("python", "memory", "flows", "counters", "instants")} | {
    "collectives": "collective"
}
"""Tables of a trace that have the columns of an importer's table."""


def save_summary(trace: Trace, folder: Path) -> None:
    """Write the summary of a whole trace into an existing folder.

    Raises:
        OSError: the folder cannot be written.
    """
    found = records(trace)
    ranges = {"record": found.record, "start_ns": found.start_ns, "end_ns": found.end_ns}
    frames = {
        "steps": trace.steps,
        "devices": trace.devices,
        "device_work": _compute_work(trace),
        "records": found.frame,
        "ranges": pl.DataFrame(ranges),
        "busy": pl.DataFrame(computation(trace)._asdict()),
    }
    header = {key: trace.meta.header[key] for key in _HEADER_KEYS if key in trace.meta.header}
    summary = {
        "version": SUMMARY_VERSION,
        "meta": asdict(replace(trace.meta, header=header)),
        "quality": trace.quality.counts,
        "frames": {name: _packed(frame) for name, frame in frames.items()},
    }
    (folder / _FILE).write_bytes(msgspec.msgpack.encode(summary))


def load_summary(folder: Path) -> Trace:
    """What :func:`save_summary` wrote.

    Raises:
        BrokenCacheError: the folder holds no whole summary of this version.
    """
    try:
        summary = msgspec.msgpack.decode((folder / _FILE).read_bytes())
        if summary["version"] != SUMMARY_VERSION:
            raise BrokenCacheError(f"{folder} has summary version {summary['version']}")
        frames = {name: _unpacked(data) for name, data in summary["frames"].items()}
        return _small_trace(summary, frames)
    except (OSError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
        raise BrokenCacheError(f"{folder} holds no whole summary: {error}") from error


def _small_trace(summary: dict[str, Any], frames: dict[str, pl.DataFrame]) -> Trace:
    ranges, busy = frames["ranges"], frames["busy"]
    tables: dict[str, Any] = {name: frames[name] for name in _FRAMES}
    trace = Trace(
        meta=TraceMeta(**summary["meta"]),
        strings=np.empty(0, np.object_),
        quality=QualityReport(counts=summary["quality"]),
        **_empty_tables(),
        **tables,
    )
    kernels = trace.device_work.height
    kinds = KernelKinds(
        np.ones(kernels, np.bool_), np.zeros(kernels, np.bool_), np.full(kernels, codes.NO, np.int8)
    )
    found = Records(
        frames["records"],
        *(ranges[name].to_numpy() for name in ("record", "start_ns", "end_ns")),
    )
    intervals = dict.fromkeys(TIMED_ROLES, empty())
    # Computation is kernels, or without any the host's work: a summary need not tell which.
    intervals[Role.KERNEL] = Intervals(busy["start_ns"].to_numpy(), busy["end_ns"].to_numpy())
    trace.derived("kernel_kinds", lambda: kinds)
    trace.derived("distributed_records", lambda: found)
    trace.derived("role_intervals", lambda: tuple(intervals[role] for role in TIMED_ROLES))
    return trace


@lru_cache(maxsize=1)
def _empty_tables() -> dict[str, Any]:
    """The tables that a summary lacks; all summaries share them."""
    built = {name: pl.DataFrame(schema=TABLES[name]) for name in _EMPTY_BUILT}
    raw = {name: table_to_frame(empty_table(table)) for name, table in _EMPTY_RAW.items()}
    return {**built, **raw}


def _compute_work(trace: Trace) -> pl.DataFrame:
    """``device_work`` of the kernels that compute, those of one device and step merged."""
    kinds, work = kernel_kinds(trace), trace.device_work
    device = work["device"].fill_null(-1).to_numpy()
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication & (device >= 0))
    start = work["start_ns"].to_numpy()[rows]
    end = start + work["dur_ns"].to_numpy()[rows]
    step_end = trace.steps["end_ns"].to_numpy()
    step = np.searchsorted(trace.steps["start_ns"].to_numpy(), start, "right") - 1
    inside = (step >= 0) & (start < step_end[step]) if len(step_end) else np.zeros(len(rows), bool)
    groups, place = np.unique(
        np.stack((device[rows], np.where(inside, step, -1))), axis=1, return_inverse=True
    )
    parts = [pl.DataFrame(schema={"device": pl.Int64, "start_ns": pl.Int64, "dur_ns": pl.Int64})]
    for number, (gpu, _) in enumerate(groups.T):
        chosen = place.ravel() == number
        merged = union(start[chosen], end[chosen])
        columns = {"start_ns": merged.start_ns, "dur_ns": merged.end_ns - merged.start_ns}
        parts.append(
            pl.DataFrame(columns).select(
                pl.lit(gpu, pl.Int64).alias("device"), "start_ns", "dur_ns"
            )
        )
    merged_work = pl.concat(parts).sort("start_ns")
    missing = [name for name in DEVICE_WORK if name not in merged_work.columns]
    return merged_work.with_columns(
        pl.lit(None, DEVICE_WORK[name]).alias(name) for name in missing
    ).select(pl.col(name).cast(dtype) for name, dtype in DEVICE_WORK.items())


def _packed(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compression="uncompressed")
    return buffer.getvalue()


def _unpacked(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))
