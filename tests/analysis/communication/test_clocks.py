"""Clocks of workers: a mesh by hand, pipelines by their transfers, and workers apart."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import Event, annotation, trace
from torch_tb_profiler.analysis.communication.clocks import clock_offsets
from torch_tb_profiler.trace.model import Trace

SHIFT = (0, 5000, -700, 20_000)
"""How far the clock of each rank is ahead of that of rank 0, in µs."""


def workers(events: dict[int, list[Event]]) -> dict[str, Trace]:
    """Moves the events of every rank to its clock."""
    return {
        str(rank): trace(
            [{**event, "ts": event["ts"] + 10**6 + SHIFT[rank]} for event in own],
            distributedInfo={"rank": rank, "world_size": len(events)},
        )
        for rank, own in events.items()
    }


def absolute(traces: dict[str, Trace], reference: str = "0") -> dict[str, tuple[int, int]]:
    """Offset between absolute times, in µs, and the hops."""
    base_ns = traces[reference].meta.base_ns
    return {
        worker: (round((each.offset_ns + base_ns - traces[worker].meta.base_ns) / 1000), each.hops)
        for worker, each in clock_offsets(traces, reference).items()
    }


def test_ranks_of_a_mesh_are_aligned_through_those_between_them() -> None:
    groups = {"tp0": (0, 1), "tp1": (2, 3), "dp0": (0, 2), "dp1": (1, 3)}
    events: dict[int, list[Event]] = {rank: [] for rank in range(4)}
    for number in range(3):
        for index, (name, ranks) in enumerate(groups.items()):
            for rank in ranks:
                meta = {"Process Group Name": name, "Process Group Ranks": str(list(ranks))}
                begin = 1000 * number + 100 * index + rank
                end = 1000 * number + 100 * index + 50
                call: dict[str, Any] = {"Collective name": "allreduce", "Seq": number, **meta}
                events[rank].append(annotation("gloo:all_reduce", begin, end - begin, **call))
    assert absolute(workers(events)) == {
        "0": (0, 0),
        "1": (-5000, 1),
        "2": (700, 1),
        "3": (-20_000, 2),
    }


def test_stages_of_a_pipeline_are_bounded_by_their_transfers() -> None:
    """Data goes both ways; a receive waits, so its end is the send's, but for the one that the
    sender ended early: it was buffered."""
    events: dict[int, list[Event]] = {0: [], 1: []}
    for number in range(5):
        at = 100 * number
        events[0].append(annotation("gloo:send 0->1", at, 10))
        events[1].append(annotation("gloo:recv 1<-0", at - 40, 50 if number else 80))
        events[1].append(annotation("gloo:send 1->0", at + 50, 10))
        events[0].append(annotation("gloo:recv 0<-1", at + 20, 40))
    traces = workers(events)
    assert absolute(traces) == {"0": (0, 0), "1": (-5000, 1)}
    clock = clock_offsets(traces, "0")["1"]
    assert clock.collectives == 10
    # Rank 0 begins to send 10 µs before rank 1 has received, and the other way round.
    assert clock.uncertainty_ns is not None
    assert 10_000 <= clock.uncertainty_ns < 11_000


def test_workers_that_nothing_connects_have_no_offset() -> None:
    alone = workers({rank: [annotation("gloo:all_reduce", 0, 10)] for rank in range(1)})
    other = trace([annotation("aten::mm", 0, 5)], distributedInfo={"rank": 1, "world_size": 2})
    assert sorted(clock_offsets({**alone, "1": other}, "0")) == ["0"]
