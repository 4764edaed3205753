"""Computation and communication mean the same everywhere; see
docs/metrics.md#computation-and-communication."""

from __future__ import annotations

from tests.helpers.traces import Event, annotation, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import Role, computation, role_intervals

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def us(intervals: Intervals) -> list[tuple[int, int]]:
    edges = (edge // 1000 for edge in intervals)
    return list(zip(*(edge.tolist() for edge in edges), strict=True))


def communication(events: list[Event]) -> list[tuple[int, int]]:
    """When the overview says that communication ran, which is when the calls did."""
    built = trace(events)
    communicating = us(role_intervals(built)[Role.COMMUNICATION])
    assert communicating == us(records(built).intervals())
    return communicating


def test_a_range_of_a_device_backend_only_hands_over() -> None:
    range_, launch = annotation("nccl:all_reduce", 0, 50), call("cudaLaunchKernel", 10, 5, corr=1)
    assert communication([range_, launch, kernel(ALL_REDUCE, 20, 70, corr=1)]) == [(20, 90)]
    assert communication([range_]) == []


def test_a_backend_of_the_host_runs_in_its_range() -> None:
    assert communication([annotation("gloo:all_reduce", 0, 50)]) == [(0, 50)]


def test_copies_and_sets_are_no_computation() -> None:
    events = [op("aten::mm", 0, 90), memcpy(0, 10), kernel("gemm", 20, 30), memcpy(60, 10)]
    assert us(computation(trace(events))) == [(20, 50)]


def test_operators_of_a_recording_of_the_host_compute() -> None:
    events = [step(0, 0, 100), op("aten::linear", 10, 30), op("aten::addmm", 15, 20)]
    assert us(computation(trace(events))) == [(10, 40)]


def test_what_waits_for_a_collective_does_not_compute() -> None:
    wait = [
        op("autograd::engine::evaluate_function: ReluBackward0", 0, 100),
        op("aten::threshold_backward", 5, 10),
        annotation("FSDP::pre_backward (2)", 20, 70),
        op("aten::narrow", 22, 3),
        op("_c10d_functional::wait_tensor", 30, 50),
    ]
    assert us(computation(trace(wait))) == [(5, 15), (22, 25)]


def test_what_a_backend_copies_inside_a_collective_does_not_compute() -> None:
    events = [annotation("gloo:all_gather", 0, 50, tid=2), op("aten::copy_", 10, 20, tid=2)]
    assert us(computation(trace([*events, op("aten::mm", 40, 30)]))) == [(40, 70)]
