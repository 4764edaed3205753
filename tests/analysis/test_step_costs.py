"""The roles of each step add up to it; what a recording cannot tell of is named with the reason."""

from __future__ import annotations

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.roles import Role
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.step_costs import NO_DEVICE, WORK_ROLES, role_costs, unknown_roles
from torch_tb_profiler.analysis.step_windows import step_windows

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
