"""Cases: nodes of graphs that are no work belong to the launch with their correlation id."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.torch_2_15 import COPY, EVENT, HOST, KERNEL, graph_launch
from torch_tb_profiler.analysis.kernels.copies import copy_calls
from torch_tb_profiler.analysis.kernels.graphs.events import graph_events
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled.facts import graph_notes
from torch_tb_profiler.views.compiled.launches import graphs_table, launches_table
from torch_tb_profiler.views.slice.details import slice_details

Event = dict[str, Any]


def trace(events: list[Event]) -> Trace:
    text = json.dumps({"traceEvents": events}).encode()
    return build_trace(import_trace([text], name="x"))


def names(built: Trace) -> list[str | None]:
    return [built.text(code) for code in built.slices["name_code"].to_list()]


def test_an_event_and_a_callback_of_a_launch() -> None:
    built = trace(graph_launch())
    events, listed = graph_events(built), names(built)
    assert [listed[row] for row in events.slice] == ["EventRecord", "HostNode: done"]
    assert events.is_host.tolist() == [False, True]
    assert events.launch.tolist() == [0, 0]
    assert [listed[row] for row in events.call] == ["cudaGraphLaunch"] * 2
    for row in events.slice.tolist():
        (call,) = slice_details(built, row).links.launch.slices
        assert call.name == "cudaGraphLaunch"


def test_what_a_graph_holds_is_counted() -> None:
    built = trace(graph_launch())
    launches = graph_launches(built)
    selected = launches.first[:-1] >= 0
    (row,) = launches_table(built, selected).frame.iter_rows(named=True)
    assert (row["kernels"], row["host_nodes"], row["event_nodes"]) == (3, 1, 1)
    assert row["host_nodes_us"] == 2
    (graph,) = graphs_table(built, selected).frame.iter_rows(named=True)
    assert (graph["kernels"], graph["host_nodes"], graph["event_nodes"]) == (3, 1, 1)
    (note,) = (each for each in graph_notes(built, selected) if each.code == "graph_other_nodes")
    assert note.evidence == {"host_nodes": 1, "host_nodes_us": 2, "event_nodes": 1}


def test_a_graph_of_nothing_else_is_launched_by_its_call() -> None:
    events = [each for each in graph_launch() if each not in (KERNEL, COPY)]
    events = [each for each in events if each.get("cat") != "kernel"]
    built = trace(events)
    found = graph_events(built)
    assert found.launch.tolist() == [-1, -1]
    assert [names(built)[row] for row in found.call] == ["cudaGraphLaunch"] * 2


def test_nodes_of_another_device_or_launch_are_not_its_own() -> None:
    others = [
        {**EVENT, "pid": 1, "args": {**EVENT["args"], "device": 1}},
        {**HOST, "args": {**HOST["args"], "correlation": 77}},
    ]
    built = trace([*graph_launch(), *others])
    assert sorted(graph_events(built).launch.tolist()) == [-1, -1, 0, 0]


def test_no_nodes() -> None:
    built = trace([KERNEL])
    assert not len(graph_events(built).slice)
    selected = graph_launches(built).first[:-1] >= 0
    assert launches_table(built, selected).frame["host_nodes"].to_list() == [0]
    assert "graph_other_nodes" not in [each.code for each in graph_notes(built, selected)]


def test_directions_of_copies_that_only_their_arguments_have() -> None:
    calls = copy_calls(trace(graph_launch())).sort("dur_ns", "kind")
    assert calls.select("kind", "host_memory").rows() == [("HtoD", "pageable"), ("set", None)]


def test_the_name_of_a_copy_is_preferred() -> None:
    named = {**COPY, "name": "Memcpy DtoH (Device -> Pinned)"}
    assert copy_calls(trace([named])).select("kind", "host_memory").rows() == [("DtoH", "pinned")]
