"""Where slices are drawn: from slice ids to track, lane and time of the timeline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline, timeline


class PlacedSlice(Struct, frozen=True):
    """One slice and where it is drawn; times in ns from the origin.

    ``short_name`` is the short form of the name of a kernel, ``demangled_name`` the demangled one
    where that is mangled.
    """

    id: int
    name: str
    category: int
    track: str
    lane: int
    start_ns: int
    dur_ns: int
    short_name: str | None = None
    demangled_name: str | None = None


def placed(shown: Timeline, slice_ids: Sequence[int] | Int64) -> list[PlacedSlice]:
    """Name, place and time of each of ``slice_ids``, which exist."""
    ids = np.asarray(slice_ids, np.int64)
    if not len(ids):
        return []
    trace, lanes = shown.trace, shown.lanes
    lane_of, category_of = _homes(trace)
    lane = lane_of[ids].astype(np.int64)
    rows = trace.slices[ids]
    others = kernel_names(trace)
    return [
        PlacedSlice(
            id=slice_id,
            name=trace.text(name) or "",
            category=category,
            track=shown.tracks[track].key,
            lane=row,
            start_ns=start - shown.origin_ns,
            dur_ns=dur,
            short_name=others.short_text(name),
            demangled_name=others.demangled_text(name),
        )
        for slice_id, name, category, track, row, start, dur in zip(
            ids.tolist(),
            rows["name_code"].to_list(),
            category_of[ids].tolist(),
            lanes.track[lane].tolist(),
            lanes.row[lane].tolist(),
            rows["start_ns"].to_list(),
            rows["dur_ns"].to_list(),
            strict=True,
        )
    ]


@per_trace
def _homes(trace: Trace) -> tuple[Int32, Int8]:
    """Lane and category code of every slice; computed on first use."""
    lanes = timeline(trace).lanes
    real = lanes.slice != NO_SLICE
    lane = np.repeat(np.arange(len(lanes.track), dtype=np.int32), np.diff(lanes.first))
    lane_of = np.empty(trace.slices.height, np.int32)
    category_of = np.empty(trace.slices.height, np.int8)
    lane_of[lanes.slice[real]] = lane[real]
    category_of[lanes.slice[real]] = lanes.category[real]
    return lane_of, category_of
