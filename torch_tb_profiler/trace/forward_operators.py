"""Match backward nodes to their forward operators."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.ordering import OrderedSlices

ForwardThread = tuple[int, int]
"""(process, number of a forward thread)."""

MAX_TRACKS = 64
"""Tracks of a process on which one sequence number occurs; a number on more is ambiguous."""
MAX_STARTS = 4
"""Flows of a process that share an id."""
MAX_NODES = 8
"""Backward nodes that start at one moment on one track."""


def match_forward_operators(
    events: EventColumns, slices: OrderedSlices, operators: ColumnArrays
) -> Int64:
    """Per row of ``operators`` (slice ids of the trace) the forward operator, -1 for none.

    A backward node has a forward thread and shares the sequence number of its forward operator. Of
    several operators with one number on that thread, the last one that starts before the backward
    node is the match: the number increases when the node is created. Forward threads are numbered
    by torch, not by the system, separately in every process; their tracks follow from the flows of
    the file, else from where their sequence numbers occur.
    """
    forward = np.full(len(operators["slice"]), -1, np.int64)
    has_number = operators["sequence_number"] >= 0
    backward = np.flatnonzero(has_number & (operators["forward_thread"] > 0))
    forward_rows = np.flatnonzero(has_number & (operators["forward_thread"] <= 0))
    if len(backward) == 0 or len(forward_rows) == 0:
        return forward
    track = slices.track[operators["slice"]]
    number = operators["sequence_number"]
    forward_track = _tracks_of_threads(events, slices, operators, backward, forward_rows)
    no_track = len(events.tracks)
    process = slices.process_of(operators["slice"][backward])
    thread = operators["forward_thread"][backward]
    example, row = dense_pair_ids(process, thread)
    threads = zip(process[example].tolist(), thread[example].tolist(), strict=True)
    thread_track = np.array([forward_track.get(each, no_track) for each in threads], np.int32)[row]
    thread_tracks = np.concatenate((track[forward_rows], thread_track))
    numbers = number[np.concatenate((forward_rows, backward))]
    pair_keys = TrackClock(numbers, int(thread_tracks.max()) + 1).keys(thread_tracks, numbers)
    _, pair = np.unique(pair_keys, return_inverse=True)
    start = slices.start_ns[operators["slice"]]
    split = len(forward_rows)
    last = _last_before(pair[:split], start[forward_rows], pair[split:], start[backward])
    forward[backward] = np.where(last >= 0, operators["slice"][forward_rows[last]], -1)
    return forward


def _last_before(group: Int64, time_ns: Int64, wanted_group: Int64, before_ns: Int64) -> Int64:
    """Per wanted group the position of its last time before ``before_ns``, or -1."""
    clock = TrackClock(time_ns, int(max(group.max(), wanted_group.max())) + 1)
    keys = clock.keys(group, time_ns)
    order = np.argsort(keys, kind="stable")
    position = np.searchsorted(keys[order], clock.keys(wanted_group, before_ns - 1), "right") - 1
    last = order[position]
    return np.where((position >= 0) & (group[last] == wanted_group), last, -1)


def _tracks_of_threads(
    events: EventColumns,
    slices: OrderedSlices,
    operators: ColumnArrays,
    backward: Int64,
    forward_rows: Int64,
) -> dict[ForwardThread, int]:
    """Forward thread → track of its operators."""
    track = slices.track[operators["slice"]]
    process = slices.process_of(operators["slice"])
    number = operators["sequence_number"]
    numbers = pl.DataFrame(
        {"process": process[backward], "number": number[backward]}
        | {"thread": operators["forward_thread"][backward]}
    )
    thread_tracks = pl.DataFrame(
        {
            "process": process[forward_rows],
            "number": number[forward_rows],
            "forward_track": track[forward_rows],
        }
    )
    votes = _join_limited(
        numbers.unique(), thread_tracks.unique(), ("process", "number"), MAX_TRACKS
    )
    return _majority(votes) | _threads_in_flows(events, slices, operators, backward)


def _threads_in_flows(
    events: EventColumns, slices: OrderedSlices, operators: ColumnArrays, backward: Int64
) -> dict[ForwardThread, int]:
    """Forward thread → track, from the forward-backward flows of the file."""
    flows = pl.DataFrame(events.tables["flows"]).with_columns(
        process=pl.Series(slices.process_of_track[events.tables["flows"]["track"]])
    )
    names = ("process", "raw_category_code", "flow_id_code")
    ends = flows.filter(pl.col("is_start") == 0).select(*names, "track", "time_ns")
    starts = flows.filter(pl.col("is_start") == 1).select(
        *names, pl.col("track").alias("forward_track")
    )
    nodes = pl.DataFrame(
        {
            "track": slices.track[operators["slice"][backward]],
            "time_ns": slices.start_ns[operators["slice"][backward]],
            "thread": operators["forward_thread"][backward],
        }
    )
    flow = _join_limited(ends, starts, names, MAX_STARTS)
    return _majority(_join_limited(flow, nodes, ("track", "time_ns"), MAX_NODES))


def _join_limited(
    left: pl.DataFrame, right: pl.DataFrame, on: tuple[str, ...], max_rows: int
) -> pl.DataFrame:
    """Rows of both with equal keys, without keys that more than ``max_rows`` rows of ``right``
    have: in a damaged file the pairs of a few thousand rows with one key would fill the memory."""
    frequent = right.group_by(on).len().filter(pl.col("len") > max_rows)
    limited = right.join(frequent, on=on, how="anti") if frequent.height else right
    return left.join(limited, on=on)


def _majority(votes: pl.DataFrame) -> dict[ForwardThread, int]:
    """Per (process, thread) the track with most rows."""
    counted = (
        votes.group_by("process", "thread", "forward_track").len().sort("len", "forward_track")
    )
    threads = zip(counted["process"].to_list(), counted["thread"].to_list(), strict=True)
    return dict(zip(threads, counted["forward_track"].to_list(), strict=True))
