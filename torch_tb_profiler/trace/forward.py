"""Backward nodes and the forward operators they belong to."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import EventColumns, Int64, Table
from torch_tb_profiler.trace.ordering import OrderedSlices


def forward_of(events: EventColumns, slices: OrderedSlices, operators: Table) -> Int64:
    """Per row of ``operators`` (slice ids of the trace) the forward operator, -1 for none.

    A backward node has a forward thread and shares the sequence number of its forward operator.
    Of several operators with one number on that thread the last one that starts before the
    backward node is meant: the number moves on when the node is made (formats.md §1.7). Forward
    threads are numbered by torch, not by the system; which track one is follows from the flows of
    the file, else from where its sequence numbers occur.
    """
    forward = np.full(len(operators["slice"]), -1, np.int64)
    has_number = operators["sequence_number"] >= 0
    backward = np.flatnonzero(has_number & (operators["forward_thread"] > 0))
    made = np.flatnonzero(has_number & (operators["forward_thread"] <= 0))
    if len(backward) == 0 or len(made) == 0:
        return forward
    track = slices.track[operators["slice"]]
    number = operators["sequence_number"]
    thread = operators["forward_thread"][backward]
    home = _tracks_of_threads(events, slices, operators, backward, made)
    no_track = len(events.tracks)
    home_track = np.array([home.get(value, no_track) for value in thread.tolist()], np.int32)
    places = np.concatenate((track[made], home_track))
    numbers = number[np.concatenate((made, backward))]
    pair_keys = TrackClock(numbers, int(places.max()) + 1).keys(places, numbers)
    _, pair = np.unique(pair_keys, return_inverse=True)
    start = slices.start_ns[operators["slice"]]
    found = _last_before(pair[: len(made)], start[made], pair[len(made) :], start[backward])
    forward[backward] = np.where(found >= 0, operators["slice"][made[found]], -1)
    return forward


def _last_before(group: Int64, time_ns: Int64, wanted: Int64, before_ns: Int64) -> Int64:
    """Per wanted group the position of its last time before ``before_ns``, or -1."""
    clock = TrackClock(time_ns, int(max(group.max(), wanted.max())) + 1)
    keys = clock.keys(group, time_ns)
    order = np.argsort(keys, kind="stable")
    position = np.searchsorted(keys[order], clock.keys(wanted, before_ns - 1), "right") - 1
    found = order[position]
    return np.where((position >= 0) & (group[found] == wanted), found, -1)


def _tracks_of_threads(
    events: EventColumns, slices: OrderedSlices, operators: Table, backward: Int64, made: Int64
) -> dict[int, int]:
    """Forward thread number → track of its operators."""
    track = slices.track[operators["slice"]]
    numbers = pl.DataFrame(
        {"number": operators["sequence_number"][backward]}
        | {"thread": operators["forward_thread"][backward]}
    )
    places = pl.DataFrame({"number": operators["sequence_number"][made], "track": track[made]})
    votes = numbers.unique().join(places.unique(), on="number")
    by_number = votes.group_by("thread", "track").len().sort("len", "track")
    home = dict(zip(by_number["thread"].to_list(), by_number["track"].to_list(), strict=True))
    return home | _threads_in_flows(events, slices, operators, backward)


def _threads_in_flows(
    events: EventColumns, slices: OrderedSlices, operators: Table, backward: Int64
) -> dict[int, int]:
    """Forward thread number → track, as the forward-backward flows of the file tell."""
    flows = pl.DataFrame(events.tables["flows"])
    ends = flows.filter(pl.col("is_start") == 0).select(
        "raw_category_code", "flow_id_code", "track", "time_ns"
    )
    starts = flows.filter(pl.col("is_start") == 1).select(
        "raw_category_code", "flow_id_code", pl.col("track").alias("home")
    )
    nodes = pl.DataFrame(
        {
            "track": slices.track[operators["slice"][backward]],
            "time_ns": slices.start_ns[operators["slice"][backward]],
            "thread": operators["forward_thread"][backward],
        }
    )
    votes = (
        ends.join(starts, on=["raw_category_code", "flow_id_code"])
        .join(nodes, on=["track", "time_ns"])
        .group_by("thread", "home")
        .len()
        .sort("len", "home")
    )
    return dict(zip(votes["thread"].to_list(), votes["home"].to_list(), strict=True))
