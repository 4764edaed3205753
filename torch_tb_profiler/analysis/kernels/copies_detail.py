"""Each copy by itself: when, how fast, how large, and whether kernels ran beside it.

Definitions: ``docs/views-copies.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.kernels.copies import SET, copy_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge.links import copy_limit
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LARGE_BYTES = 1 << 20
"""From this size on a copy tells what its link carries: what it takes to begin is then little."""


@dataclass(frozen=True, slots=True, eq=False)
class PinnedPace:
    """How fast copies of one direction and device go from and to pinned memory.

    Attributes:
        gb_per_s: 10^9 bytes per second.
        is_measured: Whether large copies of the recording tell; else it is the link's limit.
    """

    gb_per_s: float
    is_measured: bool


@per_trace
def copies(trace: Trace) -> pl.DataFrame:
    """One row per copy, without sets, in order of slice id.

    Columns: those of :func:`~.copies.copy_calls`, start_ns, beside_ns (the part in which a kernel
    ran on its device; 0 where the device is unknown), call_ns (how long the call took that launched
    it; null where unknown), size_class (largest power of two in its bytes, -1 for none; null where
    its size is unknown).
    """
    calls = copy_calls(trace)
    calls = calls.filter(pl.col("kind").fill_null("") != SET)
    rows = calls["row"].to_numpy()
    work = trace.device_work
    start = work["start_ns"].to_numpy()[rows]
    launch = indices(work["launch"])[rows]
    called: Int64 = gather(trace.slices["dur_ns"].to_numpy(), launch)
    size = indices(calls["bytes"])
    exponent = np.where(size > 0, np.frexp(size.astype(np.float64))[1] - 1, -1)
    found: pl.DataFrame = calls.with_columns(
        start_ns=pl.Series(start),
        beside_ns=pl.Series(_beside(trace, calls, start)),
        call_ns=pl.when(pl.Series(launch >= 0)).then(pl.Series(called)),
        size_class=pl.when(pl.col("bytes").is_not_null()).then(pl.Series(exponent, dtype=pl.Int64)),
    )
    return found


def selected_copies(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The rows of :func:`copies` in a selection.

    Raises:
        SelectionError: steps or a phase that are malformed or not in this trace.
    """
    found = copies(trace)
    if selection.is_everything:
        return found
    mask = device_work_mask(trace, selection)
    return found.filter(pl.Series(mask[found["row"].to_numpy()]))


def _beside(trace: Trace, calls: pl.DataFrame, start: Int64) -> Int64:
    device, end = indices(calls["device"]), start + calls["dur_ns"].to_numpy()
    beside = np.zeros(len(start), np.int64)
    for number, profile in gpu_profiles(trace).items():
        own = device == number
        beside[own] = total_within(profile.busy, start[own], end[own])
    return beside


@per_trace
def limits(trace: Trace) -> dict[tuple[str, int], float]:
    """Per kind of copy and device what it reaches at most, 10^9 bytes per second, where known."""
    found = {}
    for device, name in trace.devices.select("device", "name").iter_rows():
        for kind in ("HtoD", "DtoH", "PtoP", "DtoD"):
            limit = copy_limit(name, kind) if name is not None else None
            if limit is not None:
                found[kind, int(device)] = limit
    return found


@per_trace
def pinned_paces(trace: Trace) -> dict[tuple[str, int], PinnedPace]:
    """Per direction (``"HtoD"``, ``"DtoH"``) and device how fast copies from and to pinned memory
    are: the large ones of the recording, all bytes ÷ all time; else at most what the link
    carries."""
    large = copies(trace).filter(
        (pl.col("host_memory") == "pinned")
        & (pl.col("bytes") >= LARGE_BYTES)
        & (pl.col("dur_ns") > 0)
        & pl.col("kind").is_in(["HtoD", "DtoH"])
        & pl.col("device").is_not_null()
    )
    paces = {
        (kind, device): PinnedPace(limit, is_measured=False)
        for (kind, device), limit in limits(trace).items()
        if kind in ("HtoD", "DtoH")
    }
    sums = large.group_by("kind", "device").agg(pl.col("bytes").sum(), pl.col("dur_ns").sum())
    for kind, device, size, dur_ns in sums.iter_rows():
        paces[kind, device] = PinnedPace(size / dur_ns, is_measured=True)
    return paces


def pinned_savings(trace: Trace, found: pl.DataFrame) -> Float64:
    """Per row of :func:`copies` how much less time it would take from or to pinned memory, ns: NaN
    of what is not pageable, and where size or pace are not known; never below 0."""
    paces = pinned_paces(trace)
    kinds, devices = found["kind"].to_list(), found["device"].to_list()
    distinct = set(zip(kinds, devices, strict=True))
    pace_of = {key: paces[key].gb_per_s if key in paces else np.nan for key in distinct}
    pace = np.array([pace_of[key] for key in zip(kinds, devices, strict=True)], np.float64)
    size = found["bytes"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    saved = np.maximum(found["dur_ns"].to_numpy() - size / pace, 0)
    pageable = (found["host_memory"] == "pageable").fill_null(value=False).to_numpy()
    return np.where(pageable, saved, np.nan)
