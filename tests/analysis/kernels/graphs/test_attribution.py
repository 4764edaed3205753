"""What kernels of graphs belong to, source by source, in the order in which sources count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.helpers.graphs import FUSED, GEMM, LAYER, decode_step, launch
from tests.helpers.nsys import graph_nodes, write_export
from tests.helpers.opening import open_file
from tests.helpers.recorded import side_table
from tests.helpers.traces import Event, annotation, trace
from torch_tb_profiler.analysis.kernels.graphs.attribution import SOURCES, attribution
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace


def with_sidecar(events: Iterable[Event], **tables: list[dict[str, Any]]) -> Trace:
    """A trace with side tables of files beside it."""
    side = {name: side_table(name, "file", rows) for name, rows in tables.items()}
    return replace(trace(events), side=side)


def attributed(recording: Trace) -> list[tuple[str | None, str | None, str | None]]:
    """Part, operator and source of each kernel."""
    result = attribution(recording)
    texts: list[str | None] = [*result.texts, None]
    return [
        (texts[part], texts[operator], SOURCES[source])
        for part, operator, source in zip(result.part, result.operator, result.source, strict=True)
    ]


def captured(batch: int | None, names: Iterable[str], **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "capture": f"bs_{batch}",
            "batch_size": batch,
            "graph": 0,
            "call": "cudaLaunchKernel",
            "operator": f"op{index}",
            "module": f"layer.{batch}",
            "input_shapes": f"[[{batch}]]",
            "kernel": name,
            **more,
        }
        for index, name in enumerate(names)
    ]


def shapes(recording: Trace) -> list[str | None]:
    result = attribution(recording)
    return [*result.texts, None] and [
        [*result.texts, None][index] for index in result.shapes.tolist()
    ]


def test_annotations_in_the_trace_count_first_and_files_fill_what_is_left() -> None:
    events = launch(0, 1, ("a", "b", "c"))
    events[1]["args"]["annotation"] = json.dumps([{"name": "layers.0"}])
    rows = [
        {"graph": 5, "node": node, "annotation": json.dumps([{"str": f"file{node}"}])}
        for node in (1, 2)
    ] + [{"graph": 6, "node": 3, "annotation": '"other graph"'}]
    assert attributed(with_sidecar(events, graph_annotations=rows)) == [
        ("layers.0", None, "annotation in the trace"),
        ("file2", None, "annotation file"),
        (None, None, None),
    ]


def test_the_capture_of_the_smallest_batch_that_holds_the_launch_is_taken() -> None:
    rows = [row for batch in (4, 8, 16) for row in captured(batch, LAYER)]
    recording = with_sidecar(decode_step(10, 1, batch=7), captured_kernels=rows)
    assert attributed(recording) == [("layer.8", f"op{at}", "capture trace") for at in range(4)]
    assert set(shapes(recording)) == {"[[8]]"}


def test_without_a_batch_shapes_are_known_only_where_all_captures_agree() -> None:
    several = [row for batch in (4, 8) for row in captured(batch, LAYER)]
    assert set(shapes(with_sidecar(launch(0, 1), captured_kernels=several))) == {None}
    alone = with_sidecar(launch(0, 1), captured_kernels=captured(4, LAYER))
    assert set(shapes(alone)) == {"[[4]]"}
    assert attributed(alone)[0] == ("layer.4", "op0", "capture trace")


def test_other_names_or_numbers_are_no_replay() -> None:
    wrong = [*LAYER[:-1], "another_kernel"]
    assert {
        each[2]
        for each in attributed(with_sidecar(launch(0, 1), captured_kernels=captured(8, wrong)))
    } == {None}
    nameless = captured(8, [None, None], kernel=None)  # type: ignore[list-item]
    assert {
        each[2] for each in attributed(with_sidecar(launch(0, 1), captured_kernels=nameless))
    } == {None}


def test_kernels_that_no_capture_names_are_matched_by_number_and_kind() -> None:
    rows = captured(8, LAYER, kernel=None)
    assert attributed(with_sidecar(launch(0, 1), captured_kernels=rows))[1][1] == "op1"
    rows[1]["call"] = "cudaMemcpyAsync"
    assert attributed(with_sidecar(launch(0, 1), captured_kernels=rows))[1][1] is None


def test_a_replay_with_one_more_kernel_is_aligned_by_name() -> None:
    names = [GEMM if at % 2 else f"k{at}" for at in range(30)]
    replayed = [*names[:10], FUSED, *names[10:]]
    recording = with_sidecar(launch(0, 1, replayed), captured_kernels=captured(8, names))
    operators = [each[1] for each in attributed(recording)]
    assert operators == [f"op{at}" for at in range(10)] + [None] + [
        f"op{at}" for at in range(10, 30)
    ]


def test_nodes_give_the_order_of_capture_where_streams_swap() -> None:
    events = launch(0, 1, ("b", "a"))
    events[1]["args"]["graph node id"], events[2]["args"]["graph node id"] = 2, 1
    recording = with_sidecar(events, captured_kernels=captured(8, ("a", "b")))
    assert [each[1] for each in attributed(recording)] == ["op1", "op0"]


def test_nsight_records_what_was_open_when_the_node_was_created(tmp_path: Path) -> None:
    recording = open_file(
        open_location(str(write_export(tmp_path / "graph.sqlite", graph_nodes()))), cache=None
    )
    result = graph_launches(recording)
    assert result.count
    sources: Mapping[str | None, int] = {
        source: sum(each[2] == source for each in attributed(recording)) for source in SOURCES
    }
    owned = recording.quality.counts["graph_kernels_at_creation"]
    assert sources["creation of the node"] == owned > 0


def test_generated_kernels_have_the_line_that_they_compute() -> None:
    rows = [
        {"kernel": FUSED, "stacks": '  File "/home/u/m.py", line 3, in f\n', "nodes": "silu"},
        {"kernel": GEMM, "nodes": "linear"},
    ]
    assert attributed(with_sidecar(launch(0, 1), kernel_provenance=rows)) == [
        (None, None, None),
        ("linear", None, "source of the generated kernel"),
        (None, None, None),
        ("/home/u/m.py:3", None, "source of the generated kernel"),
    ]


def test_piecewise_graphs_are_matched_by_their_position_in_the_step() -> None:
    """Three layers of the same kernels, each a graph of its own; outside of a step nothing says
    which of them a launch is."""
    rows = [
        {**row, "graph": graph, "module": f"layer.{graph}", "capture": "bs_8"}
        for graph in range(3)
        for row in captured(8, ("a", "b"))
    ]
    step = annotation("execute_context_0(0)_generation_5(5)", 0, 100)
    inside = [
        event for at in range(3) for event in launch(20 * at + 1, at + 1, ("a", "b"), graph=None)
    ]
    outside = launch(200, 9, ("a", "b"), graph=None)
    result = attributed(with_sidecar([step, *inside, *outside], captured_kernels=rows))
    assert [each[0] for each in result] == [
        "layer.0", "layer.0", "layer.1", "layer.1", "layer.2", "layer.2", None, None,
    ]  # fmt: skip
    assert [each[1] for each in result] == ["op0", "op1"] * 4
