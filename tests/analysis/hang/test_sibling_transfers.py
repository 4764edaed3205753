"""Pipelines of two stages in which one rank receives where it should send."""

from __future__ import annotations

import pytest

from tests.helpers.flight_dumps import dump, entry, open_dump
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.hang.sibling_transfers import odd_transfers
from torch_tb_profiler.views.hang.verdict import verdict

FIRST = ("send 0->1", "send 0->1", "recv 0<-1", "recv 0<-1")
LAST = ("recv 1<-0", "recv 1<-0", "send 1->0", "send 1->0")
WRONG = ("recv 1<-0", "recv 1<-0", "recv 1<-0")


def job(replicas: int, odd_replica: int) -> HangDiagnosis:
    """Ranks 0, 2, … are first stages, each with the next rank; one last stage is wrong in its third
    transfer, and waits there as its first stage does."""
    members = {str(number): ("pp", [2 * number, 2 * number + 1]) for number in range(replicas)}
    traces = {}
    for rank in range(2 * replicas):
        number = rank // 2
        program: tuple[str, ...] = FIRST if rank % 2 == 0 else LAST
        if number == odd_replica:
            program = FIRST[:3] if rank % 2 == 0 else WRONG
        entries = [
            entry(
                turn,
                process_group=(str(number), "pp"),
                profiling_name=f"nccl:{operation}",
                is_p2p=True,
                collective_seq_id=0,
                p2p_seq_id=turn + 1,
                state="started" if number == odd_replica and turn == 2 else "completed",
            )
            for turn, operation in enumerate(program)
        ]
        traces[f"rank{rank}"] = open_dump(dump(entries, members), rank)
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    return diagnosis


@pytest.mark.parametrize("odd_replica", [0, 1, 2])
def test_the_rank_that_differs_from_its_siblings_is_named(odd_replica: int) -> None:
    diagnosis = job(3, odd_replica)
    (odd,) = odd_transfers(diagnosis.dumps, diagnosis.problems[0].channel)
    assert (odd.rank, odd.sequence, odd.siblings) == (2 * odd_replica + 1, 3, 2)
    assert verdict(diagnosis).startswith(
        f"Rank {2 * odd_replica + 1} called recv 1<-0 as #3 of group pp, where 2 ranks at the same "
        "position in other groups called send 1->0. Deadlock: rank"
    )


def test_without_siblings_it_is_open() -> None:
    diagnosis = job(1, 0)
    assert odd_transfers(diagnosis.dumps, diagnosis.problems[0].channel) == []
    assert verdict(diagnosis).startswith(
        "Which rank skipped or swapped a transfer is open: the dumps do not decide it. Deadlock: "
    )
