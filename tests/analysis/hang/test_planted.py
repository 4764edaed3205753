"""Random jobs with one planted fault: rank and collective must be right in all of them."""

from __future__ import annotations

import pytest

from tests.helpers.flight_dumps import FAULTS, open_job, planted
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose

KINDS = {
    "sleep": "not_entered",
    "skip": "mismatch",
    "sizes": "mismatch",
    "types": "mismatch",
    "operation": "mismatch",
    "die": "no_dump",
    "slow_device": "not_started",
}


def _diagnosis(seed: int, fault: str) -> tuple[HangDiagnosis, object]:
    job = planted(seed, fault)
    diagnosis = diagnose(open_job(job))
    assert diagnosis is not None
    return diagnosis, job


@pytest.mark.parametrize("fault", [each for each in FAULTS if each not in ("order", "none")])
@pytest.mark.parametrize("seed", range(25))
def test_rank_and_collective_are_those_that_were_planted(seed: int, fault: str) -> None:
    job = planted(seed, fault)
    diagnosis = diagnose(open_job(job))
    assert diagnosis is not None
    first, cause = diagnosis.problems[0], diagnosis.causes[0]
    channel = diagnosis.dumps.channels.all[first.channel]
    assert cause.is_root
    assert not cause.is_cycle
    assert first.kind == KINDS[fault]
    culprits = first.no_dump if fault == "die" else cause.culprits
    if len(job.groups[job.group]) > 2 or fault in ("sleep", "die", "slow_device"):
        assert culprits == (job.rank,)
    else:
        assert job.rank in culprits
    owed = {
        (problem.channel, problem.sequence)
        for problem in diagnosis.problems
        if job.rank in (*problem.missing, *problem.no_dump, *problem.odd, *problem.behind)
    }
    names = {
        (int(diagnosis.dumps.channels.all[number].name), sequence) for number, sequence in owed
    }
    assert (job.group, job.sequence) in names
    assert job.rank in channel.members
    if fault in ("skip", "sizes", "types", "operation"):
        assert (int(channel.name), first.sequence) == (job.group, job.sequence)


@pytest.mark.parametrize("seed", range(25))
def test_calls_in_another_order_are_a_deadlock_of_both_groups(seed: int) -> None:
    job = planted(seed, "order")
    diagnosis = diagnose(open_job(job))
    assert diagnosis is not None
    cyclic = [
        problem
        for problem, cause in zip(diagnosis.problems, diagnosis.causes, strict=True)
        if cause.is_cycle
    ]
    names = {int(diagnosis.dumps.channels.all[problem.channel].name) for problem in cyclic}
    assert {0, job.group} <= names
    assert len(names) == 2
    assert any(job.rank in problem.waiting for problem in cyclic)


@pytest.mark.parametrize("seed", range(25))
def test_a_job_that_completed_everything_does_not_hang(seed: int) -> None:
    diagnosis = diagnose(open_job(planted(seed, "none")))
    assert diagnosis is not None
    assert diagnosis.problems == []
