"""The roles of each step add up to it; what a recording cannot tell of is named with the reason."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import (
    NO_CALLS,
    NO_DEVICE,
    NO_HOST,
    NO_TRANSFERS,
    WORK_ROLES,
    role_costs,
    unknown_reason,
    unknown_roles,
)
from torch_tb_profiler.analysis.steps.windows import step_windows

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
HOST = [step(1, 0, 100), op("aten::mm", 10, 20), step(2, 100, 50)]


def test_each_moment_is_given_to_the_strongest_role() -> None:
    recorded = trace([*HOST, call("cudaLaunchKernel", 12, 4, corr=1), kernel("k", 14, 6, corr=1)])
    selection = Selection(steps="1")
    costs = role_costs(recorded, step_windows(recorded, selection))
    expected = {Role.KERNEL: 6, Role.RUNTIME: 2, Role.CPU_EXEC: 12, Role.OTHER: 80}
    assert {role: int(costs[0, role]) // 1000 for role in Role if costs[0, role]} == expected
    assert unknown_roles(recorded) == {}


def test_without_device_and_api_calls_their_roles_are_unknown() -> None:
    assert unknown_roles(trace(HOST)) == dict.fromkeys((*WORK_ROLES, Role.RUNTIME), NO_DEVICE)


def test_collectives_whose_kernels_are_missing_took_an_unknown_time() -> None:
    called = [*HOST, annotation("nccl:all_reduce", 40, 10)]
    assert unknown_roles(trace(called))[Role.COMMUNICATION] == NO_TRANSFERS
    launched = [call("cudaLaunchKernel", 42, 4, corr=1), kernel(ALL_REDUCE, 50, 9, corr=1)]
    assert Role.COMMUNICATION not in unknown_roles(trace([*called, *launched]))
    on_host = [*HOST, annotation("gloo:all_reduce", 40, 10)]
    assert Role.COMMUNICATION not in unknown_roles(trace(on_host))


def test_kernels_alone_say_nothing_of_the_host() -> None:
    unknown = unknown_roles(trace([kernel("k", 0, 5)]))
    assert unknown == {Role.RUNTIME: NO_CALLS, Role.DATALOADER: NO_HOST, Role.CPU_EXEC: NO_HOST}
    assert unknown_reason(unknown) == f"{NO_CALLS} {NO_HOST}"
