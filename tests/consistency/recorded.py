"""Quantities of recorded runs and the places that show them, as in :mod:`.pairs`."""

from __future__ import annotations

from functools import cache
from typing import cast

from tests.consistency import quantities as of
from tests.consistency.answers import Answers, Quantity
from tests.consistency.pairs import Shown
from tests.helpers.recorder import Run, blocks_of, journal_columns
from torch_tb_profiler.recorder.throughput.figures import Distribution, StepFigures
from torch_tb_profiler.recorder.throughput.throughput_file import throughput_from_blocks
from torch_tb_profiler.reports.scalars.values import ScalarSeries
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.loader_diagnosis import phase_title

RUNS = {
    "in the process": Run(workers=0, wait_ms=6.0),
    "workers and a window": Run(steps=30, wait_ms=3.0, windows=((5, 9),)),
    "evaluations": Run(steps=24, wait_ms=0.3, evaluate_every=8, pin_ms=0.2),
}

TRAINING = {"phase": phase_title("train")}
WORK = ("fetch", "transform", "collate")
MEASURES = {
    "reader_cost": "reader_cost_us",
    "batch_cost": "batch_cost_us",
    "steps_per_s": "steps_per_s",
    "samples_per_s": "samples_per_s",
}


@cache
def trace_of(name: str) -> Trace:
    """The trace of one of :data:`RUNS`."""
    return build_trace(journal_columns(RUNS[name]))


@cache
def trained(name: str) -> StepFigures:
    """What ``<worker>.throughput.json`` tells of the training of one of :data:`RUNS`."""
    told = throughput_from_blocks(blocks_of(RUNS[name]))
    assert told is not None
    assert told.train is not None
    return told.train


def shown_of(name: str) -> list[Shown]:
    """The quantities of one of :data:`RUNS`: of data loading, of throughput and of its steps."""
    figures = trained(name)
    throughput = [_throughput(figures, measure) for measure in MEASURES]
    return [*LOADING, *throughput, _ratio(figures), *STEPS]


def _wait_shares(answers: Answers) -> object:
    facts = answers.data.facts if answers.data else ()
    scope = phase_title("train")
    return next(each.value for each in facts if each.key == "wait_pct" and each.scope == scope)


def _idle_steps(answers: Answers) -> object:
    rows = of.frame(answers, "data", "pipeline")
    assert rows is not None
    steps = rows.filter(type="steps")
    return 100 - cast(float, steps["busy_pct"][0])


def _work(answers: Answers) -> object:
    means = of.column_of("data", "stages", "stage", "time_mean_us", **TRAINING)(answers)
    return sum(time_us for stage, time_us in cast(dict[str, float], means).items() if stage in WORK)


LOADING = (
    Shown(
        "share of time waiting for data",
        {
            "fact": _wait_shares,
            "loaders": of.sum_of("data", "loaders", "wait_pct", **TRAINING),
            "stages": of.sum_of("data", "stages", "busy_pct", stage="wait", **TRAINING),
            "what steps do not use": _idle_steps,
        },
    ),
    Shown(
        "mean wait for a batch",
        {
            "loaders": of.sum_of("data", "loaders", "wait_us", **TRAINING),
            "stages": of.sum_of("data", "stages", "time_mean_us", stage="wait", **TRAINING),
        },
    ),
    Shown(
        "mean work on a batch",
        {"loaders": of.sum_of("data", "loaders", "work_us", **TRAINING), "stages": _work},
    ),
    Shown(
        "batches",
        {
            "loaders": of.sum_of("data", "loaders", "batches", **TRAINING),
            "stages": of.sum_of("data", "stages", "calls", stage="wait", **TRAINING),
        },
    ),
)


def _throughput(figures: StepFigures, measure: str) -> Shown:
    spread = cast(Distribution, getattr(figures, MEASURES[measure]))
    rows = {"steps_of": "training", "measure": measure}
    column = "rate_per_s" if measure.endswith("_s") else "mean_us"
    places: dict[str, Quantity] = {
        "file": lambda _: spread.mean,
        "overview": of.sum_of("overview", "throughput", "mean", **rows),
        "compare": of.sum_of("compare", "throughput", f"baseline_{column}", measure=measure),
    }
    if measure.endswith("_s"):
        places["fact"] = of.fact(measure)
    return Shown(f"mean {measure}", places)


def _ratio(figures: StepFigures) -> Shown:
    def of_means(answers: Answers) -> object:
        means = of.column_of("overview", "throughput", "measure", "mean", steps_of="training")
        told = cast(dict[str, float], means(answers))
        return told["reader_cost"] / told["batch_cost"] * 100

    places: dict[str, Quantity] = {
        "file": lambda _: figures.reader_ratio_pct,
        "fact": of.fact("reader_ratio_pct"),
        "overview": of_means,
    }
    return Shown("reader ratio", places)


def _scalars(answers: Answers, tag: str) -> dict[str, float]:
    told = ScalarSeries()
    told.add(answers.trace, 0, 0.0)
    return {str(each.step): each.value for each in told.scalars() if each.tag == f"profiler/{tag}"}


def _step_times(answers: Answers) -> object:
    return {step: ms * 1e3 for step, ms in _scalars(answers, "step_time_ms").items()}


def _waits_of_steps(answers: Answers) -> object:
    times, ratios = _scalars(answers, "step_time_ms"), _scalars(answers, "reader_ratio_pct")
    return {step: times[step] * 1e3 * ratio / 100 for step, ratio in ratios.items()}


STEPS = (
    Shown(
        "length of each step in scalars",
        {"overview": of.column_of("overview", "steps", "step", "total_us"), "scalars": _step_times},
        of_selections=False,
    ),
    Shown(
        "what each step waited for data",
        {
            "overview": of.column_of("overview", "steps", "step", "dataloader_us"),
            "scalars": _waits_of_steps,
        },
        of_selections=False,
    ),
)
