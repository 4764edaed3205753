"""Roles of the processes of a job by names of workers, ranges and kernels.

The rules are in ``job_roles.toml``; ``docs/views-roles.md`` explains their use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.kernels import classify
from torch_tb_profiler.once import once

RoleName = Literal[
    "rollout",
    "training",
    "reference",
    "critic",
    "reward",
    "weight_sync",
    "prefill",
    "decode",
    "serving",
    "draft",
    "front_end",
]
RoleFamily = Literal["rl", "serving"]
COLOCATED = "colocated"
"""What a name says of a process with several roles."""

MAX_NAME_CHARS = 1000
"""Only this many characters of a name are matched."""


class JobRole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A role.

    Attributes:
        name: Stable name.
        title: For people.
        family: Of reinforcement learning, or of an inference server.
        generates: Whether it makes tokens.
    """

    name: RoleName
    title: str
    family: RoleFamily
    generates: bool = False


class RoleNameRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of workers or ranges of one role; the head of ``job_roles.toml`` explains it."""

    role: RoleName | Literal["colocated"]
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class RoleKernelRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Kernels of one role: by a pattern, or by their kind (``kernels.toml``)."""

    role: RoleName
    examples: tuple[str, ...]
    pattern: str | None = None
    kind: str | None = None
    counter_examples: tuple[str, ...] = ()


class JobRolesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``job_roles.toml``."""

    window_share: float
    roles: tuple[JobRole, ...]
    workers: tuple[RoleNameRule, ...]
    ranges: tuple[RoleNameRule, ...]
    kernels: tuple[RoleKernelRule, ...]


@once
def job_roles_file() -> JobRolesFile:
    """The entries of the file."""
    return load("job_roles.toml", JobRolesFile)


@once
def roles_by_name() -> dict[str, JobRole]:
    """The roles, in the order in which tables list them."""
    return {role.name: role for role in job_roles_file().roles}


@once
def _workers() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rule.pattern), rule.role) for rule in job_roles_file().workers)


@once
def _ranges() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rule.pattern), rule.role) for rule in job_roles_file().ranges)


@once
def _kernels() -> tuple[tuple[re.Pattern[str] | None, str | None, str], ...]:
    return tuple(
        (None if rule.pattern is None else re.compile(rule.pattern), rule.kind, rule.role)
        for rule in job_roles_file().kernels
    )


def role_of_worker(name: str) -> str | None:
    """The role that the name of a worker states, :data:`COLOCATED` for several; None for none.

    >>> role_of_worker("rollout-rank0"), role_of_worker("TP-0-DECODE"), role_of_worker("rank0")
    ('rollout', 'decode', None)
    """
    text = name[:MAX_NAME_CHARS].lower()
    return next((role for pattern, role in _workers() if pattern.search(text)), None)


@lru_cache(maxsize=65536)
def role_of_range(name: str) -> str | None:
    """The role of a range of this name; None for none."""
    if len(name) > MAX_NAME_CHARS:
        return None
    return next((role for pattern, role in _ranges() if pattern.fullmatch(name)), None)


@lru_cache(maxsize=65536)
def role_of_kernel(name: str) -> str | None:
    """The role that alone runs a kernel of this name; None for all other kernels."""
    text = name[:MAX_NAME_CHARS]
    for pattern, kind, role in _kernels():
        if pattern.search(text) if pattern is not None else classify(name).kind == kind:
            return role
    return None
