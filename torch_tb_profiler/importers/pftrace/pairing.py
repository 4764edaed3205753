"""Pairs slice begins with slice ends → durations.

Perfetto pairs the events of a track like brackets, in order of time. PyTorch's encoder writes the
begins of many slices followed by their ends in the same order. Where a file has that order it is
used, so that slices which overlap without nesting, or end where the next one begins, keep their
own ends.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Bools, ColumnArrays, Int64
from torch_tb_profiler.trace.quality import QualityReport


def durations(begins: ColumnArrays, ends: ColumnArrays, quality: QualityReport) -> Int64:
    """The duration of each slice in nanoseconds.

    Args:
        begins: ``packet``, ``time_ns`` and ``track`` of begins, in order of packets. Sibling
            tracks of one name differ here: a begin and its end have the same uuid.
        ends: The same of ends.
        quality: Counts unmatched begins and ends.
    """
    paired = _by_written_order(begins, ends)
    end_of, unmatched_ends = _by_brackets(begins, ends) if paired is None else (paired, 0)
    quality.add("unmatched_end", unmatched_ends)
    start = begins["time_ns"]
    is_open = end_of < 0
    last = np.full(int(max(begins["track"].max(initial=-1), ends["track"].max(initial=-1))) + 1, 0)
    for table in (begins, ends):
        np.maximum.at(last, table["track"], table["time_ns"])
    end = np.where(is_open, last[begins["track"]], 0)
    end[~is_open] = ends["time_ns"][end_of[~is_open]]
    quality.add("unmatched_begin", int(is_open.sum()))
    duration: Int64 = end - start
    return duration


def _by_written_order(begins: ColumnArrays, ends: ColumnArrays) -> Int64 | None:
    """Per begin its end (-1 for none), if runs of begins are followed by as many ends of the same
    tracks, and these are not brackets; None otherwise."""
    count = ends["packet"].size
    if not 0 < count <= begins["packet"].size:
        return None
    start, end = begins["time_ns"][:count], ends["time_ns"]
    if (begins["track"][:count] != ends["track"]).any() or (end < start).any():
        return None
    before = np.searchsorted(ends["packet"], begins["packet"])  # number of ends before each begin
    run, run_of_begin = np.unique(before, return_inverse=True)
    sizes = np.bincount(run_of_begin)
    last = np.cumsum(sizes)
    # The ends before a run are all those of the runs before it.
    if (run != last - sizes).any() or (ends["packet"] < begins["packet"][:count]).any():
        return None
    track = ends["track"]
    if sizes.max() > 1 and not _goes_back_in_time(start, end, track, run_of_begin[:count]):
        return None
    paired = np.full(begins["packet"].size, -1, np.int64)
    paired[:count] = np.arange(count)
    return paired


def _goes_back_in_time(start: Int64, end: Int64, track: Int64, run: Int64) -> bool:
    """Whether time decreases among the begins or ends of a track in a run."""
    order = np.argsort(track, kind="stable")
    start, end, track, run = start[order], end[order], track[order], run[order]
    inside = (run[1:] == run[:-1]) & (track[1:] == track[:-1])
    back = (start[1:] < start[:-1]) | (end[1:] < end[:-1])
    return bool((inside & back).any())


def _by_brackets(begins: ColumnArrays, ends: ColumnArrays) -> tuple[Int64, int]:
    """Per begin its end (-1 for none), and the number of unmatched ends."""
    count = begins["packet"].size
    track, time, packet = (
        np.concatenate([begins[name], ends[name]]) for name in ("track", "time_ns", "packet")
    )
    order = np.lexsort((packet, time, track))
    is_begin: Bools = order < count
    sorted_track = track[order]
    depth = np.cumsum(np.where(is_begin, 1, -1))
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = sorted_track[1:] != sorted_track[:-1]
    number = np.cumsum(is_first) - 1
    first = np.flatnonzero(is_first)
    depth -= (depth[first] - np.where(is_begin[first], 1, -1))[number]
    separation = number * (2 * order.size + 2)  # so that no track's minimum affects the next one
    floor = np.minimum(np.minimum.accumulate(depth - separation) + separation, 0)
    floor_before = np.zeros(order.size, np.int64)
    floor_before[1:] = np.where(is_first[1:], 0, floor[:-1])
    is_unmatched = ~is_begin & (floor < floor_before)
    level = depth - floor + ~is_begin
    matched = np.flatnonzero(~is_unmatched)
    chain = matched[np.lexsort((matched, level[matched], number[matched]))]
    here, following = chain[:-1], chain[1:]
    is_pair = (
        is_begin[here]
        & ~is_begin[following]
        & (number[here] == number[following])
        & (level[here] == level[following])
    )
    end_of = np.full(count, -1, np.int64)
    end_of[order[here[is_pair]]] = order[following[is_pair]] - count
    return end_of, int(is_unmatched.sum())
