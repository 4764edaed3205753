"""Roles of workers, ranges and kernels: every rule takes its examples and leaves the others."""

from __future__ import annotations

from typing import get_args

import pytest

from torch_tb_profiler.knowledge.job_roles import (
    RoleKernelRule,
    RoleName,
    RoleNameRule,
    job_roles_file,
    role_of_kernel,
    role_of_range,
    role_of_worker,
    roles_by_name,
)

FILE = job_roles_file()


@pytest.mark.parametrize("rule", FILE.workers, ids=lambda rule: rule.role)
def test_names_of_workers(rule: RoleNameRule) -> None:
    assert {role_of_worker(name) for name in rule.examples} == {rule.role}
    assert all(role_of_worker(name) != rule.role for name in rule.counter_examples)


@pytest.mark.parametrize("rule", FILE.ranges, ids=lambda rule: rule.role)
def test_names_of_ranges(rule: RoleNameRule) -> None:
    assert {role_of_range(name) for name in rule.examples} == {rule.role}
    assert all(role_of_range(name) != rule.role for name in rule.counter_examples)


@pytest.mark.parametrize("rule", FILE.kernels, ids=lambda rule: rule.role)
def test_names_of_kernels(rule: RoleKernelRule) -> None:
    assert {role_of_kernel(name) for name in rule.examples} == {rule.role}
    assert all(role_of_kernel(name) != rule.role for name in rule.counter_examples)
    assert (rule.pattern is None) != (rule.kind is None)


def test_every_role_is_declared_once() -> None:
    assert tuple(roles_by_name()) == get_args(RoleName)
    assert len(FILE.roles) == len(roles_by_name())


@pytest.mark.parametrize(
    "name", ["", "rank0", "host_17", "dp0_pp0_tp0_dcp0_ep0_rank0", "t5-decoder-rank0", "x" * 5000]
)
def test_ordinary_names_state_no_role(name: str) -> None:
    assert role_of_worker(name) is None
    assert role_of_range(name) is None
    assert role_of_kernel(name) is None
