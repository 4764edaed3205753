"""Programs in one folder that count their ranks alike are matched separately; what recordings say
decides, and names only where nothing else does."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

from tests.analysis.communication.test_matching import described
from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.trace.model import Trace

GROUP = ("0", "[0, 1]")


def rank(
    number: int | None,
    *calls: tuple[float, float, int],
    group: tuple[str, str] = GROUP,
    base_ns: int = 0,
    host: str | None = None,
    **info: Any,
) -> Trace:
    known = {"backend": "nccl", "rank": number, "world_size": 2} if number is not None else {}
    events = [described(*each, *group) for each in calls]
    head = {"baseTimeNanoseconds": base_ns, "host_name": host, "distributedInfo": known | info}
    return trace(events, **head)


def job(prefix: str = "") -> dict[str, Trace]:
    """Two ranks of rollout and two of training, all with the same group and sequence numbers."""
    return {
        f"{prefix}rollout-rank0": rank(0, (0, 10, 1), (20, 10, 2)),
        f"{prefix}train-rank0": rank(0, (100, 50, 1)),
        f"{prefix}rollout-rank1": rank(1, (5, 5, 1), (25, 5, 2)),
        f"{prefix}train-rank1": rank(1, (120, 30, 1)),
    }


def test_each_program_has_its_own_collectives() -> None:
    matching = match(job())
    assert matching.workers == list(job())
    collectives = matching.calls.group_by("match").agg(pl.col("worker").sort(), pl.len())
    assert sorted(collectives["worker"].to_list()) == [[0, 2], [0, 2], [1, 3]]
    assert matching.calls["unmatched_reason"].null_count() == matching.calls.height
    shortest = matching.ranges.group_by("match").agg(pl.col("transfer_ns").first())
    assert sorted(shortest["transfer_ns"].to_list()) == [5_000, 5_000, 30_000]
    assert matching.calls["worker"].is_sorted()
    assert matching.ranges["worker"].is_sorted()


def test_one_program_where_ranks_differ() -> None:
    traces = job()
    distinct = {name: rank(number, world_size=4) for number, name in enumerate(traces)}
    assert programs(distinct).workers == [list(traces)]
    assert len(programs(traces).workers) == 2


def parted(traces: dict[str, Trace]) -> list[set[str]]:
    """The programs, the same in whatever order the workers are given."""
    known = programs(traces)
    assert known.unassigned == []
    parts = [set(names) for names in known.workers]
    names = list(traces)
    for seed in range(5):
        random.Random(seed).shuffle(names)
        shuffled = programs({name: traces[name] for name in names})
        assert shuffled.unassigned == []
        assert sorted(map(sorted, shuffled.workers)) == sorted(map(sorted, parts))
    return parts


CALLS = ((0, 10, 1), (20, 10, 2))


def test_jobs_of_other_size_or_backend() -> None:
    traces = {
        "a": rank(0, *CALLS),
        "b": rank(1, *CALLS),
        "c": rank(0, *CALLS, world_size=4),
        "d": rank(2, *CALLS, world_size=4),
        "e": rank(1, *CALLS, backend="gloo"),
    }
    assert parted(traces) == [{"a", "b"}, {"c", "d"}, {"e"}]


def test_calls_that_differ_divide_ranks_that_appear_twice() -> None:
    traces = {
        "a": rank(0, *CALLS), "b": rank(1, *CALLS), "c": rank(0, CALLS[0]), "d": rank(1, CALLS[0]),
    }  # fmt: skip
    assert parted(traces) == [{"a", "b"}, {"c", "d"}]


def test_a_rank_with_other_calls_is_of_the_program_that_has_no_such_rank() -> None:
    """The second program records ranks 0 to 2, the first 0 and 1; a call of rank 2 is lost."""
    size: dict[str, Any] = {"world_size": 3, "group": ("0", "[0, 1, 2]")}
    traces = {
        **{f"a{n}": rank(n, *CALLS, **size) for n in range(3)},
        **{f"b{n}": rank(n, *CALLS, (40, 5, 3), **size) for n in range(2)},
        "b2": rank(2, *CALLS[:1], **size),
    }
    assert parted(traces) == [{"a0", "a1", "a2"}, {"b0", "b1", "b2"}]


DAY_NS = 86_400 * 10**9
BASE_NS = 1_795_000_000_000_000_000


def test_attempts_of_a_job_are_not_recorded_at_one_time() -> None:
    first: dict[str, Any] = {"base_ns": BASE_NS}
    second: dict[str, Any] = {"base_ns": BASE_NS + DAY_NS}
    assert parted(
        {
            "x": rank(0, *CALLS, **first), "y": rank(0, *CALLS, **second),
            "z": rank(1, *CALLS, **second), "w": rank(1, *CALLS, **first),
        }
    ) == [{"x", "w"}, {"y", "z"}]  # fmt: skip
    assert parted({"x": rank(0, *CALLS, **first), "z": rank(1, *CALLS, **second)}) == [{"x"}, {"z"}]


def test_clocks_of_machines_may_differ_and_that_of_one_does_not() -> None:
    later = BASE_NS + DAY_NS
    apart = {
        "a": rank(0, *CALLS, base_ns=BASE_NS, host="n0"),
        "b": rank(1, *CALLS, base_ns=later, host="n1"),
    }
    assert parted(apart) == [{"a", "b"}]
    minutes = BASE_NS + 300 * 10**9
    same = {
        "a": rank(0, *CALLS, base_ns=BASE_NS, host="n0"),
        "b": rank(1, *CALLS, base_ns=minutes, host="n0"),
    }
    assert parted(same) == [{"a"}, {"b"}]


def test_a_rank_without_declarations_is_of_the_only_job() -> None:
    lone = rank(None, *CALLS)
    traces = {"a": rank(0, *CALLS), "b": lone}
    assert parted(traces) == [{"a", "b"}]
    traces |= {"c": rank(0, *CALLS, world_size=4, group=("0", "[0, 1, 2, 3]"))}
    assert parted(traces) == [{"a", "b"}, {"c"}]


def test_names_decide_between_equal_jobs_and_else_nothing_does() -> None:
    equal = [rank(number % 2, *CALLS) for number in range(4)]
    names = ("left0", "left1", "right0", "right1")
    assert parted(dict(zip(names, equal, strict=True))) == [
        {"left0", "left1"}, {"right0", "right1"},
    ]  # fmt: skip
    unknown = programs(dict(zip("abcd", equal, strict=True)))
    assert unknown.unassigned == ["b", "d"]
    assert unknown.workers == [[name] for name in "abcd"]
    assert match(dict(zip("abcd", equal, strict=True))).calls["match"].null_count() == 8


def test_nodes_that_count_from_0_are_of_one_job() -> None:
    wide: dict[str, Any] = {"world_size": 4, "group": ("0", "[0, 1, 2, 3]")}
    traces = {f"node{n}.{r}": rank(r, *CALLS, **wide) for n in range(2) for r in range(2)}
    assert parted(traces) == [set(traces)]


def test_recordings_of_unrelated_programs_share_nothing() -> None:
    def alone(name: str) -> Trace:
        return trace([step(1, 100, 200), op(name, 110, 50, shape=[[4]])])

    traces = {"a": alone("aten::mm"), "b": alone("aten::conv2d"), "c": alone("aten::mm")}
    assert parted(traces) == [{"a", "c"}, {"b"}]
    # A recording that holds nothing is no program of its own.
    assert parted({"a": alone("aten::mm"), "d": trace([])}) == [{"a", "d"}]
