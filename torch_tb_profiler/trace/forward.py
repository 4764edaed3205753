"""Backward nodes and the forward operators they belong to."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.ordering import OrderedSlices

_Thread = tuple[int, int]
"""Process, number of a forward thread."""

MAX_HOMES = 64
"""Tracks of a process that count one sequence number; one that more count tells nothing."""
MAX_STARTS = 4
"""Flows of a process that share an id."""
MAX_NODES = 8
"""Backward nodes that start at one moment on one track."""


def forward_of(events: EventColumns, slices: OrderedSlices, operators: ColumnArrays) -> Int64:
    """Per row of ``operators`` (slice ids of the trace) the forward operator, -1 for none.

    A backward node has a forward thread and shares the sequence number of its forward operator.
    Of several operators with one number on that thread the last one that starts before the
    backward node is meant: the number moves on when the node is made. Forward threads are numbered
    by torch, not by the system, in every process anew; which track one is follows from the flows
    of the file, else from where its sequence numbers occur.
    """
    forward = np.full(len(operators["slice"]), -1, np.int64)
    has_number = operators["sequence_number"] >= 0
    backward = np.flatnonzero(has_number & (operators["forward_thread"] > 0))
    numbered = np.flatnonzero(has_number & (operators["forward_thread"] <= 0))
    if len(backward) == 0 or len(numbered) == 0:
        return forward
    track = slices.track[operators["slice"]]
    number = operators["sequence_number"]
    home = _tracks_of_threads(events, slices, operators, backward, numbered)
    no_track = len(events.tracks)
    process = slices.process_of(operators["slice"][backward])
    thread = operators["forward_thread"][backward]
    one, row = dense_pair_ids(process, thread)
    threads = zip(process[one].tolist(), thread[one].tolist(), strict=True)
    home_track = np.array([home.get(each, no_track) for each in threads], np.int32)[row]
    places = np.concatenate((track[numbered], home_track))
    numbers = number[np.concatenate((numbered, backward))]
    pair_keys = TrackClock(numbers, int(places.max()) + 1).keys(places, numbers)
    _, pair = np.unique(pair_keys, return_inverse=True)
    start = slices.start_ns[operators["slice"]]
    split = len(numbered)
    last = _last_before(pair[:split], start[numbered], pair[split:], start[backward])
    forward[backward] = np.where(last >= 0, operators["slice"][numbered[last]], -1)
    return forward


def _last_before(group: Int64, time_ns: Int64, wanted: Int64, before_ns: Int64) -> Int64:
    """Per wanted group the position of its last time before ``before_ns``, or -1."""
    clock = TrackClock(time_ns, int(max(group.max(), wanted.max())) + 1)
    keys = clock.keys(group, time_ns)
    order = np.argsort(keys, kind="stable")
    position = np.searchsorted(keys[order], clock.keys(wanted, before_ns - 1), "right") - 1
    last = order[position]
    return np.where((position >= 0) & (group[last] == wanted), last, -1)


def _tracks_of_threads(
    events: EventColumns,
    slices: OrderedSlices,
    operators: ColumnArrays,
    backward: Int64,
    numbered: Int64,
) -> dict[_Thread, int]:
    """Forward thread → track of its operators."""
    track = slices.track[operators["slice"]]
    process = slices.process_of(operators["slice"])
    number = operators["sequence_number"]
    numbers = pl.DataFrame(
        {"process": process[backward], "number": number[backward]}
        | {"thread": operators["forward_thread"][backward]}
    )
    places = pl.DataFrame(
        {"process": process[numbered], "number": number[numbered], "home": track[numbered]}
    )
    votes = _joined(numbers.unique(), places.unique(), ("process", "number"), MAX_HOMES)
    return _most_voted(votes) | _threads_in_flows(events, slices, operators, backward)


def _threads_in_flows(
    events: EventColumns, slices: OrderedSlices, operators: ColumnArrays, backward: Int64
) -> dict[_Thread, int]:
    """Forward thread → track, as the forward-backward flows of the file tell."""
    flows = pl.DataFrame(events.tables["flows"]).with_columns(
        process=pl.Series(slices.process_of_track[events.tables["flows"]["track"]])
    )
    names = ("process", "raw_category_code", "flow_id_code")
    ends = flows.filter(pl.col("is_start") == 0).select(*names, "track", "time_ns")
    starts = flows.filter(pl.col("is_start") == 1).select(*names, pl.col("track").alias("home"))
    nodes = pl.DataFrame(
        {
            "track": slices.track[operators["slice"][backward]],
            "time_ns": slices.start_ns[operators["slice"][backward]],
            "thread": operators["forward_thread"][backward],
        }
    )
    flow = _joined(ends, starts, names, MAX_STARTS)
    return _most_voted(_joined(flow, nodes, ("track", "time_ns"), MAX_NODES))


def _joined(
    left: pl.DataFrame, right: pl.DataFrame, on: tuple[str, ...], most: int
) -> pl.DataFrame:
    """Rows of both with equal keys, without keys that more than ``most`` rows of ``right`` have:
    in a damaged file the pairs of a few thousand rows of one key would fill the memory."""
    crowded = right.group_by(on).len().filter(pl.col("len") > most)
    few = right.join(crowded, on=on, how="anti") if crowded.height else right
    return left.join(few, on=on)


def _most_voted(votes: pl.DataFrame) -> dict[_Thread, int]:
    """Per (process, thread) the home with most rows."""
    counted = votes.group_by("process", "thread", "home").len().sort("len", "home")
    threads = zip(counted["process"].to_list(), counted["thread"].to_list(), strict=True)
    return dict(zip(threads, counted["home"].to_list(), strict=True))
