"""Modules summed over their selected calls: what is above them is there too, and what a recording
does not tell is named."""

from __future__ import annotations

from tests.helpers.traces import frame, op, step, trace
from torch_tb_profiler.analysis.operators.modules.sums import MODULE_SCHEMA, NO_LINKS, module_sums
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection

RECORDED = [
    step(1, 0, 15),
    step(2, 15, 100),
    frame("nn.Module: Net", 1, 100, python_id=1, module=0),
    frame("nn.Module: Conv", 10, 2, python_id=2, module=1),
    frame("nn.Module: Conv", 20, 30, python_id=3, module=1),
    op("aten::conv2d", 25, 20),
]


def test_calls_are_summed_by_place_in_the_tree() -> None:
    sums = module_sums(trace(RECORDED), Selection())
    assert sums.frame.columns == list(MODULE_SCHEMA)
    assert sums.frame.select("path", "parent", "occurrences", "host_total_ns").rows() == [
        ("Net", None, 1, 100_000),
        ("Net/Conv", "Net", 2, 32_000),
    ]
    assert sums.unknown["device_self_ns"] == NO_DEVICE_WORK
    assert sums.unknown["backward_host_self_ns"] == NO_LINKS


def test_what_is_above_a_selected_call_is_there_without_calls() -> None:
    sums = module_sums(trace(RECORDED), Selection(steps="2"))
    assert sums.frame.select("path", "occurrences", "operators").rows() == [
        ("Net", 0, 0),
        ("Net/Conv", 1, 1),
    ]
    assert sums.node.tolist() == [0, 1]
