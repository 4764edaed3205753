"""What each call of an operator costs beside its range and its device work: host time outside
device API calls, idle time between its device work, kernels.

Definitions: ``docs/metrics.md#operator-times``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import nearest_marked
from torch_tb_profiler.analysis.algebra.grouped_intervals import (
    span_lengths,
    union_by_group,
    union_lengths,
)
from torch_tb_profiler.analysis.operators.call_tree import (
    CallTree,
    call_tree,
    device_sums_of_calls,
    sums_of_calls,
)
from torch_tb_profiler.analysis.operators.recursion import inside_own_group
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MEASURES = ("cpu", "gpu", "cpu_overhead", "gpu_idle")
STATISTICS = ("total", "mean", "min", "max")
"""What each of them is told by, of groups of calls."""

NO_RUNTIME = "The recording holds no call into a device runtime."


@per_trace
def cpu_overheads(trace: Trace) -> Int64:
    """Per call of :func:`call_tree` the part of its range in ns in which no call into a device
    runtime runs on its thread; made once."""
    slices, calls = trace.slices, call_tree(trace).slice
    start_ns = slices["start_ns"].to_numpy()
    end_ns = start_ns + slices["dur_ns"].to_numpy()
    track = slices["track"].to_numpy()
    runtime = np.flatnonzero(slices["category"].to_numpy() == Category.RUNTIME)
    of_track, begin, end = union_by_group(
        track[runtime].astype(np.int64), start_ns[runtime], end_ns[runtime]
    )
    clock = TrackClock(begin, trace.tracks.height)
    keys = clock.keys(of_track, begin)
    before = np.append(0, np.cumsum(end - begin))

    def covered(until_ns: Int64) -> Int64:
        """Of all stretches of earlier tracks and of this one until then; differences within a track
        are exact."""
        position = np.searchsorted(keys, clock.keys(track[calls], until_ns), "right")
        last = np.maximum(position - 1, 0)
        is_open = (position > 0) & (of_track[last] == track[calls]) if len(keys) else position > 0
        ahead = np.where(is_open, np.append(end, 0)[last] - until_ns, 0)
        length: Int64 = before[position] - np.maximum(ahead, 0)
        return length

    start, finish = start_ns[calls], end_ns[calls]
    overheads: Int64 = finish - start - (covered(finish) - covered(start))
    return overheads


def has_runtime(trace: Trace) -> bool:
    """Whether the recording holds calls into a device runtime, so that overhead can be told."""
    return bool((trace.slices["category"] == Category.RUNTIME).any())


class WorkInside(Struct, frozen=True, eq=False):
    """The device work launched inside each call of :func:`call_tree`.

    Attributes:
        works: How many kernels, copies and memsets.
        kernels: How many kernels.
        busy_ns: Time in which at least one of them ran.
        idle_ns: Time from the first start to the last end in which none of it ran.
    """

    works: Int64
    kernels: Int64
    busy_ns: Int64
    idle_ns: Int64


@per_trace
def work_inside(trace: Trace) -> WorkInside:
    """All device work inside each call; made once."""
    tree = call_tree(trace)
    every_work = np.ones(trace.device_work.height, np.bool_)
    works = sums_of_calls(tree, every_work)[1]
    kernels = sums_of_calls(tree, kernel_kinds(trace).is_kernel)[1]
    # A call that launches nothing beside what one call in it does is busy and idle as that one.
    calls = np.flatnonzero((tree.parent >= 0) & (works > 0))
    calls = calls[works[calls] == works[tree.parent[calls]]]
    same = np.full(len(works), -1, np.int64)
    same[tree.parent[calls]] = calls
    call, row = _pairs(tree, every_work, (same < 0) & (works > 1))
    busy, idle = _busy_and_idle(trace, call, row, len(works))
    source = nearest_marked(same, same < 0)
    single = works == 1
    total = device_sums_of_calls(trace, every_work)[1]
    return WorkInside(works, kernels, np.where(single, total, busy[source]), idle[source])


def selected_work_inside(trace: Trace, work: Bools, rows: Int64) -> WorkInside:
    """Of the device work that ``work`` marks, what is inside each of the calls in ``rows``."""
    tree, whole = call_tree(trace), work_inside(trace)
    of_calls = sums_of_calls(tree, work)[1]
    works = of_calls[rows]
    is_whole = works == whole.works[rows]
    if is_whole.all():
        return WorkInside(works, whole.kernels[rows], whole.busy_ns[rows], whole.idle_ns[rows])
    kernels, busy, idle = (
        of_all[rows] * is_whole for of_all in (whole.kernels, whole.busy_ns, whole.idle_ns)
    )
    is_part = (of_calls > 0) & (of_calls != whole.works)
    if is_part.any():
        call, row = _pairs(tree, work, is_part)
        of_kernels = np.zeros(len(of_calls), np.int64)
        np.add.at(of_kernels, call[kernel_kinds(trace).is_kernel[row]], 1)
        of_part = _busy_and_idle(trace, call, row, len(of_calls))
        kernels = kernels + of_kernels[rows]
        busy, idle = busy + of_part[0][rows], idle + of_part[1][rows]
    return WorkInside(works, kernels, busy, idle)


def _pairs(tree: CallTree, work: Bools, needed: Bools) -> tuple[Int64, Int64]:
    """Every needed call with every row of ``work`` launched inside."""
    rows = np.flatnonzero(work & (tree.owner >= 0))
    up = tree.owner[rows]
    calls, works = [rows[:0]], [rows[:0]]
    while len(up):
        chosen = needed[up]
        calls.append(up[chosen])
        works.append(rows[chosen])
        up = tree.parent[up]
        inside = up >= 0
        up, rows = up[inside], rows[inside]
    return np.concatenate(calls), np.concatenate(works)


def _busy_and_idle(trace: Trace, call: Int64, row: Int64, calls: int) -> tuple[Int64, Int64]:
    """By call the time that its rows of ``trace.device_work`` cover, and the rest of their span."""
    start_ns = trace.device_work["start_ns"].to_numpy()[row]
    end_ns = start_ns + trace.device_work["dur_ns"].to_numpy()[row]
    busy = union_lengths(call, start_ns, end_ns, calls)
    return busy, span_lengths(call, start_ns, end_ns, calls) - busy


def call_times(trace: Trace, selection: Selection, calls: pl.DataFrame) -> pl.DataFrame:
    """Per row of ``selected_operator_calls``: ``cpu_overhead_ns`` (0 for a call outside the
    selection); of the selected device work ``gpu_busy_ns`` (what overlaps counts once),
    ``gpu_idle_ns`` and ``kernel_calls``."""
    overhead, inside = cpu_overheads(trace), work_inside(trace)
    if not selection.is_everything:
        rows = calls["call"].to_numpy()
        overhead = overhead[rows] * (calls["calls"].to_numpy() > 0)
        inside = selected_work_inside(trace, device_work_mask(trace, selection), rows)
    return pl.DataFrame(
        {
            "cpu_overhead_ns": overhead,
            "gpu_busy_ns": inside.busy_ns,
            "gpu_idle_ns": inside.idle_ns,
            "kernel_calls": inside.kernels,
        }
    )


def times_by_group(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The times of groups of calls: the keys, per measure and statistic (``gpu_idle_mean``, in ns)
    a column, ``kernel_calls``, and ``timed_calls``, of which the means are.

    Of calls inside others of their group only the outermost count. Mean, smallest and largest are
    those of calls in the selection, null where there is none.

    Args:
        calls: As ``selected_operator_calls``, with the columns of :func:`call_times`.
        keys: What rows of a group have in common; ``name_code`` is among them.
    """
    in_call, in_any = inside_own_group(calls, keys)
    of_work, of_calls = pl.Series("of_work", ~in_any), pl.Series("of_calls", ~in_call)
    single = pl.Series("single", of_calls & (calls["calls"] > 0))
    is_flat, is_whole = not in_any.any(), bool(single.all())
    rows = calls.select(
        *keys,
        pl.col("host_total_ns").alias("cpu"),
        pl.col("device_total_ns").alias("gpu"),
        pl.col("cpu_overhead_ns").alias("cpu_overhead"),
        pl.col("gpu_idle_ns").alias("gpu_idle"),
        "kernel_calls",
        of_work,
        of_calls,
        single,
    )

    def only(column: str, mask: str, all_rows: bool) -> pl.Expr:
        return pl.col(column) if all_rows else pl.when(pl.col(mask)).then(pl.col(column))

    def statistics(measure: str) -> dict[str, pl.Expr]:
        of_total = "of_work" if measure.startswith("gpu") else "of_calls"
        each = only(measure, "single", is_whole)
        total = only(measure, of_total, is_flat).sum()
        return {"total": total, "mean": each.mean(), "min": each.min(), "max": each.max()}

    return rows.group_by(keys, maintain_order=True).agg(
        *(
            expression.alias(f"{measure}_{statistic}")
            for measure in MEASURES
            for statistic, expression in statistics(measure).items()
        ),
        only("kernel_calls", "of_work", is_flat).sum(),
        pl.col("single").sum().cast(pl.Int64).alias("timed_calls"),
    )
