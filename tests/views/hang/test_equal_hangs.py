"""Equal hangs of several groups are one row; nothing of the table of groups is lost in it."""

from __future__ import annotations

import pytest

from tests.helpers.flight_dumps import FAULTS, dump, entry, open_dump, open_job, planted
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.view import hang

SHARED = ("operation", "sequence", "problem", "is_root")


def mesh() -> dict[str, Trace]:
    """Ranks 0 to 3 are one tensor-parallel group, in which rank 3 makes another call; each of them
    and the rank four after it shard the data, and wait for that group to end."""
    members = {"1": ("tp", [0, 1, 2, 3]), **{str(2 + n): ("dp", [n, n + 4]) for n in range(4)}}
    traces = {}
    for rank in range(8):
        gathers = entry(
            0,
            process_group=("1", "tp"),
            profiling_name="nccl:all_reduce" if rank == 3 else "nccl:all_gather",
            state="started",
        )
        scatters = entry(
            1,
            process_group=(str(2 + rank % 4), "dp"),
            profiling_name="nccl:reduce_scatter",
            state="scheduled" if rank < 4 else "started",
        )
        entries = [gathers, scatters] if rank < 4 else [scatters]
        traces[f"rank{rank}"] = open_dump(dump(entries, members), rank)
    return traces


def test_groups_that_wait_for_the_same_are_one_row() -> None:
    view = hang(mesh(), Selection())
    hangs = view.tables["hangs"].frame
    assert hangs.select("group_count", "group", "waiting_ranks", "held_by").rows() == [
        (1, "tp", "0-3", None),
        (4, "dp", "0-7", "tp"),
    ]
    assert view.tables["hang_groups"].frame.height == 5
    assert view.answer is not None
    assert view.answer.endswith("4 other groups hang as a consequence.")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(5))
def test_each_hanging_group_is_in_one_row(seed: int, fault: str) -> None:
    view = hang(open_job(planted(seed, fault)), Selection())
    hangs, groups = (view.tables[name].frame for name in ("hangs", "hang_groups"))
    waiting = groups.drop_nulls("problem")
    assert hangs["group_count"].sum() == waiting.height
    assert set(hangs.select(SHARED).rows()) == set(waiting.select(SHARED).rows())


def test_a_rank_without_a_dump_holds_up_all_its_groups() -> None:
    traces = mesh()
    del traces["rank3"]
    answer = hang(traces, Selection()).answer
    assert answer is not None
    assert "another cause" not in answer
