"""The figures of the iterations as facts. Definitions: ``docs/metrics.md#iterations``."""

from __future__ import annotations

from torch_tb_profiler.analysis.iterations.figures import NO_ITERATION, iteration_figures
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Fact, Scalar, Unit


def iteration_facts(trace: Trace, selection: Selection) -> tuple[Fact, ...]:
    """How many iterations there are, which are selected, and how long they are.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    found = iteration_figures(trace, selection)
    facts: tuple[tuple[str, str, Scalar, Unit | None, str], ...] = (
        ("iterations_total", "Iterations", found.total, "count", "Iterations of the recording."),
        (
            "iterations_selected",
            "Iterations selected",
            found.selected,
            "count",
            "Those that the numbers here are of.",
        ),
        ("iterations_first", "First iteration", found.first, None, "Name of the first of these."),
        ("iterations_last", "Last iteration", found.last, None, "Name of the last of these."),
        (
            "iteration_mean_us",
            "Mean iteration",
            _us(found.mean_ns),
            "us",
            "Mean length of the selected iterations that are whole; of all of them where none is.",
        ),
        (
            "iteration_stddev_us",
            "Standard deviation",
            _us(found.stddev_ns),
            "us",
            "Root of the mean squared difference of these lengths from their mean.",
        ),
    )
    return tuple(
        Fact(key, title, value, unit, None, text, NO_ITERATION if value is None else None)
        for key, title, value, unit, text in facts
    )


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_US
