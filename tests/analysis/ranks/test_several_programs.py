"""Simulated jobs in one folder: of each the same is said as of that job alone, whatever else the
folder holds. The truth is the simulator's."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cluster import jobs
from bench.cluster.shape import draw
from tests.analysis.ranks.test_causes import traces_of
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.ranks.causes import RankCauses, causes_by_program, rank_causes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

JOBS = ((101, "none"), (102, "slow_device"), (104, "slow_host"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Trace]]:
    """The recordings of each job, all of 16 ranks, of the same steps at the same time."""
    recordings = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "draw", lambda *given: replace(draw(*given), first_step=10, steps=3))
        for seed, cause in JOBS:
            folder = tmp_path_factory.mktemp(f"job{seed}")
            jobs.write_case(jobs.make_case(seed, 16, cause), folder)
            recordings[seed] = traces_of(folder)
    return recordings


def mixed(alone: dict[int, dict[str, Trace]], seed: int) -> tuple[dict[str, Trace], dict[str, int]]:
    """All recordings under names that say nothing, and of which job each is."""
    rows = [(trace, job) for job, traces in alone.items() for trace in traces.values()]
    random.Random(seed).shuffle(rows)
    traces = {f"w{row}": trace for row, (trace, _) in enumerate(rows)}
    return traces, {f"w{row}": job for row, (_, job) in enumerate(rows)}


def named(known: RankCauses) -> list[tuple[str, list[str | int], str | None, float]]:
    return [
        (cause.cause, cause.names, cause.pattern, round(cause.cost_ns)) for cause in known.causes
    ]


@pytest.mark.parametrize("seed", range(3))
def test_each_job_has_the_causes_that_it_has_alone(
    alone: dict[int, dict[str, Trace]], seed: int
) -> None:
    traces, job_of = mixed(alone, seed)
    known = programs(traces)
    assert known.unassigned == []
    assert sorted(len(names) for names in known.workers) == [16] * len(JOBS)
    for causes in causes_by_program(traces, Selection()):
        (job,) = {job_of[worker] for worker in causes.job.traces}
        single = rank_causes(alone[job], Selection())
        assert single is not None
        assert named(causes) == named(single)
        assert [cause for cause, *_ in named(causes)] == [
            cause for seed, cause in JOBS if seed == job and cause != "none"
        ]


def test_a_rank_that_declares_no_job_is_of_its_own(tmp_path: Path) -> None:
    """Whether the folder holds its job alone or another one too."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder, seed in zip(folders, (101, 104), strict=True):
        jobs.write_case(jobs.make_case(seed, 16, "none"), folder)
    (lone,) = folders[0].glob("rank5.*")
    lone.write_text(lone.read_text().replace('"distributedInfo"', '"notInfo"'))
    one, other = (traces_of(folder) for folder in folders)
    assert one["rank5"].meta.info.job is None
    assert programs(one).workers == [list(one)]
    both = one | {f"other.{name}": trace for name, trace in other.items()}
    assert [set(names) for names in programs(both).workers] == [set(one), set(both) - set(one)]
    assert programs(both).unassigned == []
