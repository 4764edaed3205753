"""How much each device copies at every moment, by direction.

A copy moves its bytes evenly over its time; copies that run side by side add up. Copies without a
recorded size, and those without a duration, are left out.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import WeightProfile
from torch_tb_profiler.analysis.kernels.copies import SET, copy_calls
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class CopyRate(Struct, frozen=True, eq=False):
    """The copies of one device in one direction.

    Attributes:
        device: The device that recorded them.
        direction: ``"HtoD"`` and so on; None where their names have none.
        gb_per_s: Their rate over time, 10^9 bytes per second.
    """

    device: int
    direction: str | None
    gb_per_s: WeightProfile


@per_trace
def copy_rates(trace: Trace) -> tuple[CopyRate, ...]:
    """The rates of all devices, by device and direction, unknown directions last."""
    calls = copy_calls(trace).with_columns(
        start_ns=trace.device_work["start_ns"].gather(copy_calls(trace)["row"])
    )
    sized = calls.filter(
        (pl.col("kind").fill_null("") != SET)
        & pl.col("device").is_not_null()
        & (pl.col("bytes") > 0)
        & (pl.col("dur_ns") > 0)
    ).sort("device", "kind", "start_ns", nulls_last=True)
    rates = []
    for part in sized.partition_by("device", "kind", maintain_order=True):
        start, dur = part["start_ns"].to_numpy(), part["dur_ns"].to_numpy()
        profile = WeightProfile(start, start + dur, part["bytes"].to_numpy() / dur)
        rates.append(CopyRate(part["device"][0], part["kind"][0], profile))
    return tuple(rates)
