"""The role of each rank of a job: by its name, its ranges, its scheduler's iterations or its
kernels.

Rules: ``docs/views-roles.md#how-roles-are-detected``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.job_roles.evidence import KERNEL, RANGE, WINDOW, role_evidence
from torch_tb_profiler.knowledge.job_roles import (
    COLOCATED,
    job_roles_file,
    role_of_worker,
    roles_by_name,
)
from torch_tb_profiler.trace.model import Trace

NAME = "name"
"""The source of a role that the name of a worker states."""

PREFILL, DECODE, SERVING, ROLLOUT, WEIGHT_SYNC = (
    "prefill", "decode", "serving", "rollout", "weight_sync",
)  # fmt: skip
_OF_TRAINERS = ("training", "reference", "critic", "reward")


class RankRole(Struct, frozen=True):
    """The role of a rank.

    Attributes:
        role: A name of ``job_roles.toml``, :data:`~torch_tb_profiler.knowledge.job_roles.COLOCATED`
            where its ranges say that it has several; None where nothing says it.
        source: What says so: :data:`NAME`, or a source of the evidence; None for no role.
    """

    role: str | None
    source: str | None


NO_ROLE = RankRole(None, None)


class _Evidence(Struct, frozen=True):
    """The evidence of one rank: roles by ranges, time by kind of window, roles by kernels."""

    ranges: frozenset[str]
    windows: Mapping[str, int]
    kernels: frozenset[str]


_NOTHING = _Evidence(frozenset(), {}, frozenset())


def joined_evidence(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The evidence of all ranks, with ``worker``, the position of the rank in ``traces``."""
    frames = [role_evidence(trace) for trace in traces.values()]
    heights = pl.Series([frame.height for frame in frames], dtype=pl.Int64)
    worker = pl.int_range(len(frames), eager=True).repeat_by(heights).explode()
    joined = pl.concat(frames, rechunk=True)
    return joined.with_columns(worker=worker.drop_nulls().cast(pl.Int64))


def rank_roles(traces: Mapping[str, Trace], evidence: pl.DataFrame) -> dict[str, RankRole]:
    """The role of each rank, in the order of ``traces``.

    A scheduler's iterations make a rank a server; in a job that trains as well, it makes rollouts.

    Args:
        traces: Of the job, by worker.
        evidence: :func:`joined_evidence` of them.
    """
    by_worker = _by_worker(evidence)
    names = {worker: role_of_worker(worker) for worker in traces}
    each = [by_worker.get(position, _NOTHING) for position in range(len(traces))]
    roles = {
        worker: _role(name, known)
        for (worker, name), known in zip(names.items(), each, strict=True)
    }
    trains = any(
        role.role in _OF_TRAINERS or (role.role == COLOCATED and known.ranges)
        for role, known in zip(roles.values(), each, strict=True)
    )
    return {worker: _of_training_job(role) for worker, role in roles.items()} if trains else roles


def stated_roles(workers: Iterable[str]) -> set[str]:
    """The different roles that names of workers state."""
    return {role for worker in workers if (role := role_of_worker(worker)) is not None}


def _of_training_job(role: RankRole) -> RankRole:
    is_server = role.source == WINDOW and role.role in (PREFILL, DECODE, SERVING)
    return RankRole(ROLLOUT, WINDOW) if is_server else role


def _by_worker(evidence: pl.DataFrame) -> dict[int, _Evidence]:
    sums = evidence.group_by("worker", "source", "role").agg(pl.col("duration_ns").sum())
    ranges: dict[int, set[str]] = {}
    windows: dict[int, dict[str, int]] = {}
    kernels: dict[int, set[str]] = {}
    for worker, source, role, duration_ns in sums.iter_rows():
        if source == RANGE:
            ranges.setdefault(worker, set()).add(role)
        elif source == WINDOW:
            windows.setdefault(worker, {})[role] = duration_ns
        else:
            kernels.setdefault(worker, set()).add(role)
    return {
        worker: _Evidence(
            frozenset(ranges.get(worker, ())),
            windows.get(worker, {}),
            frozenset(kernels.get(worker, ())),
        )
        for worker in {*ranges, *windows, *kernels}
    }


def _role(name: str | None, known: _Evidence) -> RankRole:
    phases = known.ranges - {WEIGHT_SYNC}
    if len(phases) > 1:
        return RankRole(COLOCATED, RANGE)
    if name is not None and name != COLOCATED:
        return RankRole(name, NAME)
    if phases:
        return RankRole(next(iter(phases)), RANGE)
    if known.windows:
        return RankRole(_server(known.windows), WINDOW)
    if len(known.kernels) == 1:
        return RankRole(next(iter(known.kernels)), KERNEL)
    return NO_ROLE


def _server(windows: Mapping[str, int]) -> str:
    share_of = job_roles_file().window_share * sum(windows.values())
    return next(
        (kind for kind in (PREFILL, DECODE) if windows.get(kind, 0) >= share_of and windows[kind]),
        SERVING,
    )


def role_order(roles: Iterable[str | None]) -> list[str]:
    """Distinct roles in the order of ``job_roles.toml``."""
    present = set(roles)
    return [role for role in roles_by_name() if role in present]
