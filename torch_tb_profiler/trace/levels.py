"""Limits how deep slices are nested, for the sake of everything that climbs from slice to slice.

Hierarchies count a slice once per slice around it, and paths name all of them: tens of thousands of
levels, which no recording has, would take gigabytes. Deeper slices that contain others are left
out, so that the innermost ones, which hold the work, remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.trace.columns import Bools, EventColumns, Int64
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport


class DeepSlices(Struct, frozen=True, eq=False):
    """What to leave out of a trace that is nested too deep.

    Attributes:
        is_left_out: Which slices, by id.
        levels: How many levels remain, the innermost slices aside.
        limit: The limit of the budget that it exceeds.
    """

    is_left_out: Bools
    levels: int
    limit: str


def deep_slices(
    forests: Iterable[Forest],
    slice_count: int,
    budget: Budget,
    contents: Callable[[], Int64] | None = None,
) -> DeepSlices | None:
    """What to leave out so that a trace keeps within its budget; None if it does.

    Args:
        forests: How slices are nested.
        slice_count: How many slices there are.
        budget: The limits ``levels`` and ``nested``.
        contents: Makes the innermost slice around each of what is in none of the forests, but is
            counted in all slices around it; -1 for none. Called only where the trace is deep.
    """
    forests = [forest for forest in forests if len(forest.ids)]
    deepest = max((int(forest.depth.max()) for forest in forests), default=0)
    if deepest * slice_count <= budget.limit("nested") and deepest < budget.limit("levels"):
        return None
    is_parent = np.zeros(slice_count, np.bool_)
    for forest in forests:
        is_parent[forest.parent[forest.parent >= 0]] = True
    outer, innermost = (
        sum(
            np.bincount(forest.depth[is_parent[forest.ids] == wanted], minlength=deepest + 2)
            for forest in forests
        )
        for wanted in (True, False)
    )
    if contents is not None:
        depth = np.full(slice_count + 1, -1)
        for forest in forests:
            depth[forest.ids] = forest.depth
        innermost = innermost + np.bincount(depth[contents()] + 1, minlength=deepest + 2)
    nested = _nested(np.asarray(outer), np.asarray(innermost))
    within = int(np.searchsorted(nested, budget.limit("nested"), "right"))
    levels = max(1, min(within, budget.count("levels")))
    if levels > deepest:
        return None
    is_left_out = np.zeros(slice_count, np.bool_)
    for forest in forests:
        is_left_out[forest.ids[forest.depth >= levels]] = True
    is_left_out &= is_parent
    limit = "levels" if levels == budget.count("levels") else "nested"
    return DeepSlices(is_left_out, levels, limit) if is_left_out.any() else None


def _nested(outer: Int64, innermost: Int64) -> Int64:
    """Slices counted once per slice around them, by number of levels that remain from 1 on.

    Args:
        outer: Slices that contain others, by depth.
        innermost: Those that contain none; below the last level they come to lie in it.
    """
    level = np.arange(len(outer))
    above = np.cumsum((outer + innermost) * level)
    below = innermost.sum() - np.cumsum(innermost)
    nested: Int64 = above + below * (level + 1)
    return nested


def leave_out(
    events: EventColumns, slices: OrderedSlices, deep: DeepSlices, quality: QualityReport
) -> OrderedSlices:
    """The slices without some, whose details are taken out of ``events``; a quality note says how
    many."""
    is_left_out = deep.is_left_out
    example = f"deeper than {deep.levels:,} levels; {events.budget.described(deep.limit)}"
    quality.add("levels_left_out", int(is_left_out.sum()), example)
    number = np.append(np.where(is_left_out, -1, np.cumsum(~is_left_out) - 1), -1)
    remaining = np.flatnonzero(~is_left_out)
    new_id = number[slices.new_id]
    row_remains = new_id >= 0
    row_number = np.cumsum(row_remains) - 1
    for table in events.tables.values():
        of_slice = table.get("slice")
        if of_slice is None or not len(of_slice):
            continue
        row = np.maximum(of_slice, 0)
        rows = (of_slice < 0) | row_remains[row]
        table["slice"] = np.where(of_slice < 0, of_slice, row_number[row])
        for name in table:
            table[name] = table[name][rows]
    columns = {
        name: getattr(slices, name)[remaining]
        for name in (
            "track", "category", "raw_category_code", "name_code", "start_ns", "dur_ns", "end_ns",
            "correlation", "external_id",
        )
    }  # fmt: skip
    launch, owner = (
        None if ids is None else number[ids[remaining]].astype(np.int32)
        for ids in (slices.launch, slices.owner)
    )
    return OrderedSlices(
        **columns,
        new_id=new_id[row_remains],
        launch=launch,
        owner=owner,
        process_of_track=slices.process_of_track,
    )
