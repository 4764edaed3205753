"""How long the kernels of a recording take, by name and launch shape, to be compared with those of
other GPUs; and the clocks, where they were recorded.

Definitions: ``docs/advice.md#a-slower-gpu``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.samples import has_own_clock, samples
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MIN_KERNEL_NS = 10_000
"""The time of shorter kernels is that of starting them."""
MOST = 200
"""So many of them are kept, those that take longest in all."""
PACES = pl.Schema(
    {
        "kernel": pl.String,
        "grid": pl.String,
        "block": pl.String,
        "calls": pl.Int64,
        "median_ns": pl.Float64,
        "total_ns": pl.Int64,
        "of_all_pct": pl.Float64,  # of the time of all kernels but communication
        "longest": pl.Int64,  # slice of the call that took longest
        "start_ns": pl.Int64,
        "dur_ns": pl.Int64,
    }
)
"""One row per kernel and launch shape, those with most time first."""
CLOCKS = pl.Schema({"clock": pl.String, "mean_mhz": pl.Float64})
_COUNTERS = {"SM clock": "SM Clock", "memory clock": "Memory Clock"}
"""What a clock is called → start of the name of its counter, in MHz."""
_SHAPE = ("name_code", "grid_code", "block_code")


@per_trace
def kernel_paces(trace: Trace) -> pl.DataFrame:
    """The kernels of a whole recording as :data:`PACES`, without those beside communication, which
    slows them down."""
    kinds = kernel_kinds(trace)
    work = trace.device_work.select(*_SHAPE, "slice", "start_ns", "dur_ns")
    kernels = work.filter(pl.Series(kinds.is_kernel & ~kinds.is_communication))
    moving = work.filter(pl.Series(kinds.is_communication))
    begun = moving["start_ns"].to_numpy()
    times = union(begun, begun + moving["dur_ns"].to_numpy())
    start, dur = kernels["start_ns"].to_numpy(), kernels["dur_ns"].to_numpy()
    alone = kernels.filter(pl.Series(total_within(times, start, start + dur) == 0))
    longest = pl.col("dur_ns").arg_max()
    groups = (
        alone.group_by(_SHAPE, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("dur_ns").median().alias("median_ns"),
            pl.col("dur_ns").sum().alias("total_ns"),
            pl.col("slice").get(longest).alias("longest"),
            pl.col("start_ns").get(longest),
            pl.col("dur_ns").max(),
        )
        .filter(pl.col("median_ns") >= MIN_KERNEL_NS)
        .sort("total_ns", descending=True, maintain_order=True)
        .head(MOST)
    )
    return groups.select(
        *(
            codes.texts(trace, groups[code]).alias(name)
            for name, code in zip(("kernel", "grid", "block"), _SHAPE, strict=True)
        ),
        "calls",
        "median_ns",
        "total_ns",
        (pl.col("total_ns") / max(int(dur.sum()), 1) * 100).alias("of_all_pct"),
        "longest",
        "start_ns",
        "dur_ns",
    )


@per_trace
def clocks(trace: Trace) -> pl.DataFrame:
    """The clocks of a whole recording as :data:`CLOCKS`: the mean of what their counters say, else
    of what was sampled of the devices in use; none where there are none."""
    means = {}
    for clock, counter in _COUNTERS.items():
        mean = _mean(trace, counter)
        means[clock] = _sampled(trace, clock) if mean is None else mean
    found = [(clock, mean) for clock, mean in means.items() if mean is not None]
    return pl.DataFrame(found, schema=CLOCKS, orient="row")


def _sampled(trace: Trace, clock: str) -> float | None:
    """Mean of the samples of a clock taken while the recording lasted, or around it where it was
    shorter than the time between two."""
    used = {f"GPU {device}" for device in trace.devices.filter("used")["device"].to_list()}
    found = [
        series
        for series in samples(trace).series
        if series.metric == clock and series.unit == "MHz" and series.source in used
    ]
    if not found or has_own_clock(trace):
        return None
    value = np.concatenate([series.value for series in found])
    time_ns = np.concatenate([series.time_ns for series in found])
    inside = (time_ns >= trace.meta.start_ns) & (time_ns < trace.meta.end_ns)
    return float((value[inside] if inside.any() else value).mean())


def _mean(trace: Trace, counter: str) -> float | None:
    """Mean of the values of the counters whose name starts so; None without any."""
    names = trace.counters["name_code"].to_numpy()
    chosen = codes.map_names(trace, names, lambda name: name.startswith(counter), np.bool_)
    mean = trace.counters["value"].filter(pl.Series(chosen)).drop_nans().mean()
    return float(mean) if isinstance(mean, int | float) else None
