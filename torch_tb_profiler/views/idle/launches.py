"""Launches by call: how late their work starts, and which cost more than they bring."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.launches.launch_delays import Launches, WorkClass, launches
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.idle.columns import LAUNCHES, NO_LAUNCHES
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Fact, Line, Series, Table

_QUANTILES = {"delay_p50_us": 0.5, "delay_p90_us": 0.9, "delay_p99_us": 0.99}
_TITLES = {each: each.name.lower() for each in WorkClass}
BINS_PER_DECADE = 5
LEAST_US = 0.1


def selected_launches(trace: Trace, selection: Selection) -> tuple[Launches, Bools]:
    """The launches of a trace, and which of them launched work of a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = launches(trace)
    if selection.is_everything:
        return calls, np.ones(len(calls.row), np.bool_)
    return calls, device_work_mask(trace, selection)[calls.row]


def launches_table(trace: Trace, calls: Launches, chosen: Bools) -> Table:
    """The rows of ``LAUNCHES``."""
    selected = slice(None) if chosen.all() else np.flatnonzero(chosen)
    frame = pl.DataFrame(
        {
            "name_code": calls.name_code[selected],
            "work_class": calls.work_class[selected],
            "call_ns": calls.call_ns[selected],
            "delay_ns": calls.delay_ns[selected],
            "work_ns": calls.work_ns[selected],
            "is_short": calls.is_short[selected],
        }
    )
    groups = frame.group_by("name_code", "work_class", maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64),
        call_ns=pl.col("call_ns").sum(),
        call_max_us=pl.col("call_ns").max(),
        longest_delay_us=pl.col("delay_ns").max(),
        short=pl.col("is_short").sum().cast(pl.Int64),
        short_us=pl.col("work_ns").filter("is_short").sum(),
        **{key: pl.col("delay_ns").quantile(share, "linear") for key, share in _QUANTILES.items()},
    )
    times = ("call_max_us", "longest_delay_us", "short_us", *_QUANTILES)
    rows = groups.with_columns(
        host_call=codes.texts(trace, groups["name_code"]),
        work=pl.col("work_class").replace_strict(_TITLES, return_dtype=pl.String),
        call_mean_us=microseconds(groups["call_ns"], groups["calls"]),
        short_pct=100 * pl.col("short") / pl.col("calls"),
        **{key: microseconds(groups[key]) for key in times},
    )
    rows = rows.select(pl.col(key).cast(dtype) for key, dtype in LAUNCHES.polars_schema().items())
    return in_default_order(Table(LAUNCHES, rows))


def launch_facts(
    trace: Trace, selection: Selection, calls: Launches, chosen: Bools
) -> tuple[Fact, ...]:
    """How many kernels run for less time than their launch takes."""
    short = calls.is_short & chosen
    kernels = kernel_kinds(trace).is_kernel
    if not selection.is_everything:
        kernels = kernels & device_work_mask(trace, selection)
    count, time = int(kernels.sum()), int(trace.device_work["dur_ns"].to_numpy()[kernels].sum())
    reason = None if chosen.any() else NO_LAUNCHES
    return (
        Fact(
            "short_kernels_pct",
            "Kernels faster than their launch call",
            None if reason or not count else 100 * int(short.sum()) / count,
            "pct",
            None,
            "Share of all kernels that run for less time than their launch call takes. If it is "
            "high, the host cannot keep the GPU busy.",
            reason if reason or count else "The selection holds no kernel.",
        ),
        Fact(
            "short_kernels_time_pct",
            "Time of these kernels",
            None if reason or not time else 100 * int(calls.work_ns[short].sum()) / time,
            "pct",
            None,
            "Share of the summed duration of all kernels.",
            reason if reason or time else "The selection holds no kernel.",
        ),
    )


def delay_series(calls: Launches, chosen: Bools) -> Series:
    """How many launches of each kind of work have a delay of which size: bins of equal width on a
    logarithmic axis, from a tenth of a µs on."""
    bins = _bins(calls.delay_ns[chosen])
    classes = calls.work_class[chosen]
    first, last = (int(bins.min()), int(bins.max()) + 1) if len(bins) else (0, 0)
    x = [float(number) / BINS_PER_DECADE - 1 for number in range(first, last)]
    lines = []
    for each in WorkClass:
        own = bins[classes == each]
        if len(own):
            counts = np.bincount(own - first, minlength=last - first)
            lines.append(Line(_TITLES[each], x, counts.astype(np.float64).tolist()))
    return Series(
        "Launch delays",
        "stacked_bar",
        "Delay as power of ten of a µs (−1 or less: below 0.16 µs, 0: 1 µs, 3: 1 ms)",
        None,
        "Launches",
        "count",
        tuple(lines),
    )


def _bins(delay_ns: Int64) -> Int64:
    decades = np.log10(np.maximum(delay_ns / NS_PER_US, LEAST_US) / LEAST_US)
    return np.floor(decades * BINS_PER_DECADE + 1e-9).astype(np.int64)
