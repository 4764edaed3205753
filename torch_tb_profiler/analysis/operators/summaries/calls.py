"""Calls summed by what they have in common: how many, and their times on host and device.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, device_work_steps, slice_mask
from torch_tb_profiler.analysis.steps.phases.times import host_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

SIDES = ("cpu", "gpu")
FIGURES = ("total", "mean", "max", "min")


def calls_of(trace: Trace, slices: Int64, gpu_ns: Int64) -> pl.DataFrame:
    """One row per slice, in order: slice, name_code, track, start_ns, cpu_ns (its duration), gpu_ns
    (as given; null where the recording tells no device time of any host slice).

    Args:
        trace: The recording.
        slices: Slice ids, ascending.
        gpu_ns: Device work launched inside each.
    """
    known = no_device_time(trace) is None
    frame: pl.DataFrame = trace.slices.select("name_code", "track", "start_ns", cpu_ns="dur_ns")[
        slices
    ]
    return frame.with_columns(
        slice=pl.Series(slices, dtype=pl.Int64),
        gpu_ns=pl.Series(gpu_ns) if known else pl.lit(None, pl.Int64),
    )


def selected_calls(trace: Trace, selection: Selection, calls: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``calls`` (as of :func:`calls_of`) that are in a selection by their start.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if selection.is_everything:
        return calls
    return calls.filter(slice_mask(trace, selection)[calls["slice"].to_numpy()])


def summed(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Calls by ``keys``, in order of first call: the keys, ``calls``, and ``cpu_…_ns`` and
    ``gpu_…_ns`` of :data:`FIGURES`.

    A call inside another one of its group on the same thread is part of that: it counts as a call,
    and not in the times. One that ends later than those before it lies in none.

    Args:
        calls: Rows as of :func:`calls_of`, in order of slice id.
        keys: What the calls of a group have in common.
    """
    end = pl.col("start_ns") + pl.col("cpu_ns")
    before = end.cum_max().shift(1).over([*keys, "track"])
    outer = before.is_null() | (pl.col("start_ns") >= before) | (end > before)
    return (
        calls.with_columns(outer=outer).group_by(keys, maintain_order=True).agg(*figures("outer"))
    )


def figures(mask: str | None = None) -> tuple[pl.Expr, ...]:
    """What groups of calls are summed to: ``calls``, and per side :data:`FIGURES`, these only of
    the calls that the column ``mask`` marks."""
    columns = [pl.len().cast(pl.Int64).alias("calls")]
    for side in SIDES:
        time = pl.col(f"{side}_ns")
        time = time if mask is None else time.filter(mask)
        total = pl.when(time.is_not_null().any()).then(time.sum())
        values = (total, time.mean(), time.max(), time.min())
        columns += [
            value.alias(f"{side}_{figure}_ns")
            for figure, value in zip(FIGURES, values, strict=True)
        ]
    return tuple(columns)


def step_time_ns(trace: Trace, selection: Selection) -> int:
    """Time on the host of the selected steps, moments of several once.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    steps = host_steps(trace, selection)
    return total(union(steps.start_ns, steps.end_ns))


def step_device_time_ns(trace: Trace, selection: Selection) -> int:
    """Summed duration of the device work of the selected steps.

    Raises:
        SelectionError: as :func:`step_time_ns`.
    """
    is_chosen = np.zeros(trace.steps.height + 1, np.bool_)
    is_chosen[host_steps(trace, selection).row] = True
    chosen = device_work_mask(trace, selection) & is_chosen[device_work_steps(trace)]
    return int(trace.device_work["dur_ns"].to_numpy()[chosen].sum())


def threads(trace: Trace) -> pl.Series:
    """Per track the name of its thread: its number; of several processes with theirs before."""
    tracks = trace.tracks
    several = tracks["process"].drop_nulls().n_unique() > 1
    tid = pl.col("tid")
    name = pl.concat_str(pl.col("pid"), pl.lit(":"), tid) if several else tid
    return tracks.select(name.alias("thread")).to_series()
