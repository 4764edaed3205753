"""Dumps of two attempts of a job in one folder: the last attempt decides, the others are named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.flight_dumps import dump, open_dump, planted
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.view import hang

DAY_NS = 24 * 3600 * 10**9
SHOWN = ("kind", "channel", "sequence", "missing", "odd", "waiting")


def _opened(name: str, dumps: dict[int, dict[str, Any]]) -> dict[str, Trace]:
    return {f"{name}_rank_{rank}": open_dump(each, rank) for rank, each in dumps.items()}


def _shifted(content: dict[str, Any], by_ns: int) -> dict[str, Any]:
    entries = [
        {
            key: value + by_ns if key.endswith("_ns") and value else value
            for key, value in each.items()
        }
        for each in content["entries"]
    ]
    return content | {"entries": entries}


def _problems(diagnosis: HangDiagnosis) -> list[tuple[object, ...]]:
    return [tuple(getattr(each, name) for name in SHOWN) for each in diagnosis.problems]


def _diagnosed(traces: dict[str, Trace]) -> HangDiagnosis:
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    return diagnosis


@pytest.mark.parametrize("seed", range(6))
def test_the_last_attempt_alone_is_diagnosed(seed: int) -> None:
    job = planted(seed, "sleep")
    before = {rank: _shifted(each, -DAY_NS) for rank, each in planted(seed, "skip").dumps.items()}
    alone = _diagnosed(_opened("b", job.dumps))
    both = _diagnosed(_opened("b", job.dumps) | _opened("a", before))
    assert _problems(both) == _problems(alone)
    assert both.dumps.ranks == alone.dumps.ranks
    assert len(both.dumps.earlier) == len(before)


def test_a_rank_without_a_dump_of_the_last_attempt_has_none() -> None:
    job = planted(1, "die")
    before = {rank: _shifted(each, -DAY_NS) for rank, each in planted(1, "sleep").dumps.items()}
    assert set(before) - set(job.dumps) == {job.rank}
    alone = _diagnosed(_opened("b", job.dumps))
    both = _diagnosed(_opened("a", before) | _opened("b", job.dumps))
    assert job.rank not in both.dumps.ranks
    assert _problems(both) == _problems(alone)
    notes = hang(_opened("a", before) | _opened("b", job.dumps), Selection()).notes
    (note,) = [each for each in notes if each.code == "hang_earlier_attempts"]
    assert len(note.evidence["files"]) == len(before)  # type: ignore[arg-type]


def test_two_times_of_one_process_are_read_together() -> None:
    job = planted(2, "sleep")
    early = {
        rank: each | {"entries": each["entries"][: len(each["entries"]) // 2]}
        for rank, each in job.dumps.items()
    }
    late = {
        rank: each | {"entries": each["entries"][len(each["entries"]) // 2 :]}
        for rank, each in job.dumps.items()
    }
    both = _diagnosed(_opened("a", early) | _opened("b", late))
    assert both.dumps.earlier == ()
    assert both.dumps.entries.height == sum(len(each["entries"]) for each in job.dumps.values())


def test_back_ends_of_one_process_count_apart() -> None:
    job = planted(3, "sleep")
    gloo = {
        rank: _shifted(
            each
            | {
                "entries": [
                    row | {"profiling_name": row["profiling_name"].replace("nccl:", "gloo:")}
                    for row in each["entries"]
                ]
            },
            -DAY_NS,
        )
        for rank, each in job.dumps.items()
    }
    assert _diagnosed(_opened("a", gloo) | _opened("b", job.dumps)).dumps.earlier == ()


def test_a_dump_without_times_is_of_no_earlier_attempt() -> None:
    job = planted(4, "sleep")
    timeless = {
        rank: dump(
            [row | {"time_created_ns": None} for row in each["entries"]],
            {"0": ("default_pg", list(range(job.ranks)))},
        )
        for rank, each in job.dumps.items()
    }
    assert _diagnosed(_opened("a", timeless) | _opened("b", job.dumps)).dumps.earlier == ()
