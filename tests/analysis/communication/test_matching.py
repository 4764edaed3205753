"""The distributed view on made-up runs: matching by sequence, size, step and order; differing
counts; point to point; groups of one; absent ranks; selections; stragglers; bandwidths by hand;
and random runs against a moment-by-moment reference."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from tests.views.run_views import FLOAT, OVERLAP, rows, view
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.schema import View


def collective(
    name: str, at: float, dur: float, *, size: int = 10, tid: int = 2, **meta: Any
) -> Event:
    return annotation(f"gloo:{name}", at, dur, tid=tid, shape=[[size]], **FLOAT, **meta)


def described(at: float, dur: float, sequence: int, group: str, ranks: str, **more: Any) -> Event:
    return annotation(
        "gloo:all_reduce",
        at,
        dur,
        **{
            "Collective name": "allreduce",
            "Process Group Name": group,
            "Process Group Ranks": ranks,
            "Group size": ranks.count(",") + 1,
            "Seq": sequence,
            **more,
        },
    )


def transfers(result: View) -> dict[str, float | None]:
    return dict(rows(result, "wait", "worker", "transfer_us", step="0"))


def test_sequence_numbers_match_calls_in_different_order() -> None:
    result = view(
        {
            "a": trace([described(0, 10, 1, "0", "[0, 1]"), described(20, 7, 2, "0", "[0, 1]")]),
            "b": trace([described(0, 4, 2, "0", "[0, 1]"), described(20, 5, 1, "0", "[0, 1]")]),
        }
    )
    assert transfers(result) == {"a": 9, "b": 9}


def test_a_first_call_only_one_worker_recorded_does_not_shift_the_others() -> None:
    result = view(
        {
            "a": trace([described(0, 50, 1, "0", "[0, 1]"), described(60, 7, 2, "0", "[0, 1]")]),
            "b": trace([described(0, 3, 2, "0", "[0, 1]")], distributedInfo={"rank": 1}),
        }
    )
    assert transfers(result) == {"a": 3, "b": 3}
    assert rows(result, "unmatched", "worker", "sequence", "duration_us", "reason") == [
        ("a", 1, 50, "no other worker has this call")
    ]
    assert [note.code for note in result.notes] == ["collective_unmatched"]


def test_groups_of_the_same_name_with_other_ranks_do_not_match() -> None:
    result = view(
        {
            "a": trace([described(0, 50, 1, "tp", "[0, 1]")], distributedInfo={"rank": 0}),
            "b": trace([described(0, 3, 1, "tp", "[2, 3]")], distributedInfo={"rank": 2}),
        }
    )
    assert transfers(result) == {"a": None, "b": None}
    assert (
        rows(result, "unmatched", "reason")
        == [("the other members are not among the workers of this run",)] * 2
    )


def test_without_sequence_numbers_sizes_separate_concurrent_calls() -> None:
    first = [collective("broadcast", 0, 10, size=5), collective("broadcast", 1, 30, size=9, tid=3)]
    second = [collective("broadcast", 0, 20, size=9), collective("broadcast", 1, 6, size=5, tid=3)]
    result = view({"a": trace(first), "b": trace(second)})
    assert (
        rows(result, "stragglers", "worker", "arrived_last", "delay_us")
        == [
            ("a", 0, 0.0),
            ("b", 2, 14.0),
        ][::-1]
    )


def test_a_step_more_on_one_worker_leaves_the_others_matched() -> None:
    def worker(*steps: int) -> Trace:
        events: list[Event] = []
        for number in steps:
            events.append(step(number, 100 * number, 100))
            events.append(collective("all_to_all", 100 * number + 10, 10 * number, size=number))
        return trace(events)

    result = view({"a": worker(1, 2), "b": worker(2, 3)})
    wait = result.tables["wait"].frame
    assert wait.filter(pl.col("transfer_us").is_not_null() & (pl.col("step") != "all")).select(
        "step", "worker", "transfer_us", "wait_us"
    ).rows() == [("2", "a", 20, 0), ("2", "b", 20, 0)]
    assert rows(result, "unmatched", "worker", "step") == [("a", "1"), ("b", "3")]


@pytest.mark.parametrize("name", ["all_reduce", "all_to_all"])  # with and without sizes in the key
def test_a_call_missing_on_one_worker_does_not_shift_those_of_later_steps(name: str) -> None:
    """Equal steps, a call per step, but for step 1 of the second worker."""

    def worker(*numbers: int) -> Trace:
        steps = [step(number, 100 * number, 100) for number in (1, 2)]
        return trace([*steps, *[collective(name, 100 * n + 10, 10 * n) for n in numbers]])

    result = view({"a": worker(1, 2), "b": worker(2)})
    wait = result.tables["wait"].frame.filter(pl.col("step") == "2")
    assert wait.select("worker", "transfer_us").rows() == [("a", 20), ("b", 20)]
    assert rows(result, "unmatched", "worker", "step") == [("a", "1")]


def test_the_last_match_is_cached_for_the_same_workers_only() -> None:
    traces = {name: trace([described(0, 5, 1, "0", "[0, 1]")]) for name in ("a", "b")}
    first = match(traces)
    assert match(dict(traces)) is first
    renamed = match({"c": traces["a"], "b": traces["b"]})
    assert sorted(renamed.workers) == ["b", "c"]
    assert match({"a": traces["a"]}).workers == ["a"]


def test_a_call_of_one_of_three_workers_has_no_partner() -> None:
    first = [described(0, 5, 1, "0", "[0, 1, 2]"), described(20, 5, 2, "0", "[0, 1, 2]")]
    workers = {
        name: trace(first[: 2 if rank == 0 else 1], distributedInfo={"rank": rank, "world_size": 3})
        for rank, name in enumerate("abc")
    }
    assert rows(view(workers), "unmatched", "worker", "reason") == [
        ("a", "no other worker has this call")
    ]


def test_the_size_of_a_gather_is_the_whole_output_of_all_ranks() -> None:
    def sizes(name: str) -> list[int | None]:
        workers = {
            str(rank): trace(
                [collective(name, 0, 5)], distributedInfo={"rank": rank, "world_size": 2}
            )
            for rank in range(2)
        }
        calls = match(workers).calls
        assert calls["group_size"].to_list() == [2, 2]
        return calls["size_bytes"].to_list()

    assert sizes("all_gather") == [80, 80]
    assert sizes("all_reduce") == [40, 40]


def test_the_group_of_a_job_of_one_rank_is_that_rank() -> None:
    alone = {"a": trace([collective("all_reduce", 0, 5)], distributedInfo={"world_size": 1})}
    assert match(alone).calls["group_size"].to_list() == [1]
    of_two = {"a": trace([collective("all_reduce", 0, 5)], distributedInfo={"world_size": 2})}
    assert match(of_two).calls["group_size"].to_list() == [None]


def test_sends_match_their_receives_and_unknown_peers_match_nothing() -> None:
    first = [annotation("gloo:send 0->1", 0, 20), annotation("gloo:send", 100, 5)]
    second = [annotation("gloo:recv 1<-0", 0, 8), annotation("gloo:send", 100, 5)]
    result = view({"a": trace(first), "b": trace(second)})
    assert transfers(result) == {"a": 8, "b": 8}
    assert (
        rows(result, "unmatched", "name", "reason")
        == [("gloo:send", "the recording does not say which rank it was exchanged with")] * 2
    )


def test_a_worker_whose_kernels_are_missing_gives_no_transfer_of_its_own() -> None:
    def worker(*, recorded: bool) -> Trace:
        events = [
            annotation("nccl:all_reduce", 0, 10),
            call("cudaLaunchKernel", 2, 2, corr=5),
            kernel("ncclDevKernel_AllReduce(x)", 30, 5, corr=5),
            annotation("nccl:broadcast", 40, 10),
        ]
        if recorded:
            events += [
                call("cudaLaunchKernel", 42, 2, corr=6),
                kernel("ncclDevKernel_Broadcast(x)", 60, 9, corr=6),
            ]
        return trace(events)

    result = view({"a": worker(recorded=True), "b": worker(recorded=False)})
    broadcasts = rows(
        result,
        "collectives",
        "worker",
        "total_us",
        "transfer_us",
        "untimed_calls",
        name="nccl:broadcast",
    )
    assert sorted(broadcasts) == [("a", 9, None, 0), ("b", None, None, 1)]


def test_calls_with_other_numbers_of_kernels_compare_as_a_whole() -> None:
    def worker(*kernels: tuple[float, float]) -> Trace:
        events = [annotation("nccl:all_to_all", 0, 10)]
        for number, (start, dur) in enumerate(kernels, 5):
            events.append(call("cudaLaunchKernel", 2, 1, corr=number))
            events.append(kernel("ncclDevKernel_SendRecv(x)", start, dur, corr=number))
        return trace(events)

    result = view({"a": worker((20, 5), (30, 5)), "b": worker((20, 9))})
    collectives = rows(result, "collectives", "worker", "total_us", "transfer_us")
    assert sorted(collectives) == [("a", 15, 9), ("b", 9, 9)]


def test_a_group_of_one_waits_for_nobody() -> None:
    result = view({"w": trace([described(0, 10, 1, "0", "[0]")])})
    assert rows(result, "wait", "transfer_us", "wait_us", step="0") == [(10, 0)]
    assert result.notes == ()


def test_absent_ranks_of_a_group_are_reported() -> None:
    result = view({name: trace([described(0, 10, 1, "0", "[0, 1, 2, 3]")]) for name in ("a", "b")})
    assert transfers(result) == {"a": 10, "b": 10}
    assert [note.code for note in result.notes] == ["collective_partial"]


def test_a_worker_that_never_communicates_is_part_of_the_run() -> None:
    """It neither vanishes nor loosens how the others match."""
    busy = trace([step(9, 0, 100), op("aten::mm", 10, 40)])
    pair = {name: stepped(name, 0, 200) for name in ("a", "b")}
    result = view({**pair, "idle": busy})
    assert rows(result, "overlap", *OVERLAP, worker="idle", step="9") == [(40, 0, 0, 60)]
    assert rows(result, "stragglers", "collectives", worker="idle") == [(0,)]
    alone = view(pair)
    for table in ("wait", "collectives", "unmatched"):
        assert result.tables[table].frame.equals(alone.tables[table].frame)


def test_the_only_group_of_those_who_call_counts() -> None:
    info = {"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2}]}
    events = [collective("all_reduce", 0, 10)]
    callers = {name: trace(events, distributedInfo=info) for name in ("a", "b")}
    result = view({**callers, "idle": trace([op("aten::mm", 0, 10)])})
    assert {group for (group,) in rows(result, "collectives", "group")} == {"0 (default_pg)"}


def stepped(name: str, *starts: float) -> Trace:
    del name
    events: list[Event] = []
    for number, start in enumerate(starts, 1):
        events += [step(number, start, 100), collective("all_reduce", start + 10, 10 * number)]
    return trace(events)


def test_a_selection_of_steps_keeps_what_was_matched_over_all() -> None:
    traces = {"a": stepped("a", 0, 200), "b": stepped("b", 0, 200)}
    result = view(traces, Selection(steps="2"))
    assert rows(result, "overlap", "step", "worker", "communication_us") == [
        ("all", "a", 20),
        ("all", "b", 20),
        ("2", "a", 20),
        ("2", "b", 20),
    ]
    assert rows(result, "collectives", "worker", "calls", "total_us") == [
        ("a", 1, 20),
        ("b", 1, 20),
    ]


def test_all_is_the_mean_over_steps() -> None:
    result = view({"a": stepped("a", 0, 200), "b": stepped("b", 0, 200)})
    assert rows(result, "overlap", "communication_us", "other_us", step="all") == [(15, 85)] * 2
    assert rows(result, "wait", "transfer_us", "wait_us", step="all") == [(15, 0)] * 2


def test_a_time_range_cuts_steps_and_keeps_calls_that_begin_in_it() -> None:
    result = view({"a": stepped("a", 0, 200)}, Selection(start_ns=205_000, end_ns=215_000))
    assert rows(result, "overlap", "communication_us", "other_us", step="2") == [(5, 5)]
    assert rows(result, "collectives", "calls") == [(1,)]


def test_a_worker_without_the_step_is_named_and_one_with_it_is_enough() -> None:
    traces = {"a": stepped("a", 0, 200), "b": stepped("b", 0)}
    result = view(traces, Selection(steps="2"))
    assert {row[0] for row in rows(result, "overlap", "worker")} == {"a"}
    assert "step_absent" in [note.code for note in result.notes]
    with pytest.raises(SelectionError, match="no step '9'"):
        distributed(traces, Selection(steps="9"))


SPAN = st.tuples(st.integers(0, 60), st.integers(0, 30))


@examples(60)
@given(
    st.integers(1, 3).flatmap(
        lambda workers: st.lists(
            st.lists(SPAN, min_size=workers, max_size=workers), min_size=1, max_size=5
        )
    ),
    st.lists(SPAN, max_size=4),
)
def test_random_runs_agree_with_counting_moments(
    collectives: list[list[tuple[int, int]]], computing: list[tuple[int, int]]
) -> None:
    """Each collective has one call per worker on a thread of its own, with a sequence number."""
    workers = range(len(collectives[0]))
    ranks = str(list(workers))
    traces = {}
    for worker in workers:
        events = [step(1, 0, 100)]
        for number, spans in enumerate(collectives):
            start, dur = spans[worker]
            events.append(
                described(start, dur, number, "0", ranks, tid=None) | {"tid": 10 + number}
            )
        events += [
            kernel("gemm", start, dur, stream=20 + i) for i, (start, dur) in enumerate(computing)
        ]
        traces[f"w{worker}"] = trace(events)
    result = view(traces)

    def moments(spans: list[tuple[int, int]]) -> set[int]:
        return {moment for start, end in spans for moment in range(start, end)}

    busy = moments([(s, s + d) for s, d in computing])
    for worker in workers:
        own = [spans[worker] for spans in collectives]
        communicating = moments([(s, s + d) for s, d in own])
        if not computing:
            busy = set()
        shortest = [min(d for _, d in spans) for spans in collectives]
        moved = moments([(s + d - m, s + d) for (s, d), m in zip(own, shortest, strict=True)])
        row = result.tables["overlap"].frame.filter(step="1", worker=f"w{worker}").row(0)
        assert row[2:] == (
            len(busy - communicating),
            len(busy & communicating),
            len(communicating - busy),
            100 - len(busy | communicating),
        )
        row = result.tables["wait"].frame.filter(step="1", worker=f"w{worker}").row(0)
        assert row[2:] == (len(moved), len(communicating) - len(moved), 0)
