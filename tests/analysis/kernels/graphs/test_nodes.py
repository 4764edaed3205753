"""Which graph and node everything is, with and without recorded numbers."""

from __future__ import annotations

from tests.helpers.graphs import launch
from tests.helpers.traces import kernel, trace
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes


def test_recorded_numbers_count() -> None:
    nodes = graph_nodes(
        trace([*launch(0, 1, ("a", "b")), *launch(50, 2, ("a", "b")), *launch(99, 3, graph=6)])
    )
    assert nodes.graph.tolist() == [0, 0, 1]
    assert [nodes.label(graph) for graph in range(nodes.count)] == ["5", "6"]
    assert nodes.node[:4].tolist() == [0, 1, 0, 1]
    assert nodes.number[:2].tolist() == [1, 2]


def test_launches_of_the_same_kernels_are_of_one_graph_where_nothing_numbers_them() -> None:
    nodes = graph_nodes(
        trace(
            [
                *launch(0, 1, ("a", "b", "a"), graph=None),
                *launch(50, 2, ("a", "a", "b"), graph=None),
                *launch(100, 3, ("a", "b"), graph=None),
                *launch(150, 4, ("a", "b", "b"), graph=None),
            ]
        )
    )
    assert nodes.graph.tolist() == [0, 0, 1, 2]
    assert [nodes.label(graph) for graph in range(nodes.count)] == ["#1", "#2", "#3"]


def test_kernels_of_two_streams_that_swap_stay_apart() -> None:
    """Both launches ran a and b beside each other, in different order."""
    first = launch(0, 1, (), graph=None)
    second = launch(50, 2, (), graph=None)
    nodes = graph_nodes(
        trace(
            [
                *first,
                kernel("a", 10, 9, corr=1, stream=7),
                kernel("b", 11, 9, corr=1, stream=8),
                *second,
                kernel("b", 60, 9, corr=2, stream=8),
                kernel("a", 61, 9, corr=2, stream=7),
            ]
        )
    )
    assert nodes.node[0] == nodes.node[3]
    assert nodes.node[1] == nodes.node[2]
    assert sorted(nodes.number.tolist()) == [1, 2]
