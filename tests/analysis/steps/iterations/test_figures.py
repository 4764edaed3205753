"""Which iterations a selection means, and their figures."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.figures import IterationFigures, iteration_figures
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.trace.model import Trace


def _recorded() -> Trace:
    """Steps 3, 4 and 5 of 100, 120 and 170 µs; an operator begins 10 µs into each."""
    events: list[Event] = []
    for number, start, length in ((3, 0, 100), (4, 100, 120), (5, 220, 170)):
        events += [step(number, start, length), op("aten::mm", start + 10, 50)]
        events += [
            call("cudaLaunchKernel", start + 20, 5, corr=number),
            kernel("gemm", start + 30, 60, corr=number),
        ]
    return trace(events)


def test_figures_of_everything_and_of_a_range() -> None:
    recorded = _recorded()
    every = iteration_figures(recorded, Selection())
    lengths = [100_000, 120_000, 170_000]
    mean = sum(lengths) / 3
    stddev = (sum((length - mean) ** 2 for length in lengths) / 3) ** 0.5
    assert (every.total, every.selected, every.first, every.last) == (3, 3, "3", "5")
    assert every.mean_ns == pytest.approx(mean)
    assert every.stddev_ns == pytest.approx(stddev)
    assert every.wall_clock_ns == 390_000
    some = iteration_figures(recorded, Selection(steps="4:5"))
    assert (some.total, some.selected, some.first, some.last) == (3, 2, "4", "5")
    assert some.wall_clock_ns == 290_000


def test_the_wall_clock_begins_with_an_operation_and_ends_on_the_device() -> None:
    events = [
        op("aten::mm", 10, 50),
        call("cudaLaunchKernel", 20, 5, corr=1),
        kernel("gemm", 90, 60, corr=1),
        op("aten::add", 200, 10),
    ]
    recorded = split_iterations(trace(events), "name:aten::mm")
    figures = iteration_figures(recorded, Selection(steps="0"))
    assert figures.wall_clock_ns == 140_000
    assert iteration_figures(recorded, Selection(steps="1")).wall_clock_ns == 10_000


def test_the_wall_clock_reaches_to_the_end_of_what_began_before_the_last_iteration() -> None:
    recorded = split_iterations(
        trace([op("aten::linear", 0, 100), op("aten::mm", 10, 50)]), "name:aten::mm"
    )
    every = iteration_figures(recorded, Selection())
    assert (every.selected, every.wall_clock_ns) == (2, 100_000)
    assert iteration_figures(recorded, Selection(steps="1")).wall_clock_ns == 40_000


def test_a_time_range_cuts_the_wall_clock() -> None:
    figures = iteration_figures(_recorded(), Selection(start_ns=105_000, end_ns=300_000))
    assert (figures.selected, figures.first, figures.last) == (2, "4", "5")
    assert figures.mean_ns == (115_000 + 80_000) / 2  # no whole one: of the parts
    assert figures.wall_clock_ns == 190_000  # from the operator at 110 µs to the edge at 300


def test_a_range_around_several_iterations_ends_with_the_selected_ones() -> None:
    events = [annotation("epoch", 0, 900), *(op("train", 100 * n, 80) for n in range(8))]
    recorded = split_iterations(trace(events), "name:train")
    assert iteration_figures(recorded, Selection(steps="0")).wall_clock_ns == 80_000
    assert iteration_figures(recorded, Selection(steps="0:1")).wall_clock_ns == 180_000


def test_nothing_selected_has_no_figures() -> None:
    figures = iteration_figures(_recorded(), Selection(start_ns=900_000, end_ns=910_000))
    assert figures == IterationFigures(3, 0, None, None, None, None, None)
    assert iteration_figures(trace([]), Selection()).selected == 0


def test_iterations_that_are_not_selected_are_there_too() -> None:
    found = iterations(_recorded(), Selection(steps="4"))
    assert found.windows.names == ["3", "4", "5"]
    assert found.selected.tolist() == [False, True, False]
    assert found.lengths_ns.tolist() == [120_000]


def test_a_step_that_is_left_out_is_there_and_not_selected() -> None:
    """The recording ended before the last step's device work was complete."""
    events: list[Event] = []
    for number in range(3):
        start = 100 * number
        events.append(step(number, start, 100))
        for launch in range(10 if number < 2 else 2):
            corr = 100 * number + launch
            events.append(call("cudaLaunchKernel", start + 5 * launch, 3, corr=corr))
            events.append(kernel("gemm", start + 5 * launch + 4, 2, corr=corr))
    found = iterations(trace(events), Selection())
    assert found.windows.names == ["0", "1", "2"]
    assert found.selected.tolist() == [True, True, False]
    asked = iterations(trace(events), Selection(steps="1:2"))
    assert asked.selected.tolist() == [False, True, True]
    assert asked.lengths_ns.tolist() == [100_000]
