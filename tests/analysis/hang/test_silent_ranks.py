"""Ranks whose dump is older, overwritten or cut are not called missing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.helpers.flight_dumps import START_NS, dump, entry, open_dump
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.view import hang

GROUPS = {"0": ("default_pg", [0, 1, 2, 3]), "1": ("dp", [0, 1, 2, 3])}


def _calls(count: int, completed: int, operation: str = "all_reduce") -> list[dict[str, Any]]:
    return [
        entry(
            number,
            profiling_name=f"nccl:{operation}",
            collective_seq_id=number + 1,
            state="completed" if number < completed else "started",
            retired=number < completed,
            time_discovered_started_ns=START_NS,
            time_discovered_completed_ns=START_NS if number < completed else None,
        )
        for number in range(count)
    ]


def _diagnosis(traces: dict[str, Trace]) -> tuple[HangDiagnosis, str]:
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    return diagnosis, hang(traces, Selection()).answer or ""


def _traces(entries: dict[int, list[dict[str, Any]]]) -> dict[str, Trace]:
    return {f"r{rank}": open_dump(dump(each, GROUPS), rank) for rank, each in entries.items()}


def test_a_dump_that_lacks_what_others_completed_is_older() -> None:
    entries = {rank: _calls(*((6, 6) if rank == 1 else (10, 9))) for rank in range(4)}
    diagnosis, answer = _diagnosis(_traces(entries))
    assert diagnosis.dumps.older == (1,)
    assert [(each.kind, each.missing, each.no_dump) for each in diagnosis.problems] == [
        ("no_dump", (), (1,))
    ]
    assert "The dump of rank 1 is older" in answer
    assert "never called" not in answer


def test_an_open_call_of_an_older_dump_is_no_hang() -> None:
    entries = {rank: _calls(*((6, 5) if rank == 0 else (10, 10))) for rank in range(4)}
    diagnosis, answer = _diagnosis(_traces(entries))
    assert diagnosis.problems == []
    assert "The dump of rank 0 is older" in answer


@pytest.mark.parametrize("operation", ["broadcast", "all_reduce"])
def test_a_rank_that_lacks_only_what_hangs_is_missing(operation: str) -> None:
    """Roots of broadcasts go on before the others call it."""
    late = 6 if operation == "broadcast" else 9
    entries = {
        rank: _calls(*((late, late) if rank == 1 else (10, 9)), operation) for rank in (0, 1)
    }
    diagnosis, _ = _diagnosis(_traces(entries))
    assert diagnosis.dumps.older == ()
    assert [(each.kind, each.missing) for each in diagnosis.problems] == [("not_entered", (1,))]


def test_dumps_of_a_running_job_are_of_several_moments() -> None:
    diagnosis, answer = _diagnosis(_traces({rank: _calls(9 + rank, 9 + rank) for rank in range(4)}))
    assert (diagnosis.dumps.older, diagnosis.problems) == ((), [])
    assert "older" not in answer


@pytest.mark.parametrize("begins", [1, 200])
def test_a_buffer_that_begins_after_the_call_says_nothing_about_it(begins: int) -> None:
    """Rank 2's buffer holds calls of the other group alone, from before or after the hang."""
    entries = {rank: _calls(10, 9) for rank in range(4)}
    entries[2] = [
        entry(
            1000 + number,
            pg_id=1,
            process_group=("1", "dp"),
            collective_seq_id=500 + number,
            time_created_ns=START_NS + (begins + number) * 1_000_000,
        )
        for number in range(20)
    ]
    diagnosis, answer = _diagnosis(_traces(entries))
    (problem,) = diagnosis.problems
    if begins == 1:  # the call would be in it
        assert (problem.kind, problem.missing) == ("not_entered", (2,))
    else:
        assert (problem.kind, problem.missing, problem.no_dump) == ("no_dump", (), (2,))
        assert "What rank 2 called then is not in the dump" in answer


def test_a_cut_dump_says_nothing_about_later_calls() -> None:
    traces = _traces({rank: _calls(10, 9) for rank in range(4)})
    content = {"pg_config": dump([], GROUPS)["pg_config"], "entries": _calls(10, 9)}
    data = pickle.dumps(content, 2)
    cut = data[: int(len(data) * 0.8)]
    traces["r3"] = build_trace(import_source(Source("fr_trace_rank_3", [cut])))
    diagnosis, answer = _diagnosis(traces)
    assert [(each.kind, each.missing, each.no_dump) for each in diagnosis.problems] == [
        ("no_dump", (), (3,))
    ]
    assert "never called" not in answer
