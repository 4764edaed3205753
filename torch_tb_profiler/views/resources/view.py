"""Resources: how much of the host and of the devices was used, as recorders sampled it.

Definitions: ``docs/views-resources.md#how-it-is-counted``.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.analysis.memory.selected import selected_time
from torch_tb_profiler.analysis.recording.samples import (
    SampleSeries,
    has_own_clock,
    samples,
    select_within,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.resources import metric_meaning
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.quality_notes import FILE_ISSUES, quality_notes
from torch_tb_profiler.views.resources.answer import answer
from torch_tb_profiler.views.resources.columns import STEPS, SUMMARY
from torch_tb_profiler.views.resources.measured import (
    HOST,
    PERCENT,
    has_measured,
    means_of_recorder,
    measured,
)
from torch_tb_profiler.views.resources.notes import (
    not_sampled,
    nothing_reason,
    series_left_out,
    unknown_counters,
)
from torch_tb_profiler.views.resources.panels import panels
from torch_tb_profiler.views.resources.steps import steps_table
from torch_tb_profiler.views.sample_advice import advice
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

TABLE_UNITS: dict[str, tuple[float, str]] = {"bytes": (2**20, "MiB"), "bytes/s": (1e6, "MB/s")}
"""Units whose numbers are too long to read, and what the table counts in."""

ONE_VALUE = "The recorder reports one value for the whole recording."
OWN_CLOCK = "The samples use a separate clock that starts at the first sample."


def resources(trace: Trace, selection: Selection) -> View:
    """What was measured in the selection; times count from the start of the recording.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    every = measured(trace)
    is_apart = has_own_clock(trace)
    stretches = selected_time(trace, Selection() if is_apart else selection)
    chosen = [part for each in every if len((part := select_within(each, stretches)).time_ns)]
    origin_ns = samples(trace).origin_ns
    charts, left_out = panels(chosen, origin_ns)
    steps = steps_table(trace, selection, origin_ns)
    if is_apart:
        steps = Table(STEPS, steps.frame.clear())
    return View(
        tables={
            SUMMARY.name: _summary(chosen, means_of_recorder(trace)),
            STEPS.name: steps,
        },
        series=charts,
        facts=(_origin_fact(None if is_apart else origin_ns),),
        notes=(
            *advice(trace, selection, chosen),
            *left_out,
            *series_left_out(trace),
            *not_sampled(trace, every),
            *unknown_counters(trace),
            *quality_notes(trace, FILE_ISSUES | {"samples_own_clock"}),
        ),
    )


def _summary(series: Sequence[SampleSeries], means: list[tuple[str, float]]) -> Table:
    rows: list[tuple[object, ...]] = [
        (metric, HOST, value, None, None, PERCENT, None, None) for metric, value in means
    ]
    for each in series:
        divisor, unit = TABLE_UNITS.get(each.unit, (1.0, each.unit or None))
        value = each.value / divisor
        extremes = float(value.min()), float(value.max())
        mean = each.mean() / divisor
        known = metric_meaning(each.source, each.metric, each.unit)
        about = None if known is None else known.help
        rows.append((each.metric, each.source, mean, *extremes, unit, len(value), about))
    frame = pl.DataFrame(rows, schema=SUMMARY.polars_schema(), orient="row")
    reasons = dict.fromkeys(("min", "max", "samples"), ONE_VALUE)
    return Table(SUMMARY, frame, needed(frame, reasons))


def _origin_fact(origin_ns: int | None) -> Fact:
    return Fact(
        "origin_us",
        "Start of the recording",
        None if origin_ns is None else origin_ns / NS_PER_US,
        "us",
        None,
        "Trace time of 0 in this view: add it to a time here to get start_us and end_us.",
        OWN_CLOCK if origin_ns is None else None,
    )


def _missing(trace: Trace) -> str | None:
    return None if has_measured(trace) else nothing_reason(trace)


SPEC = ViewSpec(
    name="resources",
    title="Host & Data: Host, Counters",
    help="How busy were the host's cores and the devices over time?",
    scope="trace",
    tables=(SUMMARY, STEPS),
    function=resources,
    missing=_missing,
    answer=answer,
)
