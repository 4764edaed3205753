"""Folders that differ in the rank alone are the workers of one run; all others stay runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.storage.locations import open_location


def workers(root: Path, *names: str) -> list[tuple[str, str, str]]:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    files = discover(open_location(str(root))).files
    return [(file.run, file.worker, file.span) for file in files]


def test_ranks_in_folders_of_their_own(tmp_path: Path) -> None:
    names = [f"job/rank{rank}/host_{rank}.{rank}7.pt.trace.json" for rank in (0, 1, 10)]
    assert workers(tmp_path, *names) == [
        ("job", "rank0", "1"),
        ("job", "rank1", "1"),
        ("job", "rank10", "1"),
    ]


def test_ranks_of_several_jobs_side_by_side(tmp_path: Path) -> None:
    names = [f"{job}_rank_{rank}/w.pt.trace.json" for job in "ab" for rank in (0, 1)]
    assert workers(tmp_path, *names) == [
        (job, f"rank_{rank}", "default") for job in "ab" for rank in (0, 1)
    ]


def test_of_a_logdir_of_nothing_but_ranks_it_is_the_run(tmp_path: Path) -> None:
    names = ["rank0/w.pt.trace.json", "rank1/w.pt.trace.json", "rank1/v.pt.trace.json"]
    assert workers(tmp_path / "logs", *names) == [
        ("logs", "rank0", "default"),
        ("logs", "rank1-v", "default"),
        ("logs", "rank1-w", "default"),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["job/rank0/w.pt.trace.json"],  # one alone: a run
        ["job/w.pt.trace.json", "job/rank0/w.pt.trace.json", "job/rank1/w.pt.trace.json"],
        ["epoch0/w.pt.trace.json", "epoch1/w.pt.trace.json"],
        ["tp8/w.pt.trace.json", "tp16/w.pt.trace.json"],
    ],
)
def test_others_stay_runs(tmp_path: Path, names: list[str]) -> None:
    assert len({run for run, _, _ in workers(tmp_path, *names)}) == len(names)
