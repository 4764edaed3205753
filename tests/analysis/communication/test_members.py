"""How many members of a group are loaded: long lists that recorders cut, nodes that count from 0,
and what the notes and reasons say of it."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import annotation, trace
from tests.views.run_views import view
from torch_tb_profiler.analysis.communication.matching import NO_PARTNER, OTHERS_ABSENT, match
from torch_tb_profiler.trace.model import Trace


def worker(rank: int | None, ranks: str, size: int, *sequences: int, **info: Any) -> Trace:
    given = {
        "Collective name": "allreduce",
        "Process Group Name": "0",
        "Process Group Ranks": ranks,
        "Group size": size,
    }
    events = [annotation("gloo:all_reduce", 100.0 * n, 10, Seq=n, **given) for n in sequences]
    known = {} if rank is None else {"rank": rank}
    return trace(events, distributedInfo={**known, **info})


CUT = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, ...]"  # noqa: E501


def loaded(traces: dict[str, Trace]) -> set[int | None]:
    return set(match(traces).calls["loaded"])


def test_a_list_that_the_recorder_cut_is_whole_in_the_header() -> None:
    config = [{"pg_name": "0", "pg_size": 40, "ranks": list(range(40))}]
    two = {str(rank): worker(rank, CUT, 40, 1, pg_config=config) for rank in (0, 35)}
    assert loaded(two) == {2}
    assert loaded({str(rank): worker(rank, CUT, 40, 1) for rank in (0, 35)}) == {None}


def test_a_group_of_the_whole_job_has_all_ranks() -> None:
    two = {str(rank): worker(rank, CUT, 40, 1, world_size=40) for rank in (0, 35)}
    assert loaded(two) == {2}
    assert "collective_partial" in [note.code for note in view(two).notes]


def test_ranks_that_nodes_count_from_0_name_no_worker() -> None:
    """Two nodes of two: the group of ranks 2 and 3 is the second node, whose files say 0 and 1."""
    traces = {
        f"node{node}.{rank}": worker(rank, f"[{2 * node}, {2 * node + 1}]", 2, *calls, world_size=2)
        for node in range(2)
        for rank, calls in enumerate(((1, 2), (1,)))
    }
    lost = match(traces).calls.filter(sequence=2)
    assert lost["unmatched_reason"].to_list() == [NO_PARTNER] * 2


def test_a_lost_call_is_no_missing_recording() -> None:
    ranks = "[0, 1, 2]"
    traces = {
        str(rank): worker(rank, ranks, 3, *((1, 2) if rank else (1,)), world_size=3)
        for rank in range(3)
    }
    notes = {note.code: note for note in view(traces).notes}
    assert notes["collective_call_lost"].evidence == {"count": 2}
    assert "collective_partial" not in notes
    del traces["2"]
    notes = {note.code: note for note in view(traces).notes}
    assert notes["collective_partial"].evidence == {"count": 2}


def test_a_call_of_one_loaded_member_says_that_the_others_are_absent() -> None:
    traces = {
        "0": worker(0, "[0, 1]", 2, 1, world_size=4),
        "3": worker(3, "[2, 3]", 2, 1, world_size=4),
    }
    assert match(traces).calls["unmatched_reason"].to_list() == [OTHERS_ABSENT] * 2
