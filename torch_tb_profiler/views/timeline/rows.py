"""The lane of every slice inside its track: nesting depth, and lanes apart for what overlaps.

Lanes are dense: those that no slice of the track uses are left out, so that a thread whose
outermost ranges are steps (drawn on top) begins at its lane 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.lanes import flat_lanes
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.nesting import NestedSpans, nest
from torch_tb_profiler.views.timeline.tracks import (
    LAYERS,
    Placement,
    Tree,
    has_layers,
    track_of_slices,
    trees_of,
)

_MAX_TABLE = 1 << 22
"""Keys up to which counting is cheaper than sorting."""


class LaneOrder(Struct, frozen=True, eq=False):
    """The slices of all lanes, one lane after the other, each ordered by start.

    Attributes:
        order: Slice ids.
        start_ns: Their starts.
        reach_ns: Largest end in their lane up to them.
        first: First place of each lane in ``order``, and the end.
        track: Track number of each lane.
        row: Place of each lane in its track.
        overlap_from: Per track the first row for slices that overlap, or -1.
        lanes: Per track how many lanes it has.
    """

    order: Int64
    start_ns: Int64
    reach_ns: Int64
    first: Int64
    track: Int32
    row: Int32
    overlap_from: Int32
    lanes: Int32


def lane_order(trace: Trace, placement: Placement) -> LaneOrder:
    """Put every slice into its lane.

    Slices that would overlap others of their lane by more than the clock's resolution (a runtime
    call and an operator that begins inside it) move to lanes of their own below.
    """
    positions = _positions(trace, placement)
    ordered = _ordered(trace, positions)
    misplaced = _misplaced(ordered, trace.meta.time_unit_ns)
    if len(misplaced):
        positions.move_apart(trace, misplaced, below=int(positions.overlap.max()) + 1)
        ordered = _ordered(trace, positions)
    return ordered


class _Positions(Struct):
    """Per slice its track, the depth in its tree, and 0 or the number of the set of lanes it is in
    because it overlaps others."""

    track: Int32
    overlap: Int32
    depth: Int32
    track_count: int

    def move_apart(self, trace: Trace, ids: Int64, below: int) -> None:
        """Give the slices ``ids`` lanes by their times alone, from ``below`` on."""
        starts, durations = trace.slices["start_ns"].to_numpy(), trace.slices["dur_ns"].to_numpy()
        ids = ids[np.lexsort((starts[ids], self.track[ids]))]
        ends = starts[ids] + durations[ids]
        lanes = flat_lanes(self.track[ids], starts[ids], ends, trace.meta.time_unit_ns)
        self.overlap, self.depth = self.overlap.copy(), self.depth.copy()
        self.overlap[ids] = below + lanes
        self.depth[ids] = 0

    def nest_alone(self, trace: Trace, ids: Int64) -> None:
        """Nest the slices ``ids`` in one another, whatever other slices lie between."""
        start = trace.slices["start_ns"].to_numpy()
        end = start + trace.slices["dur_ns"].to_numpy()
        spans = NestedSpans(trace.slices["track"].to_numpy(), start, end)
        forest = nest(spans, ids, trace.meta.time_unit_ns, is_searchable=False)
        self.overlap, self.depth = self.overlap.copy(), self.depth.copy()
        self.overlap[ids], self.depth[ids] = forest.lane, forest.depth

    def nest(self, trace: Trace, ids: Int64) -> None:
        """Take the lanes of the slices ``ids`` for depths, on tracks where they lie in one another
        and none crosses another's end."""
        starts, durations = trace.slices["start_ns"].to_numpy(), trace.slices["dur_ns"].to_numpy()
        ids = ids[np.lexsort((-durations[ids], starts[ids], self.track[ids]))]
        track, start = self.track[ids], starts[ids]
        end = start + durations[ids]
        around = last_above(end, np.arange(len(ids)), start)
        crosses = (around >= 0) & (track[around] == track) & (end > end[around])
        nested = ids[~np.isin(track, track[crosses])]
        self.depth[nested] = self.overlap[nested]
        self.overlap[nested] = 0


def _positions(trace: Trace, placement: Placement) -> _Positions:
    slices = trace.slices
    positions = _Positions(
        track_of_slices(trace, placement),
        slices["lane"].fill_null(0).to_numpy(),
        slices["depth"].fill_null(0).to_numpy(),
        len(placement.tracks),
    )
    # Slices without a tree have no depth; steps of several threads share one track.
    tree = trees_of(trace)
    is_other = (tree == Tree.OTHER) | (tree == Tree.OTHER_RECORDING)
    treeless = np.flatnonzero(is_other | (tree == Tree.STEPS))
    if len(treeless):
        positions.move_apart(trace, treeless, below=0)
        positions.nest(trace, np.flatnonzero(is_other))
    if has_layers(trace):
        for layer in LAYERS:
            positions.nest_alone(trace, np.flatnonzero(tree == layer))
    return positions


def _ordered(trace: Trace, positions: _Positions) -> LaneOrder:
    overlaps = int(positions.overlap.max(initial=0)) + 1
    depths = int(positions.depth.max(initial=0)) + 1
    lane, keys = _dense(positions, overlaps, depths)
    order = np.argsort(lane, kind="stable")
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(lane))))
    track = (keys // (overlaps * depths)).astype(np.int32)
    _sort_steps(trace, order, first)
    begin = np.searchsorted(track, np.arange(positions.track_count + 1))
    row = (np.arange(len(keys)) - begin[track]).astype(np.int32)
    apart = keys // depths % overlaps > 0
    overlap_from = np.full(positions.track_count, -1, np.int32)
    overlap_from[track[apart][::-1]] = row[apart][::-1]
    start = trace.slices["start_ns"].to_numpy()[order]
    reach = trace.slices["dur_ns"].to_numpy()[order]
    np.maximum(reach, 0, out=reach)
    reach += start
    _accumulate(reach, first)
    lanes = np.diff(begin).astype(np.int32)
    return LaneOrder(order, start, reach, first, track, row, overlap_from, lanes)


def _dense(positions: _Positions, overlaps: int, depths: int) -> tuple[npt.NDArray[Any], Int64]:
    """Number of each slice's lane, in the smallest type, and what each lane stands for:
    ``(track × overlaps + overlap) × depths + depth``, ascending."""
    size = positions.track_count * overlaps * depths
    if size > _MAX_TABLE:
        wide = (
            positions.track.astype(np.int64) * overlaps + positions.overlap
        ) * depths + positions.depth
        keys, inverse = factorize(wide)
        return inverse.reshape(-1), keys
    key = positions.track * np.int32(overlaps * depths)
    key += positions.overlap * np.int32(depths)
    key += positions.depth
    keys = np.flatnonzero(np.bincount(key, minlength=size))
    # numpy sorts 16 bit integers by radix, ten times faster than wider ones.
    table = np.zeros(size, np.uint16 if len(keys) < 2**16 else np.int64)
    table[keys] = np.arange(len(keys))
    return table[key], keys


def _sort_steps(trace: Trace, order: Int64, first: Int64) -> None:
    """Order the lanes of steps by start: their slices come from several rows of the trace."""
    category = trace.slices["category"].to_numpy()
    start = trace.slices["start_ns"].to_numpy()
    for lane in range(len(first) - 1):
        low, high = first[lane], first[lane + 1]
        if category[order[low]] != Category.STEP:
            return  # steps are on top
        order[low:high] = order[low:high][np.argsort(start[order[low:high]], kind="stable")]


def _accumulate(end_ns: Int64, first: Int64) -> None:
    """Turn the ends of the slices of each lane into the largest end so far."""
    early = np.flatnonzero(end_ns[1:] < end_ns[:-1]) + 1
    for lane in distinct_values(np.searchsorted(first, early, "right") - 1).tolist():
        stretch = end_ns[first[lane] : first[lane + 1]]
        np.maximum.accumulate(stretch, out=stretch)


def _misplaced(ordered: LaneOrder, tolerance_ns: int) -> Int64:
    """Ids of slices that begin before an earlier one of their lane ends."""
    begins_early = ordered.start_ns[1:] < ordered.reach_ns[:-1] - tolerance_ns
    begins_early[ordered.first[1:-1] - 1] = False
    return ordered.order[1:][begins_early]
