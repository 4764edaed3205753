"""Matching when a recording lost calls: by sequence, by Comms Id, by time; and what stays open."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from tests.helpers.traces import Event, annotation, step, trace
from tests.views.run_views import rows, view
from torch_tb_profiler.analysis.communication.matching import AMBIGUOUS, NO_PARTNER, match
from torch_tb_profiler.trace.model import Trace

RANKS = "[0, 1, 2, 3]"
STARTS = (0, 30, 10, 20)
"""When each rank enters a collective, in µs after the first."""
ENDS = (200, 1000, 2500, 3100)
"""When the collectives end, all of 60 µs from the first that enters."""
LOST = 1
"""The collective that rank 3 lost."""


def called(at: float, dur: float, number: int, **more: Any) -> Event:
    return annotation(
        "gloo:all_reduce",
        at,
        dur,
        **{
            "Collective name": "allreduce",
            "Process Group Name": "0",
            "Process Group Ranks": RANKS,
            "Group size": 4,
            "In msg nelems": 1024,
            "dtype": "Float",
            **more,
        },
    )


def four_ranks(*numbers: str, steps: bool = False) -> dict[str, Trace]:
    """Four ranks with clocks 1 s apart; rank 3 lost the second of four collectives."""
    traces = {}
    for rank in range(4):
        shift = 1e6 * rank
        events = []
        for index, end in enumerate(ENDS):
            if (rank, index) == (3, LOST):
                continue
            known = {"Seq": index + 1, "Comms Id": 2**64 - 5 - index}
            begin = end - 60 + STARTS[rank]
            events.append(
                called(
                    shift + begin,
                    end - begin,
                    index,
                    **{name: value for name, value in known.items() if name in numbers},
                )
            )
        if steps:
            events += [step(n, shift + at, 900) for n, at in ((1, 0), (2, 2300))]
        info = {"rank": rank, "world_size": 4}
        traces[f"rank{rank}"] = trace(events, distributedInfo=info)
    return traces


@pytest.mark.parametrize("numbers", [("Seq",), ("Comms Id",), ("Seq", "Comms Id")])
def test_a_lost_call_shifts_nothing_where_calls_have_numbers(numbers: tuple[str, ...]) -> None:
    """Rank 1 enters last (30 µs before the end), so every collective moves data for 30 µs."""
    result = view(four_ranks(*numbers))
    wait = dict(rows(result, "wait", "worker", "wait_us", step="0"))
    transfer = dict(rows(result, "wait", "worker", "transfer_us", step="0"))
    assert transfer == {"rank0": 120, "rank1": 120, "rank2": 120, "rank3": 90}
    assert wait == {"rank0": 120, "rank1": 0, "rank2": 80, "rank3": 30}
    assert [note.code for note in result.notes] == ["collective_call_lost"]
    assert result.notes[0].evidence == {"count": 3}


def test_without_numbers_time_says_which_call_was_lost() -> None:
    """In step 1 rank 3 has one of two calls; those of step 2 say how the clocks differ."""
    traces = four_ranks(steps=True)
    matching = match(traces)
    lost = matching.calls.filter(pl.col("members") == 3)
    assert lost.select("worker", "start_ns").rows() == [
        (rank, 1000 * (1_000_000 * rank + ENDS[LOST] - 60 + STARTS[rank])) for rank in range(3)
    ]
    assert matching.calls.filter(pl.col("match").is_null()).is_empty()


def test_what_no_clock_decides_stays_open() -> None:
    """One step and nothing else in common: which of equal calls was lost is not recorded."""
    calls = match(four_ranks()).calls
    assert calls["match"].null_count() == calls.height == 15
    assert set(calls["unmatched_reason"]) == {AMBIGUOUS}


def test_a_call_that_all_others_lost_has_no_partner() -> None:
    events = [called(1000.0 * n, 50, n, Seq=n) for n in (1, 2)]
    traces = {
        str(rank): trace(events[: 2 - rank], distributedInfo={"rank": rank, "world_size": 2})
        for rank in range(2)
    }
    calls = match(traces).calls.filter(pl.col("match").is_null())
    assert calls.select("sequence", "unmatched_reason").rows() == [(2, NO_PARTNER)]


def sent(name: str, at: float, number: int, **more: Any) -> Event:
    return annotation(f"nccl:{name}", at, 10, **{"Process Group Name": "0", "Seq": number, **more})


def test_sends_and_receives_do_not_meet_by_numbers_that_each_rank_counts_for_itself() -> None:
    """Rank 1 of a pipeline receives and sends: its second exchange is the first of rank 2."""
    first = [sent("send 0->1", 100.0 * n, n + 1) for n in range(3)]
    middle = [
        event
        for n in range(3)
        for event in (
            sent("recv 1<-0", 100.0 * n, 2 * n + 1),
            sent("send 1->2", 100.0 * n + 50, 2 * n + 2),
        )
    ]
    last = [sent("recv 2<-1", 100.0 * n + 50, n + 1) for n in range(3)]
    traces = {
        str(rank): trace(events, distributedInfo={"rank": rank, "world_size": 3})
        for rank, events in enumerate((first, middle, last))
    }
    calls = match(traces).calls
    assert calls["match"].null_count() == 0
    spans = calls.group_by("match").agg(pl.col("start_ns").n_unique(), pl.col("pair").n_unique())
    assert set(spans.select("start_ns", "pair").rows()) == {(1, 1)}


def test_random_jobs_with_lost_calls_meet_as_they_were_made() -> None:
    """Groups of a mesh, calls of random kinds and sizes, one in fifteen lost: by numbers all meet,
    by time those that meet are right, and most do."""
    resolved = total = 0
    for seed in range(12):
        source = random.Random(seed)
        truth, traces = random_job(source, numbers=("Seq", "Comms Id")[seed % 3 : seed % 3 + 1])
        matching = match(traces)
        calls = matching.calls.with_columns(
            truth=pl.Series(
                [
                    truth[matching.workers[worker], start]
                    for worker, start in matching.calls.select("worker", "start_ns").iter_rows()
                ]
            )
        )
        met = calls.filter(pl.col("match").is_not_null())
        assert met.group_by("match").agg(pl.col("truth").n_unique())["truth"].to_list() == [1] * (
            met["match"].n_unique()
        )
        assert met.group_by("truth").agg(pl.col("match").n_unique())["match"].max() == 1
        alone = calls.filter(pl.len().over("truth") == 1)
        expected = calls.height - alone.height
        if seed % 3 < 2:
            assert met.height == expected
        else:
            resolved, total = resolved + met.height, total + expected
    assert resolved > 0.95 * total, (resolved, total)


def random_job(
    source: random.Random, numbers: tuple[str, ...]
) -> tuple[dict[tuple[str, int], int], dict[str, Trace]]:
    """A job of 2 × 3 ranks: rows, columns and all; ends within 2 µs of each other."""
    groups = {"tp0": (0, 1, 2), "tp1": (3, 4, 5), "dp0": (0, 3), "dp1": (1, 4), "dp2": (2, 5)}
    groups["world"] = (0, 1, 2, 3, 4, 5)
    shift = [source.randint(0, 10**9) for _ in range(6)]
    events: list[list[Event]] = [[] for _ in range(6)]
    truth: dict[tuple[str, int], int] = {}
    counts = dict.fromkeys(groups, 0)
    now = 0
    for number in range(120):
        name = source.choice(list(groups))
        counts[name] += 1
        kind = source.choice(["allreduce", "allgather"])
        nelems = source.choice([64, 256])
        now += source.randint(50, 400)
        end = now + 90
        for rank in groups[name]:
            begin = now + source.randint(0, 40) + shift[rank]
            over = end + source.randint(-1, 1) + shift[rank]
            if source.random() < 1 / 15:
                continue
            known = {
                "Seq": counts[name],
                "Comms Id": 2**63 + 1000 * list(groups).index(name) + counts[name],
            }
            meta = {
                "Collective name": kind,
                "Process Group Name": name,
                "Process Group Ranks": str(list(groups[name])),
                "Group size": len(groups[name]),
                "In msg nelems": nelems,
                "dtype": "Float",
                **{key: known[key] for key in numbers},
            }
            truth[f"rank{rank}", 1000 * begin] = number
            events[rank].append(annotation(f"gloo:{kind}", begin, over - begin, tid=name, **meta))
    traces = {}
    for rank, own in enumerate(events):
        steps = [step(n, shift[rank] + n * now / 4, now / 4) for n in range(4)]
        info = {"rank": rank, "world_size": 6}
        traces[f"rank{rank}"] = trace([*steps, *own], distributedInfo=info)
    return truth, traces
