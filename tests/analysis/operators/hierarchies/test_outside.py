"""Work outside every range has nodes of its own, of a bounded number."""

from __future__ import annotations

from tests.helpers import traces as t
from torch_tb_profiler.analysis.operators.hierarchies.outside import MAX_NODES, OTHERS
from torch_tb_profiler.analysis.operators.hierarchies.timed import (
    timed_call_stacks,
    timed_modules,
    timed_ranges,
)
from torch_tb_profiler.analysis.operators.hierarchies.times import node_times
from torch_tb_profiler.analysis.selection import Selection


def test_operators_device_calls_and_kernels_outside() -> None:
    trace = t.trace(
        [
            t.annotation("mine", 0, 50),
            t.op("aten::mm", 10, 20),
            t.op("aten::add", 60, 20),
            t.op("aten::empty", 65, 5),
            t.call("cudaLaunchKernel", 70, 5, corr=1),
            t.kernel("add", 80, 7, corr=1),
            t.call("cudaMemcpyAsync", 90, 5, corr=2),
            t.memcpy(95, 3, corr=2),
            t.kernel("from nowhere", 100, 11),
        ]
    )
    kept = timed_ranges(trace)["user"]
    nodes = kept.hierarchy.nodes
    gpu = node_times(trace, kept, Selection(start_ns=0)).measures["gpu"]
    ns = dict(zip(gpu.node.tolist(), gpu.ns.tolist(), strict=True))
    assert {nodes.path[node]: ns.get(node, 0) for node in range(1, nodes.count)} == {
        "unassociated_aten::add": 7_000,
        "unassociated_cudaMemcpyAsync": 3_000,
        "unassociated_from nowhere": 11_000,
    }


def test_many_names_share_one_node() -> None:
    ops = [t.op(f"op{number}", 20 * number, 10) for number in range(MAX_NODES + 5)]
    nodes = timed_modules(t.trace(ops)).hierarchy.nodes
    assert nodes.count == MAX_NODES + 1
    assert nodes.path[-1] == OTHERS


def test_an_operator_around_ranges_is_not_outside() -> None:
    trace = t.trace([t.op("wrapper", 0, 100), t.annotation("mine", 10, 50), t.op("in", 20, 10)])
    assert timed_ranges(trace)["user"].hierarchy.nodes.path == ["mine"]


def test_stacks_of_operators_make_a_tree() -> None:
    """Traces before torch 2 have no frames."""
    stacks = ["b.py(2): g;a.py(1): f", "b.py(2): g;a.py(1): f", "a.py(1): f"]
    ops = [t.op("aten::mm", 20 * place, 10, stack=text) for place, text in enumerate(stacks)]
    kept = timed_call_stacks(t.trace([*ops, t.op("aten::add", 90, 10)]))
    assert kept.hierarchy.nodes.path == [
        "a.py(1): f",
        "a.py(1): f;b.py(2): g",
        "unassociated_aten::add",
    ]
    cpu = node_times(t.trace(ops), kept, Selection()).measures["cpu"]
    assert cpu.ns.tolist()[:2] == [30_000, 20_000]
