"""Memory of recordings that have tables of it, and no events."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.importers.mindspore.folders import folder_of, opened
from tests.importers.mindspore.test_memory import GIB, NODES, RECORD, TENSORS, graph, usage
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.memory.view import SPEC, memory


def trace_of() -> Trace:
    """Two graphs, and the totals of the pool."""
    second = graph(2, NODES, TENSORS, 100)
    second.fp_start, second.bp_end = "Conv2D-op7", "MatMul-op9"
    return opened(
        folder_of(
            {
                "memory_usage_0.pb": usage(graph(1, NODES, TENSORS), second),
                "cpu_ms_memory_record_0.txt": RECORD,
            }
        )
    )


def facts(**arguments: Any) -> dict[tuple[str, str | None], Any]:
    """Key and scope → value."""
    view = memory(trace_of(), Selection(), **arguments)
    return {(fact.key, fact.scope): fact.value for fact in view.facts}


def test_memory_is_shown_without_any_event() -> None:
    assert SPEC.missing(trace_of()) is None
    view = memory(trace_of(), Selection())
    assert list(view.tables) == [
        "memory_peaks",
        "memory_tensors",
        "memory_operators",
        "memory_events",
    ]
    sizes = view.tables["memory_tensors"].frame["size_bytes"]
    assert sizes.to_list() == sorted((2 * [size for _, size, *_ in TENSORS]), reverse=True)
    peaks = view.tables["memory_peaks"].frame.row(0, named=True)
    hidden = {column.key for column in view.tables["memory_peaks"].spec.columns if column.hidden}
    assert not any(key.startswith("recorded_") for key in hidden)
    assert (peaks["device"], peaks["device_memory_bytes"]) == ("NPU 0", 32 * GIB)
    assert (peaks["recorded_peak_allocated_bytes"], peaks["recorded_peak_reserved_bytes"]) == (
        1536, 4096,
    )  # fmt: skip
    assert view.tables["memory_peaks"].null_reasons["peak_us"] == (
        "The recording holds no memory events."
    )


def test_each_graph_has_its_peak_and_its_passes() -> None:
    assert facts() == {
        ("recorded_peak_allocated_bytes", "NPU 0"): 1536,
        ("recorded_peak_reserved_bytes", "NPU 0"): 4096,
        ("device_memory_bytes", "NPU 0"): 32 * GIB,
        ("graph_peak_bytes", "Graph 1"): 32256,
        ("graph_static_bytes", "Graph 1"): 0,
        ("graph_peak_bytes", "Graph 2"): 32356,
        ("graph_static_bytes", "Graph 2"): 100,
        ("graph_forward_start", "Graph 2"): 1,
        ("graph_backward_end", "Graph 2"): 2,
    }


def test_tensors_that_are_live_at_an_operator() -> None:
    for position in range(3):
        view = memory(trace_of(), Selection(), at_operator=float(position))
        live = view.tables["memory_tensors"].frame
        whole = view.tables["memory_operators"].frame
        by_graph = live.group_by("graph").agg(pl.col("size_bytes").sum()).sort("graph")
        there = whole.filter(position=position).sort("graph")
        expected = (there["live_bytes"] - there["static_bytes"]).to_list()
        assert by_graph["size_bytes"].to_list() == expected
    assert (
        memory(trace_of(), Selection(), at_operator=9.0).tables["memory_tensors"].frame.is_empty()
    )


def test_curves_are_those_of_the_tables() -> None:
    view = memory(trace_of(), Selection())
    first, second = view.series["memory_of_operators"].lines
    operators = view.tables["memory_operators"].frame
    assert (first.name, second.name) == ("Graph 1", "Graph 2")
    assert second.y == operators.filter(graph=2)["live_bytes"].to_list()
    totals = {line.name: (line.x, line.y) for line in view.series["memory_totals"].lines}
    assert totals["NPU 0 MindSpore reserved"] == ([0.0, 0.2], [2048.0, 4096.0])


def test_a_selection_does_not_narrow_what_files_tell() -> None:
    selection = Selection(start_ns=5, end_ns=9)
    view = memory(trace_of(), selection)
    assert "recorded_whole" in {note.code for note in view.notes}
    assert view.tables["memory_tensors"].frame.height == 2 * len(TENSORS)
