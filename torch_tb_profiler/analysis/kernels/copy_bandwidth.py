"""Single copies: their size and overlap with kernels, and the bandwidth they could reach.

Definitions: ``docs/views-copies.md``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

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
"""From this size on a copy shows the bandwidth of its link: its start-up time is negligible."""


class PinnedRate(Struct, frozen=True, eq=False):
    """Bandwidth of copies of one direction and device from and to pinned memory.

    Attributes:
        gb_per_s: 10^9 bytes per second.
        is_measured: Whether large copies of the recording show it; else it is the link's limit.
    """

    gb_per_s: float
    is_measured: bool


@per_trace
def timed_copies(trace: Trace) -> pl.DataFrame:
    """One row per copy, without sets, in order of slice id.

    Columns: those of :func:`~.copies.copy_calls`, start_ns, overlapped_ns (the part in which a
    kernel ran on its device; 0 where the device is unknown), call_ns (time of the call that
    launched it; null where unknown), size_class (largest power of two in its bytes, -1 for none;
    null where its size is unknown).
    """
    calls = copy_calls(trace)
    calls = calls.filter(pl.col("kind").fill_null("") != SET)
    rows = calls["row"].to_numpy()
    work = trace.device_work
    start = work["start_ns"].to_numpy()[rows]
    launch = indices(work["launch"])[rows]
    call_ns: Int64 = gather(trace.slices["dur_ns"].to_numpy(), launch)
    size = indices(calls["bytes"])
    exponent = np.where(size > 0, np.frexp(size.astype(np.float64))[1] - 1, -1)
    rows_with_times: pl.DataFrame = calls.with_columns(
        start_ns=pl.Series(start),
        overlapped_ns=pl.Series(_overlapped_ns(trace, calls, start)),
        call_ns=pl.when(pl.Series(launch >= 0)).then(pl.Series(call_ns)),
        size_class=pl.when(pl.col("bytes").is_not_null()).then(pl.Series(exponent, dtype=pl.Int64)),
    )
    return rows_with_times


def selected_copies(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The rows of :func:`timed_copies` in a selection.

    Raises:
        SelectionError: steps or a phase that are malformed or not in this trace.
    """
    rows = timed_copies(trace)
    if selection.is_everything:
        return rows
    mask = device_work_mask(trace, selection)
    return rows.filter(pl.Series(mask[rows["row"].to_numpy()]))


def _overlapped_ns(trace: Trace, calls: pl.DataFrame, start: Int64) -> Int64:
    device, end = indices(calls["device"]), start + calls["dur_ns"].to_numpy()
    overlapped = np.zeros(len(start), np.int64)
    for number, profile in gpu_profiles(trace).items():
        own = device == number
        overlapped[own] = total_within(profile.busy, start[own], end[own])
    return overlapped


@per_trace
def link_limits(trace: Trace) -> dict[tuple[str, int], float]:
    """Per kind of copy and device its maximum bandwidth, 10^9 bytes per second, where known."""
    limits = {}
    rows = trace.devices.select("device", "name", "memory_bytes").iter_rows()
    for device, name, memory_bytes in rows:
        for kind in ("HtoD", "DtoH", "PtoP", "DtoD"):
            limit = copy_limit(name, kind, memory_bytes) if name is not None else None
            if limit is not None:
                limits[kind, int(device)] = limit
    return limits


@per_trace
def pinned_rates(trace: Trace) -> dict[tuple[str, int], PinnedRate]:
    """Per direction (``"HtoD"``, ``"DtoH"``) and device the bandwidth of copies from and to pinned
    memory: all bytes ÷ all time of the large ones of the recording; else the limit of the link."""
    large = timed_copies(trace).filter(
        (pl.col("host_memory") == "pinned")
        & (pl.col("bytes") >= LARGE_BYTES)
        & (pl.col("dur_ns") > 0)
        & pl.col("kind").is_in(["HtoD", "DtoH"])
        & pl.col("device").is_not_null()
    )
    rates = {
        (kind, device): PinnedRate(limit, is_measured=False)
        for (kind, device), limit in link_limits(trace).items()
        if kind in ("HtoD", "DtoH")
    }
    sums = large.group_by("kind", "device").agg(pl.col("bytes").sum(), pl.col("dur_ns").sum())
    for kind, device, size, dur_ns in sums.iter_rows():
        rates[kind, device] = PinnedRate(size / dur_ns, is_measured=True)
    return rates


def pinned_savings(trace: Trace, copies: pl.DataFrame) -> Float64:
    """Per row of :func:`timed_copies` the time it would save from or to pinned memory, ns: NaN for
    copies that are not pageable, and where size or bandwidth is unknown; never below 0."""
    rates = pinned_rates(trace)
    kinds, devices = copies["kind"].to_list(), copies["device"].to_list()
    distinct = set(zip(kinds, devices, strict=True))
    rate_of = {key: rates[key].gb_per_s if key in rates else np.nan for key in distinct}
    rate = np.array([rate_of[key] for key in zip(kinds, devices, strict=True)], np.float64)
    size = copies["bytes"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    saved = np.maximum(copies["dur_ns"].to_numpy() - size / rate, 0)
    pageable = (copies["host_memory"] == "pageable").fill_null(value=False).to_numpy()
    return np.where(pageable, saved, np.nan)
