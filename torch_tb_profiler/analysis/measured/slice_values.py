"""Counters that a recording gives of single slices: of kernels, and of ranges on a device.

AMD's profiler counts each dispatch on its own, CUPTI's range profiler each kernel or range.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.measured.counters import MAX_VALUE
from torch_tb_profiler.analysis.measured.signals import Signal
from torch_tb_profiler.knowledge.device_counters import CounterMeaning, counter_meaning
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.counter_names import split_unit
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.model import Trace


@per_trace
def work_values(trace: Trace) -> dict[str, Float64]:
    """Role → per row of ``trace.device_work`` its value, NaN where it has none; only roles that
    some row has a value of. Of two names of one role the first in ``device_counters.toml``
    counts."""
    values: dict[str, Float64] = {}
    slices = trace.device_work["slice"].to_numpy()
    for meaning, rows in _by_meaning(trace):
        if meaning.role is None:
            continue
        position = positions_in(slices, rows["slice"].to_numpy())
        known = values.setdefault(meaning.role.role, np.full(len(slices), np.nan))
        chosen = np.flatnonzero(position >= 0)
        chosen = chosen[np.isnan(known[position[chosen]])]
        known[position[chosen]] = rows["value"].to_numpy()[chosen] * meaning.scale
    return {role: known for role, known in values.items() if not np.isnan(known).all()}


@per_trace
def range_signals(trace: Trace) -> dict[tuple[int, str], Signal]:
    """Device and role → the values of ranges that are no device work themselves, each over its
    slice; of ranges that overlap the one that starts first counts, and the next begins where it
    ends."""
    slices, tracks = trace.slices, trace.tracks
    device_of_track = indices(tracks["device"])
    signals: dict[tuple[int, str], Signal] = {}
    for meaning, rows in _by_meaning(trace):
        if meaning.role is None or meaning.role.kind == "total":
            continue
        ranges = slices[rows["slice"]].with_columns(value=rows["value"])
        ranges = ranges.filter(pl.col("category") == int(Category.DEVICE_OTHER)).sort("start_ns")
        device = device_of_track[ranges["track"].to_numpy()]
        for each in np.unique(device[device >= 0]).tolist():
            part = ranges.filter(pl.Series(device == each))
            end = part["start_ns"].to_numpy() + part["dur_ns"].to_numpy()
            reached = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end)[:-1])
            start = np.maximum(part["start_ns"].to_numpy(), reached)
            filled = end > start
            value = part["value"].to_numpy() * meaning.scale
            signal = Signal(start[filled], end[filled], value[filled])
            signals.setdefault((each, meaning.role.role), signal)
    return signals


def _by_meaning(trace: Trace) -> list[tuple[CounterMeaning, pl.DataFrame]]:
    """The numbers of each known counter, preferred names first."""
    numbers = trace.arguments.filter(pl.col("value").abs() <= MAX_VALUE)
    parts = []
    for (code,), rows in numbers.partition_by("key_code", as_dict=True).items():
        meaning = counter_meaning(*split_unit(trace.text(int(code)) or ""))
        if meaning.role is not None:
            parts.append((meaning, rows))
    return sorted(parts, key=lambda part: part[0].rank)
