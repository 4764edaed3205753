"""Programs of one job that count their ranks alike are matched apart."""

from __future__ import annotations

import polars as pl

from tests.analysis.communication.test_matching import described
from tests.helpers.traces import trace
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.trace.model import Trace

GROUP = ("0", "[0, 1]")


def rank(number: int, *calls: tuple[float, float, int]) -> Trace:
    info = {"backend": "nccl", "rank": number, "world_size": 2}
    return trace([described(*each, *GROUP) for each in calls], distributedInfo=info)


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


def test_one_program_where_ranks_differ_or_names_state_one_role() -> None:
    traces = job()
    distinct = {name: rank(number) for number, name in enumerate(traces)}
    assert programs(distinct) == [list(traces)]
    one_role = {name.replace("rollout", "train2"): trace for name, trace in traces.items()}
    assert programs(one_role) == [list(one_role)]
    assert len(programs(traces)) == 2
