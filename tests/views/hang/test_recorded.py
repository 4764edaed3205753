"""The verdict on hangs of real programs (``bench/programs/hangs.py``), in torch's own dumps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.helpers.flight_dumps import dump, entry, open_dump, open_folder
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.view import SPEC, hang

HANGS = Path(__file__).parents[2] / "data" / "hangs"
STEP = "at /home/me/run.py"


def traces_of(case: str, folder: Path) -> dict[str, Trace]:
    """The dumps, as if they were written 40 s after the last call."""
    shutil.copytree(HANGS / case, folder, dirs_exist_ok=True)
    traces = open_folder(folder)
    last = max(
        max(trace.side["flight_entries"].frame["created_ns"].to_list()) for trace in traces.values()
    )
    for path in folder.iterdir():
        os.utime(path, ns=(last + 40 * 10**9, last + 40 * 10**9))
    return open_folder(folder)


VERDICTS = {
    "sleep": "Rank 2 never called all_reduce #4 of the group of all ranks (3 of 4 ranks wait in it "
    "for 40.0 s); the last call of rank 2 was all_gather #6 of group back at "
    "/home/me/run.py:69 step.",
    "skip": "Rank 1 called all_gather as #4 of the group of all ranks, where the other 3 ranks "
    "called all_reduce; they wait for 40.0 s.",
    "shapes": "Rank 3 called all_reduce #4 of the group of all ranks with other sizes ([[12]] "
    "Float) than the other 3 ranks ([[16]] Float); they wait for",
    "die": "Rank 0 has no dump: it died, or wrote none. Rank 2 waits in all_reduce #4 of the group "
    "of all ranks for 40.0 s, and every other member with a dump called it.",
    "order": "Deadlock, calls in another order: ranks 1-3 wait in all_reduce #4 of the group of "
    "all ranks for rank 0, while rank 0 waits in all_reduce #7 of group front for rank 1.",
    "subgroup": "Rank 3 never called all_gather #7 of group back (1 of 2 ranks waits in it for "
    "40.0 s); the last call of rank 3 was all_gather #6 of group back at /home/me/run.py:69 step. "
    "1 other group hangs as a consequence.",
    "none": "No rank waits in a collective: every call in the dumps of 4 ranks is completed. The "
    "last one that all members of the group of all ranks completed is #5.",
}


@pytest.mark.parametrize("case", VERDICTS)
def test_the_verdict_is_what_was_planted(case: str, tmp_path: Path) -> None:
    answer = hang(traces_of(case, tmp_path), Selection()).answer
    assert answer is not None
    assert answer.startswith(VERDICTS[case])


def test_tables_show_each_rank_and_the_calls_that_do_not_fit(tmp_path: Path) -> None:
    view = hang(traces_of("skip", tmp_path), Selection())
    ranks = view.tables["hang_ranks"].frame
    assert ranks.select("rank", "operation", "state", "fits").rows() == [
        (1, "gloo:all_gather", "scheduled", False),
        (0, "gloo:all_reduce", "scheduled", True),
        (2, "gloo:all_reduce", "scheduled", True),
        (3, "gloo:all_reduce", "scheduled", True),
    ]
    calls = view.tables["hang_collectives"].frame.filter("is_hang")
    assert calls.sort("ranks").select("operation", "input_sizes", "ranks").rows() == [
        ("gloo:all_reduce", "[[16]]", "0, 2-3"),
        ("gloo:all_gather", "[[5]]", "1"),
    ]
    groups = view.tables["hang_groups"].frame
    assert groups.select("group", "last_completed", "sequence", "blocking_ranks").rows() == [
        ("all ranks", 3, 4, "1"),
        ("front", 6, None, None),
        ("back", 6, None, None),
    ]


def test_without_the_time_of_the_files_a_wait_is_a_lower_bound(tmp_path: Path) -> None:
    shutil.copytree(HANGS / "sleep", tmp_path, dirs_exist_ok=True)
    for path in tmp_path.iterdir():
        os.utime(path, ns=(2_000_000_000 * 10**9, 2_000_000_000 * 10**9))
    view = hang(open_folder(tmp_path), Selection())
    assert view.answer is not None
    assert "3 of 4 ranks wait in it)" in view.answer
    assert "hang_time_unknown" in [note.code for note in view.notes]


def test_a_missing_dump_leaves_open_what_it_must(tmp_path: Path) -> None:
    traces = traces_of("sleep", tmp_path)
    del traces["fr_trace_rank_0"]
    view = hang(traces, Selection())
    assert view.answer is not None
    assert view.answer.startswith("Rank 2 never called all_reduce #4")
    assert view.answer.endswith(
        "Rank 0 has no dump: it died, or wrote none. Whether it holds the group up too is open."
    )
    (note,) = (note for note in view.notes if note.code == "hang_dumps_missing")
    assert note.evidence == {"ranks": [0]}


def test_a_run_without_dumps_says_how_to_get_them(tmp_path: Path) -> None:
    """Also where workers are not open yet: else every job of several ranks would offer the view."""
    assert SPEC.missing_in_run is not None
    reason = SPEC.missing_in_run({"rank0": None, "rank1": None})
    assert reason is not None
    assert "TORCH_NCCL_DUMP_ON_TIMEOUT=1" in reason
    assert SPEC.missing_in_run({"rank0": None, **traces_of("skip", tmp_path)}) is None


def test_a_rank_of_millions_in_a_file_name_is_no_job_of_millions() -> None:
    trace = open_dump(dump([entry(1, state="scheduled")], {"0": ("default_pg", [])}), 9_999_999)
    view = hang({"rank": trace}, Selection())
    assert view.answer is not None
    assert view.answer.startswith("All members with a dump called all_reduce #1")
    assert view.tables["hang_ranks"].frame["rank"].to_list() == [9_999_999]


def test_a_rank_that_skipped_an_equal_call_before_is_named() -> None:
    places = (10, 20, 30, 40, 50, 60)
    members = {"0": ("default_pg", [0, 1, 2])}
    traces = {}
    for rank in (0, 1, 2):
        own = [line for line in places if (rank, line) != (1, 40)]
        entries = [
            entry(
                number,
                collective_seq_id=number + 1,
                frames=[{"name": "step", "filename": "train.py", "line": line}],
                state="completed" if number < len(places) - 1 else "started",
            )
            for number, line in enumerate(own)
        ]
        traces[f"rank{rank}"] = open_dump(dump(entries, members), rank)
    answer = hang(traces, Selection()).answer
    assert answer is not None
    assert answer.startswith("Rank 1 never called all_reduce #6 of the group of all ranks")
    assert (
        "Rank 1 skipped a call at or before #4 of the group of all ranks: from there on, the "
        "stacks are those of the next call on the other ranks." in answer
    )
