"""Schedules and bubbles of simulated pipelines: with equal passes and no transfers a stage's bubble
is what the schedule's formula says; with transfers it is what the simulation says. Passes come from
ranges, from phases, or from the way of sends and receives alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.schedules import (
    Pass,
    order_1f1b,
    order_gpipe,
    simulate,
    traces_with_ranges,
    traces_with_transfers,
)
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.analysis.parallel.costs import window_frame
from torch_tb_profiler.analysis.parallel.passes import microbatch_passes
from torch_tb_profiler.analysis.parallel.pipelines import Pipelines, pipelines
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.trace.model import Trace

ORDERS = {"1F1B": order_1f1b, "GPipe": order_gpipe}


def detected(traces: dict[str, Trace], stages: int | None = None) -> Pipelines:
    windows = selected_windows(traces, Selection())
    frame = window_frame(list(traces), windows)
    return pipelines(traces, windows, frame, rank_coordinates(traces), stages)


def bubbles(result: Pipelines) -> dict[int, float]:
    rows = result.stages.select("stage", "span_ns", "busy_ns").rows()
    return {stage: (span - busy) / span for stage, span, busy in rows}


def reference(passes: list[Pass], stages: int) -> dict[int, float]:
    """The share of each stage's bubble, from the simulated passes."""
    own = [[each for each in passes if each.stage == stage] for stage in range(stages)]
    span = max(each[-1].end - each[0].start for each in own)
    return {
        stage: (span - sum(each.end - each.start for each in own[stage])) / span
        for stage in range(stages)
    }


def shown(traces: dict[str, Trace]) -> dict[str, list[tuple[str, int]]]:
    """Kind and microbatch of the passes of each rank, in order."""
    return {
        worker: [
            (kind[0].upper(), number)
            for kind, number in microbatch_passes(trace).select("kind", "microbatch").rows()
        ]
        for worker, trace in traces.items()
    }


Traces = Callable[[list[Pass], int], dict[str, Trace]]
WAYS: dict[str, Traces] = {
    "ranges": traces_with_ranges,
    "phases": lambda passes, stages: traces_with_transfers(passes, stages, phases=True),
    "directions": lambda passes, stages: traces_with_transfers(passes, stages, phases=False),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("schedule", ORDERS)
@examples(6)
@given(st.integers(2, 5), st.integers(2, 7), st.tuples(st.integers(10, 60), st.integers(10, 90)))
def test_without_transfers_the_bubble_is_that_of_the_formula(
    way: str, schedule: str, stages: int, count: int, lengths: tuple[int, int]
) -> None:
    orders = [ORDERS[schedule](stage, stages, count) for stage in range(stages)]
    traces = WAYS[way](simulate(orders, *lengths), stages)
    assert shown(traces) == {f"rank{stage}": orders[stage] for stage in range(stages)}
    result = detected(traces)
    assert result.schedule == schedule
    minimum = (stages - 1) / (count + stages - 1)
    assert result.minimum == pytest.approx(minimum)
    for share in bubbles(result).values():
        assert share == pytest.approx(minimum)


@examples(12)
@given(st.integers(2, 5), st.integers(2, 7), st.integers(0, 40))
def test_with_transfers_the_bubble_is_that_of_the_simulation(
    stages: int, count: int, transfer: int
) -> None:
    orders = [order_1f1b(stage, stages, count) for stage in range(stages)]
    passes = simulate(orders, 30, 55, transfer)
    result = detected(traces_with_ranges(passes, stages))
    assert bubbles(result) == pytest.approx(reference(passes, stages))


def test_a_schedule_that_splits_the_backward_pass_has_no_formula() -> None:
    passes = simulate([order_1f1b(stage, 2, 3) for stage in range(2)], 10, 20)
    renamed = [each._replace(kind="W") if each.kind == "B" else each for each in passes]
    result = detected(traces_with_ranges(renamed, 2))
    assert (result.schedule, result.minimum) == ("zero bubble", None)


def order_interleaved(stage: int, stages: int, count: int, chunks: int) -> list[str]:
    """Of Megatron-LM's ``forward_backward_pipelining_with_interleaving``."""
    total = count * chunks
    remaining = total - min(total, (stages - stage - 1) * 2 + (chunks - 1) * stages)
    warm_up = ["F"] * (total - remaining)
    return warm_up + ["F", "B"] * remaining + ["B"] * (total - remaining)


def in_sequence(orders: list[list[str]]) -> list[Pass]:
    """Passes one after the other: what counts is their order on each rank."""
    return [
        Pass(stage, kind, number, 30 * number, 30 * number + 20)
        for stage, order in enumerate(orders)
        for number, kind in enumerate(order)
    ]


@examples(12)
@given(st.integers(2, 4), st.integers(1, 3), st.integers(2, 3))
def test_without_ranges_the_warm_up_says_how_many_stages_a_rank_holds(
    stages: int, rounds: int, chunks: int
) -> None:
    count = rounds * stages
    orders = [order_interleaved(stage, stages, count, chunks) for stage in range(stages)]
    result = detected(traces_with_transfers(in_sequence(orders), stages, phases=True))
    assert result.schedule == "interleaved 1F1B"
    assert set(result.stages.select("chunks", "microbatches").rows()) == {(chunks, count)}
    assert result.minimum == pytest.approx((stages - 1) / (count * chunks + stages - 1))


def test_a_rank_of_another_order_leaves_the_number_of_stages_open() -> None:
    orders = [order_interleaved(stage, 2, 4, 2) for stage in range(2)]
    orders[0] = orders[1]
    result = detected(traces_with_transfers(in_sequence(orders), 2, phases=True))
    assert (result.schedule, result.minimum) == ("other", None)


def test_stages_that_are_not_recorded_count_for_the_minimum() -> None:
    orders = [order_1f1b(stage, 4, 4) for stage in range(4)]
    traces = traces_with_ranges(simulate(orders, 10, 20), 4)
    result = detected({"rank0": traces["rank0"], "rank2": traces["rank2"]}, 4)
    assert result.stage_count == 4
    assert result.minimum == pytest.approx(3 / 7)


def test_a_job_without_a_pipeline_has_none() -> None:
    traces = traces_with_ranges(simulate([order_gpipe(0, 1, 2)], 10, 20), 1)
    result = detected(traces)
    assert (result.stages.height, result.schedule, result.minimum) == (0, None, None)


def test_what_is_far_shorter_than_other_passes_is_none() -> None:
    passes = simulate([order_1f1b(stage, 2, 3) for stage in range(2)], 400, 700)
    buffers = [Pass(0, "F", 9, passes[-1].end + 10, passes[-1].end + 12)]
    traces = traces_with_transfers(passes + buffers, 2, phases=False)
    assert [kind for kind, _ in shown(traces)["rank0"]] == list("FFBFBB")
