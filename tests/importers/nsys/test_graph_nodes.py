"""Kernels of replayed graphs belong to the range that was open when their node was created."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import nsys
from torch_tb_profiler.analysis.operators.hierarchies.of_ranges import ranges_hierarchy
from torch_tb_profiler.importers.nsys.graph_nodes import GraphNodeRows, find_creations
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.model import Trace

Link = tuple[int, int, int | None]
"""Process, node, the node from which it was created."""


def traced(folder: Path, tables: dict[str, list[nsys.Row]]) -> Trace:
    path = nsys.write_export(folder / "made.sqlite", tables)
    return build_trace(read_export(str(path), path.name, Reading()))


def owners(trace: Trace) -> list[str | None]:
    names = trace.slices["name_code"]
    return [
        None if owner is None else trace.text(names[owner]) for owner in trace.device_work["owner"]
    ]


def test_a_kernel_belongs_to_the_creation_of_its_node(tmp_path: Path) -> None:
    """Each replay has another launch, in other ranges; the owners are the same."""
    trace = traced(tmp_path, nsys.graph_nodes())
    assert owners(trace) == ["aten::mm", "aten::relu", "capture"] * 2
    assert trace.quality.counts["graph_kernels_at_creation"] == 6
    launches = trace.device_work["launch"].to_list()
    starts = trace.slices["start_ns"]
    assert [starts[launch] for launch in launches] == [950] * 3 + [1992] * 3
    totals = trace.slices.filter(category=0).sort("start_ns")["device_self_ns"].to_list()
    assert totals == [40, 40, 0]  # two replays of each; the operator around a launch owns none
    hierarchy = ranges_hierarchy(trace, "user")
    inside = hierarchy.call_slice[hierarchy.work_call].tolist()
    assert {trace.text(trace.slices["name_code"][each]) for each in inside} == {"capture"}


def test_the_older_table_gives_the_same(tmp_path: Path) -> None:
    tables = nsys.graph_nodes()
    tables["CUDA_GRAPH_EVENTS"] = tables.pop("CUDA_GRAPH_NODE_EVENTS")
    assert owners(traced(tmp_path, tables)) == ["aten::mm", "aten::relu", "capture"] * 2


def test_where_a_link_is_missing_the_launch_decides(tmp_path: Path) -> None:
    tables = nsys.graph_nodes()
    lost = [row for row in tables["CUDA_GRAPH_NODE_EVENTS"] if row["graphNodeId"] != 21]
    trace = traced(tmp_path, {**tables, "CUDA_GRAPH_NODE_EVENTS": lost})
    assert owners(trace)[:3] == ["replay", "aten::relu", "capture"]
    assert owners(trace)[3:] == ["aten::outer", "aten::relu", "capture"]
    assert trace.quality.counts["graph_node_unknown"] == 2


def walked(links: list[Link], process: int, node: int) -> tuple[int, int] | None:
    """The node a chain ends in, step by step; None where a link is missing or in a circle."""
    originals: dict[tuple[int, int], int | None] = {}
    for owner, number, original in links:
        known = originals.get((owner, number), 0)
        if (owner, number) not in originals or (known is not None and original is None):
            originals[owner, number] = original
    seen = set()
    while (process, node) in originals and node not in seen:
        seen.add(node)
        original = originals[process, node]
        if original is None:
            return process, node
        node = original
    return None


NODES = st.integers(1, 6)
LINKS = st.lists(st.tuples(st.integers(1, 2), NODES, st.none() | NODES), max_size=12)


@given(LINKS, st.lists(st.tuples(st.integers(1, 3), NODES), min_size=1, max_size=6))
def test_chains_are_resolved_as_step_by_step(
    links: list[Link], wanted: list[tuple[int, int]]
) -> None:
    links = [
        (of, number, None if original == number else original) for of, number, original in links
    ]
    process, number = (np.array(each, np.int64) for each in zip(*wanted, strict=True))
    columns = np.array(
        [(of, each, ABSENT if original is None else original) for of, each, original in links],
        np.int64,
    ).reshape(-1, 3)
    nodes = GraphNodeRows(
        columns[:, 0], columns[:, 1], columns[:, 2], np.arange(len(links)), columns[:, 0] << 24
    )
    rows = find_creations(nodes, process, number).tolist()
    ends = [None if row < 0 else (links[row][0], links[row][1]) for row in rows]
    assert ends == [walked(links, *pair) for pair in wanted]
