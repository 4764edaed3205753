"""What each call of an operator costs beside its range and its device work: host time outside
device API calls, idle time between its device work, kernels.

Definitions: ``docs/metrics.md#operator-times``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.call_tree import CallTree, call_tree, sums_of_calls
from torch_tb_profiler.analysis.forests import nearest_marked
from torch_tb_profiler.analysis.grouped_intervals import idle_lengths, unions
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recursion import inside_own_group
from torch_tb_profiler.analysis.selection import Selection, device_work_mask
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
    of_track, begin, end = unions(
        track[runtime].astype(np.int64), start_ns[runtime], end_ns[runtime]
    )
    clock = TrackClock(begin, trace.tracks.height)
    keys = clock.keys(of_track, begin)
    before = np.append(0, np.cumsum(end - begin))

    def covered(until_ns: Int64) -> Int64:
        """Of all stretches of earlier tracks and of this one until then; differences within a track
        are exact."""
        place = np.searchsorted(keys, clock.keys(track[calls], until_ns), "right")
        last = np.maximum(place - 1, 0)
        is_open = (place > 0) & (of_track[last] == track[calls]) if len(keys) else place > 0
        ahead = np.where(is_open, np.append(end, 0)[last] - until_ns, 0)
        length: Int64 = before[place] - np.maximum(ahead, 0)
        return length

    start, finish = start_ns[calls], end_ns[calls]
    overheads: Int64 = finish - start - (covered(finish) - covered(start))
    return overheads


def has_runtime(trace: Trace) -> bool:
    """Whether the recording holds calls into a device runtime, so that overhead can be told."""
    return bool((trace.slices["category"] == Category.RUNTIME).any())


@per_trace
def _kernels_and_idle(trace: Trace) -> tuple[Int64, Int64]:
    """:func:`kernels_and_idle` of all device work; made once."""
    return kernels_and_idle(trace, np.ones(trace.device_work.height, np.bool_))


def kernels_and_idle(trace: Trace, work: Bools) -> tuple[Int64, Int64]:
    """Per call of :func:`call_tree`, of the device work in ``work``: how many kernels were launched
    inside, and the time in ns from its first start to its last end in which none of it ran."""
    tree = call_tree(trace)
    kernels = sums_of_calls(tree, work & kernel_kinds(trace).is_kernel)[1]
    return kernels, _idle(trace, tree, np.flatnonzero(work & (tree.owner >= 0)))


def _idle(trace: Trace, tree: CallTree, rows: Int64) -> Int64:
    """Idle time by call between the device work in ``rows``."""
    chosen = np.zeros(len(tree.owner), np.bool_)
    chosen[rows] = True
    works = sums_of_calls(tree, chosen)[1]
    # A call that launches nothing beside what one call in it does idles as that one.
    calls = np.flatnonzero((tree.parent >= 0) & (works > 0))
    calls = calls[works[calls] == works[tree.parent[calls]]]
    same = np.full(len(works), -1, np.int64)
    same[tree.parent[calls]] = calls
    is_own = (same < 0) & (works > 1)
    up, work = tree.owner[rows], rows
    pairs: list[tuple[Int64, Int64]] = []
    while len(up):
        needed = is_own[up]
        pairs.append((up[needed], work[needed]))
        up = tree.parent[up]
        up, work = up[up >= 0], work[up >= 0]
    group, of = (np.concatenate([pair[part] for pair in pairs] or [rows[:0]]) for part in range(2))
    start_ns = trace.device_work["start_ns"].to_numpy()[of]
    end_ns = start_ns + trace.device_work["dur_ns"].to_numpy()[of]
    idle = idle_lengths(group, start_ns, end_ns, len(works))
    source = nearest_marked(same, same < 0)
    return idle[source]


def call_times(trace: Trace, selection: Selection, calls: pl.DataFrame) -> pl.DataFrame:
    """Per row of ``selected_operator_calls``: ``cpu_overhead_ns`` (0 for a call outside the
    selection), ``gpu_idle_ns`` and ``kernel_calls`` of the selected device work."""
    overhead = cpu_overheads(trace)
    if selection.is_everything:
        kernels, idle = _kernels_and_idle(trace)
    else:
        kernels, idle = kernels_and_idle(trace, device_work_mask(trace, selection))
        rows = np.searchsorted(call_tree(trace).slice, calls["slice"].to_numpy())
        overhead, kernels, idle = overhead[rows], kernels[rows], idle[rows]
    return pl.DataFrame(
        {
            "cpu_overhead_ns": overhead * (calls["calls"].to_numpy() > 0),
            "gpu_idle_ns": idle,
            "kernel_calls": kernels,
        }
    )


def times_by_group(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The times of groups of calls: the keys, per measure and statistic (``gpu_idle_mean``, in ns)
    a column, and ``kernel_calls``.

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
    )
