"""The figures of the selected iterations as facts, in the same words wherever they are shown."""

from __future__ import annotations

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.figures import NO_ITERATION, iteration_figures
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Fact, Scalar, Unit

_HELPS: dict[str, tuple[str, Unit | None, str]] = {
    "iterations_total": ("Iterations", "count", "Iterations in the recording."),
    "iterations_selected": (
        "Iterations selected",
        "count",
        "Iterations that the numbers on this page cover.",
    ),
    "iterations_first": ("First iteration", None, "Name of the first selected iteration."),
    "iterations_last": ("Last iteration", None, "Name of the last selected iteration."),
    "iteration_mean_us": (
        "Mean iteration",
        "us",
        "Mean duration of the selected iterations that are complete; of all selected ones if "
        "none is complete.",
    ),
    "iteration_stddev_us": (
        "Standard deviation",
        "us",
        "Standard deviation of these durations.",
    ),
    "wall_clock_us": (
        "Wall clock",
        "us",
        "From the first host operation of the first selected iteration to the last end, on host "
        "or device, of the last one.",
    ),
}


def iteration_facts(trace: Trace, selection: Selection) -> tuple[Fact, ...]:
    """The figures of ``selection``; null with a reason where it holds no iteration.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    figures = iteration_figures(trace, selection)
    values: dict[str, Scalar] = {
        "iterations_total": figures.total,
        "iterations_selected": figures.selected,
        "iterations_first": figures.first,
        "iterations_last": figures.last,
        "iteration_mean_us": _us(figures.mean_ns),
        "iteration_stddev_us": _us(figures.stddev_ns),
        "wall_clock_us": _us(figures.wall_clock_ns),
    }
    return tuple(
        Fact(
            key, title, values[key], unit, None, text, NO_ITERATION if values[key] is None else None
        )
        for key, (title, unit, text) in _HELPS.items()
    )


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / NS_PER_US
