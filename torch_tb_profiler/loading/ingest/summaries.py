"""Summaries: the small trace of one rank that views of a whole run need.

A summary is a :class:`Trace` with only the tables that those views read; values that they would
compute from the slices are computed in advance, where the rank was parsed. Every view of scope
``run`` gives the same answer for summaries as for traces, with one exception: a time range that
cuts merged kernels changes the compute time that advice compares by at most one merged stretch.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, empty, union
from torch_tb_profiler.analysis.communication.certainty import (
    CommunicationCertainty,
    communication_certainty,
)
from torch_tb_profiler.analysis.communication.queues import CallQueues, call_queues
from torch_tb_profiler.analysis.communication.records import RECORDS, Records, records
from torch_tb_profiler.analysis.communication.roles import (
    TIMED_ROLES,
    Role,
    computation,
    host_computation,
    role_intervals,
)
from torch_tb_profiler.analysis.communication.stated_transfers import STATED_CALLS, stated_calls
from torch_tb_profiler.analysis.experts.facts import (
    EXPERT_KERNELS,
    EXPERT_PASSES,
    expert_kernel_facts,
    expert_pass_facts,
)
from torch_tb_profiler.analysis.experts.shares import EXPERT_SHARES, expert_share_facts
from torch_tb_profiler.analysis.hang.last_activity import LAST_ACTIVITY, last_activity
from torch_tb_profiler.analysis.job_roles.evidence import ROLE_EVIDENCE, role_evidence
from torch_tb_profiler.analysis.kernels.durations import (
    CLOCKS,
    KERNEL_DURATIONS,
    clocks,
    kernel_durations,
)
from torch_tb_profiler.analysis.parallel.passes import PASSES, microbatch_passes
from torch_tb_profiler.analysis.ranks.device_use import DEVICE_USE, device_use
from torch_tb_profiler.analysis.ranks.locations import LOCATION, rank_location
from torch_tb_profiler.analysis.ranks.phases import RANK_PHASES, rank_phases
from torch_tb_profiler.analysis.ranks.rank_steps import RANK_STEPS, rank_steps
from torch_tb_profiler.analysis.ranks.segments import SEGMENTS, segments
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    KernelKinds,
    RecognizedBy,
    kernel_kinds,
)
from torch_tb_profiler.analysis.recording.step_work import STEP_WORK, step_work
from torch_tb_profiler.loading.ingest.job import SUMMARY_VERSION
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.cache import BrokenCacheError, counts_from, described, meta_from
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.flight_tables import FLIGHT_SCHEMAS
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.model import TABLE_NAMES, Trace, TraceMeta, schema_of
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SideTable

_FILE = "summary.msgpack"
_FACTS: dict[str, tuple[pl.Schema, PerTrace[pl.DataFrame]]] = {
    "paces": (KERNEL_DURATIONS, kernel_durations),
    "clocks": (CLOCKS, clocks),
    "stated": (pl.Schema(STATED_CALLS), stated_calls),
    "rank_steps": (RANK_STEPS, rank_steps),
    "location": (LOCATION, rank_location),
    "microbatch_passes": (PASSES, microbatch_passes),
    "expert_passes": (EXPERT_PASSES, expert_pass_facts),
    "expert_kernels": (EXPERT_KERNELS, expert_kernel_facts),
    "expert_shares": (EXPERT_SHARES, expert_share_facts),
    "role_evidence": (pl.Schema(ROLE_EVIDENCE), role_evidence),
    "rank_phases": (RANK_PHASES, rank_phases),
    "device_use": (DEVICE_USE, device_use),
    "segments": (SEGMENTS, segments),
    "step_work": (STEP_WORK, step_work),
    "last_activity": (LAST_ACTIVITY, last_activity),
}
"""Facts of a rank that are a table each, with its columns: all that views of a run need beyond the
communication. A fact is added by a line here and a higher ``job.SUMMARY_VERSION``."""
FRAMES = {
    "steps": schema_of("steps"),
    "devices": schema_of("devices"),
    "records": pl.Schema(RECORDS),
    **{name: schema for name, (schema, _) in _FACTS.items()},
}
_SIDE = ("recorded_collectives", "links", "cluster_steps", "parallel_strategy", *FLIGHT_SCHEMAS)
"""The side tables of a summary."""
WORK = ("device", "start_ns", "dur_ns")
"""The columns of ``device_work`` in a summary."""
ARRAYS = {
    "call_track", "call_ready_ns",
    "record", "range_start_ns", "range_end_ns", "busy_start_ns", "busy_end_ns",
    *(f"work_{name}" for name in WORK),
}  # fmt: skip


class SummaryParts(Struct, frozen=True, eq=False):
    """What a summary is stored as.

    Attributes:
        head: Values that are no tables: ``meta``, ``quality``, ``certainty`` and ``side``.
        frames: Tables by name, of the columns of :data:`FRAMES`.
        arrays: Whole numbers by the names of :data:`ARRAYS`.
    """

    head: dict[str, Any]
    frames: dict[str, pl.DataFrame]
    arrays: dict[str, Int64]


def summary_parts(trace: Trace, *, is_summary: bool = False) -> SummaryParts:
    """The parts of the summary of a trace, or of what :func:`load_summary` returned."""
    calls, busy, queues = records(trace), computation(trace), call_queues(trace)
    if is_summary:
        work = tuple(trace.device_work[name].to_numpy() for name in WORK)
    else:
        work = _compute_work(trace)
    frames = {
        "steps": trace.steps,
        "devices": trace.devices,
        "records": calls.frame,
        **{name: fact(trace) for name, (_, fact) in _FACTS.items()},
    }
    arrays = {
        "record": calls.record,
        "call_track": queues.track,
        "call_ready_ns": queues.ready_ns,
        "range_start_ns": calls.start_ns,
        "range_end_ns": calls.end_ns,
        "busy_start_ns": busy.start_ns,
        "busy_end_ns": busy.end_ns,
        **{f"work_{name}": values for name, values in zip(WORK, work, strict=True)},
    }
    whole = trace.meta.info
    info = TraceInfo(
        recorder=whole.recorder,
        host_name=whole.host_name,
        job=whole.job,
        not_recorded=whole.not_recorded,
    )
    side = [table for name in _SIDE if (table := trace.side.get(name)) is not None]
    head = {
        "meta": msgspec.to_builtins(replace(trace.meta, info=info)),
        "quality": trace.quality.counts,
        "certainty": msgspec.to_builtins(communication_certainty(trace)),
        "side": {table.name: [table.source, _packed(table.frame)] for table in side},
    }
    return SummaryParts(head, frames, arrays)


def save_summary(trace: Trace, folder: Path) -> None:
    """Write the summary of a trace into an existing folder.

    Raises:
        OSError: the folder cannot be written.
    """
    parts = summary_parts(trace)
    summary = {
        "version": SUMMARY_VERSION,
        **parts.head,
        "frames": {name: _packed(parts.frames[name]) for name in FRAMES},
        "tables": {name: described(parts.frames[name]) for name in FRAMES},
        "arrays": {
            name: np.asarray(values, "<i8").tobytes() for name, values in parts.arrays.items()
        },
    }
    (folder / _FILE).write_bytes(msgspec.msgpack.encode(summary))


def load_summary(folder: Path) -> Trace:
    """The summary that :func:`save_summary` wrote.

    Raises:
        BrokenCacheError: the folder holds no complete summary of this version.
    """
    try:
        summary = msgspec.msgpack.decode((folder / _FILE).read_bytes())
        if summary["version"] != SUMMARY_VERSION:
            raise BrokenCacheError(f"{folder} has summary version {summary['version']}")
        frames = {name: _unpacked(summary, name) for name in FRAMES}
        arrays = {name: np.frombuffer(data, "<i8") for name, data in summary["arrays"].items()}
        if set(arrays) != ARRAYS:
            raise BrokenCacheError(f"{folder} has other arrays than were written")
        meta = meta_from(summary["meta"])
        return small_trace(SummaryParts(summary, frames, arrays), meta)
    except BrokenCacheError:
        raise
    except Exception as error:  # whatever is wrong with an entry, it can be created again
        raise BrokenCacheError(f"{folder} holds no complete summary: {error}") from error


def small_trace(parts: SummaryParts, meta: TraceMeta, work: pl.DataFrame | None = None) -> Trace:
    """The trace of a stored summary.

    Args:
        parts: As they were stored.
        meta: The metadata that their head holds.
        work: The columns of its ``device_work``, where they are a table already.

    Raises:
        Exception: the head is not as it was written.
    """
    summary, frames, arrays = parts.head, parts.frames, parts.arrays
    if work is None:
        work = pl.DataFrame({name: arrays[f"work_{name}"] for name in WORK})
    trace = Trace(
        meta=meta,
        strings=np.empty(0, np.object_),
        quality=QualityReport(counts=counts_from(summary["quality"])),
        steps=frames["steps"],
        devices=frames["devices"],
        device_work=work,
        side=_side(summary["side"]),
        **_empty_tables(),
    )
    yes, no = np.ones(work.height, np.bool_), np.zeros(work.height, np.bool_)
    by_name = np.full(work.height, RecognizedBy.NAME, np.int8)
    kinds = KernelKinds(yes, no, np.full(work.height, codes.NO, np.int8), by_name)
    calls = Records(
        frames["records"], arrays["record"], arrays["range_start_ns"], arrays["range_end_ns"]
    )
    intervals = dict.fromkeys(TIMED_ROLES, empty())
    # Computation is kernels, or the host's work without any: a summary need not distinguish them.
    intervals[Role.KERNEL] = Intervals(arrays["busy_start_ns"], arrays["busy_end_ns"])
    certainty = msgspec.convert(summary["certainty"], set_up(CommunicationCertainty))
    communication_certainty.provide(trace, certainty)
    kernel_kinds.provide(trace, kinds)
    records.provide(trace, calls)
    call_queues.provide(trace, CallQueues(arrays["call_track"], arrays["call_ready_ns"]))
    for name, (_, fact) in _FACTS.items():
        fact.provide(trace, frames[name])
    role_intervals.provide(trace, tuple(intervals[role] for role in TIMED_ROLES))
    host_computation.provide(trace, empty())
    return trace


def _side(packed: dict[str, Any]) -> dict[str, SideTable]:
    """The side tables; a frame with other columns than declared is an error."""
    return {
        name: SideTable(name, str(source), pl.read_ipc_stream(io.BytesIO(frame)))
        for name, (source, frame) in packed.items()
    }


@lru_cache(maxsize=1)
def _empty_tables() -> dict[str, Any]:
    """The tables that a summary does not have; all summaries share them."""
    present = {"steps", "devices", "device_work"}
    return {
        name: pl.DataFrame(schema=schema_of(name)) for name in TABLE_NAMES if name not in present
    }


def _compute_work(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Device, start and duration of the compute kernels, merged where those of one device and step
    touch; ordered by start."""
    kinds, work = kernel_kinds(trace), trace.device_work
    device = indices(work["device"])
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication & (device >= 0))
    start = work["start_ns"].to_numpy()[rows]
    end = start + work["dur_ns"].to_numpy()[rows]
    steps = trace.steps.sort("start_ns", maintain_order=True)  # several processes overlap
    step_end = steps["end_ns"].to_numpy()
    step = np.searchsorted(steps["start_ns"].to_numpy(), start, "right") - 1
    inside = (step >= 0) & (start < step_end[step]) if len(step_end) else np.zeros(len(rows), bool)
    groups, group_index = np.unique(
        np.stack((device[rows], np.where(inside, step, -1))), axis=1, return_inverse=True
    )
    merged = [union(start[chosen], end[chosen]) for chosen in _members(group_index.ravel())]
    gpu = np.repeat(groups[0], [len(part.start_ns) for part in merged])
    starts = np.concatenate([empty().start_ns, *(part.start_ns for part in merged)])
    ends = np.concatenate([empty().end_ns, *(part.end_ns for part in merged)])
    order = np.argsort(starts, kind="stable")
    return gpu[order], starts[order], (ends - starts)[order]


def _members(group: Int64) -> list[Int64]:
    """Rows of each group, in order."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(group) else []


def _packed(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    # A clone: polars locks the frame it writes, and a reader of it holds Python's lock, which
    # writing into a buffer needs.
    frame.clone().write_ipc_stream(buffer, compression="uncompressed")
    return buffer.getvalue()


def _unpacked(summary: dict[str, Any], name: str) -> pl.DataFrame:
    frame = pl.read_ipc_stream(io.BytesIO(summary["frames"][name]))
    schema, rows = FRAMES[name], summary["tables"][name]["rows"]
    if frame.columns != [*schema] or frame.dtypes != [*schema.values()] or frame.height != rows:
        raise BrokenCacheError(f"table {name} has other columns or rows than were written")
    return frame
