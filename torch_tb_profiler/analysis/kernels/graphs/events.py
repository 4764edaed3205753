"""Nodes of graphs that are no device work: events that are recorded and callbacks of the host.

Definitions: ``docs/views-compiled.md#other-nodes``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.trace.categories import EVENT_NODE, HOST_NODE, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids, positions_in
from torch_tb_profiler.trace.model import Trace


class GraphEvents(Struct, frozen=True, eq=False):
    """The nodes; arrays are aligned.

    Attributes:
        slice: The slices of the nodes, ascending.
        is_host: Whether it is a callback of the host; others record an event.
        launch: Index of its launch in ``GraphLaunches``, -1 where that launched no device work.
        call: Slice of the call that launched it, -1 where unknown.
    """

    slice: Int64
    is_host: Bools
    launch: Int64
    call: Int64


@per_trace
def graph_events(trace: Trace) -> GraphEvents:
    """The nodes of graphs that are no device work, each with its launch: the one with the same
    correlation id and device."""
    slices = trace.slices
    rows = np.flatnonzero(slices["category"].to_numpy() == Category.DEVICE_OTHER)
    raw_category = indices(slices["raw_category_code"])[rows]
    host, event = (np.flatnonzero(trace.strings == name) for name in (HOST_NODE, EVENT_NODE))
    is_node = np.isin(raw_category, np.concatenate((host, event)))
    rows, is_host = rows[is_node], np.isin(raw_category[is_node], host)
    correlation, track = indices(slices["correlation"]), indices(slices["track"])
    device = indices(trace.tracks.sort("track")["device"])[track[rows]]
    launches, work = graph_launches(trace), trace.device_work
    heads = launches.row[launches.first[:-1]]
    owners = work["slice"].to_numpy()[heads]
    _, key = dense_pair_ids(
        np.concatenate((correlation[owners], correlation[rows])),
        np.concatenate((indices(work["device"])[heads], device)),
    )
    own, known = key[len(heads) :], correlation[rows] > 0
    launch = np.where(known, _first_positions(key[: len(heads)], own), -1)
    calls = launches.without_work
    alone = _first_positions(correlation[calls], correlation[rows])
    call = np.append(launches.slice, -1)[launch]
    call = np.where((launch < 0) & known, np.append(calls, -1)[alone], call)
    return GraphEvents(rows, is_host, launch, call)


def _first_positions(keys: Int64, values: Int64) -> Int64:
    """Per value the index of the first key that is equal to it, -1 for none."""
    distinct, first = np.unique(keys, return_index=True)
    return np.append(first, -1)[positions_in(distinct, values)]
