"""The strategy view on a job whose answer is known by hand: dimensions with exposed time that is
shared, groups, the matrix with its slow row, given strategies, summaries, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from tests.helpers.meshes import collective, job
from tests.helpers.schedules import order_1f1b, simulate, traces_with_ranges
from tests.helpers.traces import Event, call, kernel, step, trace
from tests.views.run_views import rows
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.strategy.dimensions import ranks_text
from torch_tb_profiler.views.strategy.view import SPEC, strategy

TENSOR, PIPELINE = "TENSOR_MODEL_PARALLEL_GROUP", "PIPELINE_MODEL_PARALLEL_GROUP"


def rank_of_job(rank: int, world: int = 8, busy: float = 400) -> Trace:
    """Of a job with tp=2: a step of 1,000 µs, with computation from 0 to ``busy``, an all-reduce of
    tensor parallelism from 300 to 500 and a transfer between stages from 450 to 600."""
    pair = [rank // 2 * 2, rank // 2 * 2 + 1]
    stages = [rank % 2, rank % 2 + 2, rank % 2 + 4, rank % 2 + 6]
    tensor = {"Process Group Name": f"1{pair[0]}", "Process Group Description": TENSOR}
    pipeline = {"Process Group Name": f"2{rank % 2}", "Process Group Description": PIPELINE}
    events: list[Event] = [
        step(1, 0, 1000),
        *(call("cudaLaunchKernel", number, 1, corr=number) for number in (1, 2, 3)),
        kernel("gemm", 0, busy, corr=1),
        collective("allreduce", 300, 1000, pair, **tensor, dur=200, corr=2),
        collective("send", 450, 500, stages, **pipeline, dur=150, corr=3),
    ]
    job_info = {"backend": "nccl", "rank": rank, "world_size": world}
    return trace(events, distributedInfo=job_info)


@pytest.fixture(name="traces")
def traces_of_a_job() -> dict[str, Trace]:
    return {
        f"rank{rank}": rank_of_job(rank, busy=460 if rank in (4, 5) else 400) for rank in range(8)
    }


def summarized(traces: dict[str, Trace], folder: Path) -> dict[str, Trace]:
    summaries = {}
    for worker, each in traces.items():
        (folder / worker).mkdir()
        save_summary(each, folder / worker)
        summaries[worker] = load_summary(folder / worker)
    return summaries


def assert_same(whole: View, small: View) -> None:
    assert whole.tables.keys() == small.tables.keys()
    for name, table in whole.tables.items():
        assert_frame_equal(table.frame, small.tables[name].frame)
        assert table.null_reasons == small.tables[name].null_reasons
    assert whole.notes == small.notes


def test_exposed_time_is_shared_where_two_dimensions_communicate(
    traces: dict[str, Trace],
) -> None:
    only = {"rank0": traces["rank0"]}
    result = strategy(only, Selection())
    columns = ("dimension", "size", "source", "calls_per_step", "step_bytes")
    assert rows(result, "dimensions", *columns) == [
        ("tensor", 2, "name", 1, 4000),
        ("pipeline", 4, "name", 1, 2000),
    ]
    # 400-450 tensor alone, 450-500 both, 500-600 pipeline alone; 300-400 hidden.
    times = ("total_us", "exposed_us", "exposed_pct", "hidden_us")
    assert rows(result, "dimensions", *times) == [(200, 75, 7.5, 100), (150, 125, 12.5, 0)]


def test_groups_have_their_members_and_calls(traces: dict[str, Trace]) -> None:
    result = strategy(traces, Selection())
    columns = ("group", "dimension", "size", "ranks", "recorded", "collectives", "calls")
    table = rows(result, "groups", *columns)
    assert (f"10 ({TENSOR})", "tensor", 2, "0,1", 2, "all_reduce × 2", 2) in table
    assert (f"21 ({PIPELINE})", "pipeline", 4, "1-7/2", 4, "send × 4", 4) in table
    assert len(table) == 6


def test_a_slow_row_of_the_matrix_is_an_outlier(traces: dict[str, Trace]) -> None:
    result = strategy(traces, Selection())
    columns = ("rank", "pipeline", "tensor", "computation_us", "exposed_communication_us")
    assert rows(result, "rank_matrix", *columns)[3:5] == [(3, 1, 1, 400, 200), (4, 2, 0, 460, 140)]
    lines = rows(
        result, "matrix_lines", "dimension", "index", "ranks", "deviation_pct", "is_outlier"
    )
    assert ("pipeline", "2", 2, 15, True) in lines
    assert [line[:2] for line in lines if line[4]] == [("pipeline", "2")]
    text = SPEC.answer(result)
    assert text is not None
    assert text.startswith("2-way tensor × 4-stage pipeline (from names of groups).")
    assert "The ranks of pipeline stage 2 have 15.0 % more computation than the others." in text


def test_the_measure_is_chosen(traces: dict[str, Trace]) -> None:
    result = strategy(traces, Selection(), measure="exposed_communication")
    lines = rows(result, "matrix_lines", "dimension", "index", "median", "unit", "median_text")
    assert ("pipeline", "2", 140, "us", "140 µs") in lines
    assert {row[0] for row in rows(result, "matrix_lines", "measure")} == {"Exposed Communication"}


def test_a_given_strategy_counts_for_groups_and_coordinates(traces: dict[str, Trace]) -> None:
    result = strategy(traces, Selection(), parallel="cp=2,dp=4")
    assert {row[0] for row in rows(result, "dimensions", "source")} == {"given"}
    assert [row[0] for row in rows(result, "dimensions", "dimension")] == ["data", "context"]
    assert rows(result, "rank_matrix", "data", "context", "tensor")[3] == (1, 1, None)
    with pytest.raises(SelectionError, match="tp=3 = 3, not a divisor of the 8 ranks"):
        strategy(traces, Selection(), parallel="tp=3")


def test_summaries_give_the_same_view(traces: dict[str, Trace], tmp_path: Path) -> None:
    summaries = summarized(traces, tmp_path)
    for selection in (Selection(), Selection(steps="1")):
        assert_same(strategy(traces, selection), strategy(summaries, selection))


def test_the_bubble_stands_beside_that_of_the_schedule(tmp_path: Path) -> None:
    orders = [order_1f1b(stage, 2, 3) for stage in range(2)]
    traces = traces_with_ranges(simulate(orders, 100, 200, 10), 2)
    result = strategy(traces, Selection())
    # Stage 0: 3 x 300 of work; the last backward pass comes back after 4 x 300 + 2 x 10.
    columns = ("stage", "schedule", "microbatches", "span_us", "bubble_us", "minimum_pct")
    table = rows(result, "bubbles", *columns)
    assert [row[:3] for row in table] == [(0, "1F1B", 3), (1, "1F1B", 3)]
    assert table[0][5] == pytest.approx(25)
    assert table[0][3] - table[0][4] == 900
    passes = rows(result, "pipeline", "stage", "kind", "microbatch", "start_us", "duration_us")
    assert (1, "forward", 0, 110, 100) in passes
    assert len(passes) == 12
    text = SPEC.answer(result)
    assert text is not None
    assert "its schedule (1F1B) cannot avoid 25.0 %" in text
    summaries = summarized(traces, tmp_path)
    assert_same(result, strategy(summaries, Selection()))
    [note] = strategy({"rank0": traces["rank0"]}, Selection()).notes
    assert note.code == "stages_missing"


def test_where_nothing_is_known_the_answer_names_the_option() -> None:
    events: list[Event] = [
        step(1, 0, 100),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 10, 5),
    ]
    result = strategy({"a": trace(events)}, Selection())
    text = SPEC.answer(result)
    assert text is not None
    assert "--parallel" in text
    assert rows(result, "dimensions", "dimension", "groups") == [("unknown", 0)]


def test_a_trace_without_communication_is_no_job() -> None:
    assert SPEC.missing(trace([step(1, 0, 10)])) is not None
    assert SPEC.missing(rank_of_job(0)) is None
    assert SPEC.missing(next(iter(job({"data": 2}, ranks=[0]).values()))) is None


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([0, 1, 2, 3], "0-3"),
        ([1, 5, 9], "1-9/4"),
        ([0, 1], "0,1"),
        ([3], "3"),
        ([0, 3, 4], "0,3,4"),
        ([], None),
        (None, None),
    ],
)
def test_ranks_are_short(ranks: list[int] | None, text: str | None) -> None:
    assert ranks_text(ranks) == text
