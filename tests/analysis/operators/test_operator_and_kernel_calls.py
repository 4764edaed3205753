"""The calls of operators and the kernels that every table of them is made from."""

from __future__ import annotations

import pytest

from tests.helpers.traces import call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.kernels.calls import kernel_calls, selected_kernel_calls
from torch_tb_profiler.analysis.operators.calls import (
    operator_calls,
    operator_groups,
    selected_operator_calls,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import device_work_steps

EVENTS = [
    step(1, 0, 100),
    op("aten::linear", 10, 40),
    op("aten::mm", 15, 20),
    call("cudaLaunchKernel", 16, 2, corr=1),
    kernel("gemm", 150, 7, corr=1),
    step(2, 100, 100),
    op("aten::mm", 110, 20),
    call("cudaLaunchKernel", 112, 2, corr=2),
    kernel("gemm", 160, 9, corr=2),
    call("cudaMemcpyAsync", 131, 2, corr=3),
    memcpy(170, 5, corr=3),
]


def test_operators_are_summed_by_name() -> None:
    recorded = trace(EVENTS)
    groups = operator_groups(operator_calls(recorded), ["name_code"])
    times = groups.select("calls", "device_self_ns", "device_total_ns", "host_total_ns").rows()
    names = [recorded.text(code) for code in groups["name_code"]]
    assert dict(zip(names, times, strict=True)) == {
        "aten::linear": (1, 0, 7000, 40_000),
        "aten::mm": (2, 16_000, 16_000, 40_000),
    }


def test_kernels_belong_to_the_step_of_their_launch() -> None:
    recorded = trace(EVENTS)
    assert kernel_calls(recorded)["dur_ns"].to_list() == [7000, 9000]
    is_kernel = kernel_kinds(recorded).is_kernel
    assert device_work_steps(recorded)[is_kernel].tolist() == [0, 1]
    assert selected_kernel_calls(recorded, Selection(steps="1"))["dur_ns"].to_list() == [7000]


def test_a_selection_of_calls_may_ask_for_their_stacks() -> None:
    recorded = trace(EVENTS)
    calls = selected_operator_calls(recorded, Selection(steps="2"), with_call_stacks=True)
    assert calls.select("start_ns", "call_stack_code").rows() == [(110_000, -1)]
    with pytest.raises(SelectionError, match="no step"):
        selected_operator_calls(recorded, Selection(steps="7"))
