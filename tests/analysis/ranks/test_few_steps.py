"""Causes from one or two steps: no pattern is stated of one, chance is named, and what a single
interruption may cost is no cause. The jobs are the simulator's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.ranks.test_causes import job
from torch_tb_profiler.analysis.ranks.causes import RankCauses, rank_causes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.rank_causes import few_steps_text, rank_causes_file
from torch_tb_profiler.views.rank_causes import clause, sentence


def of_first_steps(folder: Path, cause: str, seed: int, steps: int) -> RankCauses:
    traces, _ = job(folder, cause, seed)
    names = next(iter(traces.values())).steps["name"].to_list()[:steps]
    known = rank_causes(traces, Selection(steps=",".join(names)))
    assert known is not None
    return known


@pytest.mark.parametrize(("steps", "pattern"), [(1, None), (2, "steady"), (3, "steady")])
def test_a_slow_device_in_few_steps(tmp_path: Path, steps: int, pattern: str | None) -> None:
    (cause,) = of_first_steps(tmp_path, "slow_device", 3, steps).causes
    assert (cause.cause, cause.pattern) == ("slow_device", pattern)
    basis = few_steps_text(steps)
    assert (basis is None) == (steps > 2)
    for text in (sentence(cause), clause(cause)):
        assert ("so it may be chance: record 5 or more" in text) == (steps < 3)
    # An answer has the first sentence alone.
    assert basis is None or f"({basis})" in sentence(cause).partition(". ")[0]


@pytest.mark.parametrize("seed", [503, 504, 508, 612, 617, 618])
def test_interruptions_in_one_step_of_a_healthy_job_are_no_cause(tmp_path: Path, seed: int) -> None:
    assert of_first_steps(tmp_path, "none", seed, 1).causes == []


def test_every_text_has_more_than_one_sentence() -> None:
    assert all(". " in each.text for each in rank_causes_file().texts)
