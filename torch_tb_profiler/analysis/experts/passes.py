"""Passes through a layer of experts: which work belongs to one.

A pass is what is inside one range of a layer. Where no range is recorded, it is a run of products:
it ends where a kernel of routing, a dispatch, a combine, attention or a normalization comes before
the next product. Dispatch and gating belong to the pass that follows, combine to the one before
(``docs/views-experts.md#passes-and-layers``).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.experts.items import EXCHANGES, ExpertItems, expert_items
from torch_tb_profiler.analysis.experts.stages import Stage
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

_ANCHORS = (Stage.PRODUCTS, Stage.DISPATCH, Stage.EXCHANGE, Stage.COMBINE, Stage.GATING)
"""What passes are counted by: the first of these that a recording has."""


class ExpertPasses(Struct, frozen=True, eq=False):
    """The passes of a trace, in order, and the pass of each item.

    Attributes:
        of_item: Number of the pass of each item of :func:`expert_items`, -1 for none.
        stage: The stage of each item: which exchange it is, where its pass says so.
        first_item: The item with which the products of each pass begin.
    """

    of_item: Int64
    stage: Int8
    first_item: Int64

    @property
    def count(self) -> int:
        """How many passes there are."""
        return len(self.first_item)


@per_split
def expert_passes(trace: Trace) -> ExpertPasses:
    """The passes of a trace."""
    items = expert_items(trace)
    stage = _with_notified(items)
    anchor = next((each for each in _ANCHORS if (stage == each).any()), None)
    if anchor is None:
        return _of_ranges_alone(items, stage)
    anchors = np.flatnonzero(stage == anchor)
    of_anchor = _runs(items, stage, anchors)
    of_item = np.full(len(items), -1, np.int64)
    of_item[anchors] = of_anchor
    first = anchors[np.flatnonzero(np.append(True, of_anchor[1:] != of_anchor[:-1]))]
    _assign_by_range(items, anchors, of_item)
    stage = _directed(items, stage, of_item, first)
    _assign_by_order(items, stage, of_item, first)
    return ExpertPasses(of_item, stage, first)


def _of_ranges_alone(items: ExpertItems, stage: Int8) -> ExpertPasses:
    """Passes of ranges in which nothing is recognized."""
    inside = np.flatnonzero(items.layer >= 0)
    _, numbers = factorize(items.layer[inside])
    of_item = np.full(len(items), -1, np.int64)
    first = np.sort(np.unique(numbers, return_index=True)[1]) if len(inside) else inside
    order = np.argsort(np.argsort(np.unique(numbers, return_index=True)[1]))
    of_item[inside] = order[numbers] if len(inside) else inside
    return ExpertPasses(of_item, stage, inside[first])


def _with_notified(items: ExpertItems) -> Int8:
    """The stages, of counts sent ahead that of what follows on their stream."""
    stage: Int8 = items.stage.copy()
    waiting = np.flatnonzero(stage == Stage.NOTIFY)
    if not len(waiting):
        return stage
    main = np.flatnonzero(np.isin(stage, (Stage.DISPATCH, Stage.COMBINE, Stage.EXCHANGE)))
    for stream in np.unique(items.stream[waiting]):
        rows = waiting[items.stream[waiting] == stream]
        own = main[items.stream[main] == stream]
        own = own[np.argsort(items.start_ns[own], kind="stable")]
        following = np.searchsorted(items.start_ns[own], items.start_ns[rows])
        stage[rows] = np.append(stage[own], np.int8(Stage.EXCHANGE))[following]
    return stage


def _runs(items: ExpertItems, stage: Int8, anchors: Int64) -> Int64:
    """The number of the run of each anchor, ascending."""
    layer = items.layer[anchors]
    changes = np.append(False, layer[1:] != layer[:-1])
    in_one_range = np.append(False, (layer[1:] == layer[:-1]) & (layer[1:] >= 0))
    separates = ~np.isin(stage, (Stage.PRODUCTS, Stage.OTHER))
    separates[anchors] = False
    order = np.concatenate((items.order_ns[separates], items.boundary_ns))
    stream = np.concatenate((items.stream[separates], items.boundary_stream))
    own_order, own_stream = items.order_ns[anchors], items.stream[anchors]
    if items.is_launch_order:
        interrupted = _interrupted(np.sort(order), own_order)
    else:
        # Kernels of other streams run at the same time: only those of the own one come between.
        interrupted = np.zeros(len(anchors), np.bool_)
        main = _main_stream(items, anchors)
        rows = np.flatnonzero(own_stream == main)
        interrupted[rows] = _interrupted(np.sort(order[stream == main]), own_order[rows])
        changes &= own_stream == main
    begins = changes | (interrupted & ~in_one_range)
    return np.cumsum(begins)


def _interrupted(separators: Int64, order: Int64) -> Bools:
    """Per moment, ascending, whether a separator lies between it and the one before."""
    before = np.searchsorted(separators, order, "right")
    return np.append(False, before[1:] != before[:-1])[: len(order)]


def _main_stream(items: ExpertItems, anchors: Int64) -> int:
    streams, ids = factorize(items.stream[anchors])
    time = np.bincount(ids, weights=(items.end_ns - items.start_ns)[anchors] + 1.0)
    return int(streams[int(time.argmax())])


def _assign_by_range(items: ExpertItems, anchors: Int64, of_item: Int64) -> None:
    """Give what is inside a range the pass of the anchors in that range."""
    inside = anchors[items.layer[anchors] >= 0]
    if not len(inside):
        return
    layers, first = np.unique(items.layer[inside], return_index=True)
    rows = np.flatnonzero((of_item < 0) & np.isin(items.layer, layers))
    of_item[rows] = of_item[inside[first]][np.searchsorted(layers, items.layer[rows])]


def _directed(items: ExpertItems, stage: Int8, of_item: Int64, first: Int64) -> Int8:
    """The stages with every exchange a dispatch or a combine.

    Inside a range an exchange before the products is a dispatch, else a combine. Elsewhere those
    before the first pass are dispatches and those behind the last one combines; if these are as
    many as lie between two passes, they are divided so, and else in half.
    """
    stage = stage.copy()
    rows = np.flatnonzero(stage == Stage.EXCHANGE)
    if not len(rows) or not len(first):
        return stage
    products = items.order_ns[first]
    known = of_item[rows] >= 0
    own = rows[known]
    before = items.order_ns[own] < products[of_item[own]]
    stage[own] = np.where(before, Stage.DISPATCH, Stage.COMBINE)
    free = rows[~known]
    gap = np.searchsorted(products, items.order_ns[free], "right")  # 0: before the first pass
    count = np.bincount(gap, minlength=len(products) + 1)
    ahead, behind = int(count[0]), int(count[-1])
    position = np.arange(len(free)) - np.append(0, np.cumsum(count)[:-1])[gap]
    combines = np.where(count == ahead + behind, behind, count // 2)
    combines[0], combines[-1] = 0, behind
    stage[free] = np.where(position < combines[gap], Stage.COMBINE, Stage.DISPATCH)
    return stage


def _assign_by_order(items: ExpertItems, stage: Int8, of_item: Int64, first: Int64) -> None:
    """Give what is in no range the pass after it (gating, dispatch) or before it (combine)."""
    starts = items.order_ns[first]
    last = len(first) - 1
    free = of_item < 0
    for side in (Stage.DISPATCH, Stage.COMBINE):
        rows = np.flatnonzero(free & (stage == side))
        main = rows[items.stage[rows] != Stage.NOTIFY]
        following = np.searchsorted(starts, items.order_ns[rows], "left")
        nearest = following if side == Stage.DISPATCH else following - 1
        if len(main) == len(first):
            # As many as passes: in order, also where the next microbatch dispatches before this
            # one computes.
            nearest = np.searchsorted(items.order_ns[main], items.order_ns[rows], "left")
        of_item[rows] = np.clip(nearest, 0, last)
    gating = np.flatnonzero(free & np.isin(stage, (Stage.GATING, Stage.OTHER)))
    of_item[gating] = np.clip(np.searchsorted(starts, items.order_ns[gating], "left"), 0, last)
    rows = np.flatnonzero(free & (stage == Stage.PERMUTATION))
    leads = np.flatnonzero(np.isin(stage, (Stage.PRODUCTS, Stage.DISPATCH)))
    others = np.flatnonzero(np.isin(stage, (*EXCHANGES, Stage.PRODUCTS, Stage.GATING)))
    following = np.searchsorted(others, rows)
    following_row = np.append(others, -1)[following]
    ahead = np.isin(following_row, leads)
    after = np.searchsorted(starts, items.order_ns[rows], "left")
    of_item[rows] = np.clip(np.where(ahead, after, after - 1), 0, last)
