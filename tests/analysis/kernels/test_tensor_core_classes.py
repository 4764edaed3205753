"""Operators and device work by Tensor Core use: by hand, and against adding up row by row."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.tensor_core_classes import (
    KernelClass,
    OperatorClass,
    kernel_classes,
    launch_shares,
    operator_classes,
    self_times,
)
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import Category

GEMM, ADD, NEW = "volta_s884gemm", "vectorized_elementwise_kernel", "nobody knows this"
ALL = Selection()


def launched(name: str, at: float, dur: float, corr: int) -> list[Event]:
    return [call("cudaLaunchKernel", at, 4, corr=corr), kernel(name, at + 50, dur, corr=corr)]


EVENTS = [
    step(1, 0, 1000),
    op("aten::linear", 0, 30),
    op("aten::addmm", 5, 20),
    *launched(GEMM, 10, 100, 1),
    *launched(ADD, 15, 7, 2),
    op("aten::conv2d", 100, 20),
    *launched(NEW, 105, 40, 3),
    op("aten::add", 200, 10),
    *launched(ADD, 201, 30, 4),
    *launched(GEMM, 300, 5, 5),
    call("cudaMemcpyAsync", 400, 9, corr=6),
    memcpy(410, 60, corr=6),
    kernel(ADD, 500, 1),
    step(2, 1000, 100),
    op("aten::add", 1000, 10),
    *launched(ADD, 1001, 30, 7),
]


def test_operators_of_a_small_trace() -> None:
    classes = operator_classes(trace(EVENTS), ALL)
    assert (classes.gpu_ns // 1000).tolist() == [100 + 7 + 5, 40, 30 + 60 + 1 + 30]
    assert (classes.cpu_ns // 1000).tolist() == [30, 20, 20]
    # aten::linear, aten::addmm, the kernel of no operator; aten::conv2d; aten::add, copy, kernel.
    assert classes.count.tolist() == [3, 1, 3]
    assert (classes.unknown_ns // 1000).tolist() == [0, 40, 0]
    assert (classes.using_kernel_ns, classes.eligible_kernel_ns) == (100_000, 147_000)


def test_device_work_of_a_small_trace() -> None:
    classes = kernel_classes(trace(EVENTS), ALL)
    assert (classes.gpu_ns // 1000).tolist() == [105, 60, 108]
    assert (classes.api_ns // 1000).tolist() == [8, 9, 16]
    assert classes.count.tolist() == [2, 1, 5]
    assert (classes.unknown_ns // 1000).tolist() == [0, 0, 40]


def test_what_one_call_launches_shares_its_time() -> None:
    events = [call("cudaGraphLaunch", 0, 0.011, corr=1)]
    events += [kernel(name, 10 + at, 1, corr=1) for at, name in enumerate((GEMM, ADD, ADD))]
    recorded = trace([*events, kernel(ADD, 20, 1)])
    assert launch_shares(recorded).tolist() == [4, 4, 3, 0]
    assert kernel_classes(recorded, ALL).api_ns.tolist() == [4, 0, 7]


def test_an_operator_is_what_it_launched_itself() -> None:
    # Around one that uses Tensor Cores: its own elementwise kernel is none that could.
    events = [op("Torch-Compiled Region", 0, 50), op("aten::mm", 5, 10), *launched(GEMM, 6, 10, 1)]
    classes = operator_classes(trace([*events, *launched(ADD, 20, 30, 2)]), ALL)
    assert (classes.gpu_ns // 1000).tolist() == [10, 0, 30]
    assert (classes.using_kernel_ns, classes.eligible_kernel_ns) == (10_000, 10_000)


@given(recordings())
def test_classes_add_up_and_agree_with_a_walk(recording: Recording) -> None:
    recorded, selection = trace(recording.events), recording.selection
    work = device_work_mask(recorded, selection).tolist()
    rows = recorded.device_work.to_dicts()
    verdicts = kernel_kinds(recorded).tensor_core.tolist()
    tree = call_tree(recorded)
    used: defaultdict[int, bool] = defaultdict(bool)
    gpu: defaultdict[int, int] = defaultdict(int)
    for index, (row, chosen) in enumerate(zip(rows, work, strict=True)):
        if chosen and tree.is_own[index]:
            gpu[row["owner"]] += row["dur_ns"]
            used[row["owner"]] |= verdicts[index] == codes.YES
    using = sum(time for call, time in gpu.items() if used[call])
    using += sum(
        row["dur_ns"]
        for row, chosen, own, verdict in zip(rows, work, tree.is_own, verdicts, strict=True)
        if chosen and not own and verdict == codes.YES
    )
    classes = operator_classes(recorded, selection)
    total = sum(row["dur_ns"] for row, chosen in zip(rows, work, strict=True) if chosen)
    assert classes.gpu_ns[OperatorClass.USING] == using
    assert int(classes.gpu_ns.sum()) == total
    chosen_calls = slice_mask(recorded, selection)[tree.slice]
    assert int(classes.cpu_ns.sum()) == int(self_times(recorded)[chosen_calls].sum())
    kernels = kernel_classes(recorded, selection)
    assert int(kernels.gpu_ns.sum()) == total
    assert int(kernels.count.sum()) == sum(work)
    is_memory = [row["category"] != Category.KERNEL for row in rows]
    memory = [chosen for chosen, copies in zip(work, is_memory, strict=True) if copies]
    assert kernels.count[KernelClass.MEMORY] == sum(memory)
    assert classes.using_kernel_ns <= classes.eligible_kernel_ns


@given(recordings())
def test_self_times_add_up_to_the_outermost_calls(recording: Recording) -> None:
    recorded = trace(recording.events)
    tree = call_tree(recorded)
    outermost = tree.slice[tree.parent < 0]
    duration = recorded.slices["dur_ns"].to_numpy()
    assert int(self_times(recorded).sum()) == int(duration[outermost].sum())


@pytest.mark.parametrize("events", [[], [kernel(GEMM, 0, 5)], [op("aten::mm", 0, 5)]])
def test_parts_may_be_missing(events: list[Event]) -> None:
    recorded = trace(events)
    assert (
        operator_classes(recorded, ALL).gpu_ns.sum() == kernel_classes(recorded, ALL).gpu_ns.sum()
    )
