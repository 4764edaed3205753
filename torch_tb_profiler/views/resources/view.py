"""Resources: how much of the host and of the devices was used, as recorders sampled it.

Definitions: ``docs/views-resources.md#how-it-is-counted``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.analysis.iterations.cut import cut_of
from torch_tb_profiler.analysis.memory.selected import selected_time
from torch_tb_profiler.analysis.samples import (
    MAX_SERIES,
    SampleSeries,
    have_own_clock,
    samples,
    within,
)
from torch_tb_profiler.analysis.selection import Selection, selected_steps
from torch_tb_profiler.knowledge.resources import HostCpu, resources_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed, why
from torch_tb_profiler.views.quality_notes import quality_notes
from torch_tb_profiler.views.resources.columns import STEPS, SUMMARY
from torch_tb_profiler.views.resources.measured import (
    HOST,
    PERCENT,
    has_measured,
    means_of_recorder,
    measured,
)
from torch_tb_profiler.views.resources.panels import panels
from torch_tb_profiler.views.schema import Fact, Note, Table, View
from torch_tb_profiler.views.spec import ViewSpec

MAX_STEPS = 300
"""Steps that are marked on the curves."""

ONE_VALUE = "The recorder tells one value for the whole recording."
OWN_CLOCK = "The samples have a clock of their own: 0 is their first."
NOTHING = "The recording holds no samples of the host or of devices, and no counter of their use."


def resources(trace: Trace, selection: Selection) -> View:
    """What was measured in the selection; times count from the start of the recording.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    every = measured(trace)
    is_apart = have_own_clock(trace)
    stretches = selected_time(trace, Selection() if is_apart else selection)
    chosen = [part for each in every if len((part := within(each, stretches)).time_ns)]
    origin_ns = samples(trace).origin_ns
    charts, left_out = panels(chosen, origin_ns)
    return View(
        tables={
            SUMMARY.name: _summary(chosen, means_of_recorder(trace)),
            STEPS.name: _steps(trace, selection, origin_ns, is_apart=is_apart),
        },
        series=charts,
        facts=(_origin_fact(None if is_apart else origin_ns),),
        notes=(
            *left_out,
            *_series_left_out(trace),
            *_host_cpu(chosen),
            *quality_notes(trace, frozenset({"samples_own_clock"})),
        ),
    )


def _summary(series: Sequence[SampleSeries], means: list[tuple[str, float]]) -> Table:
    rows: list[tuple[object, ...]] = [
        (metric, HOST, value, None, None, PERCENT, None) for metric, value in means
    ]
    for each in series:
        value = each.value
        extremes = float(value.min()), float(value.max())
        mean = float(value.mean())
        rows.append((each.metric, each.source, mean, *extremes, each.unit or None, len(value)))
    frame = pl.DataFrame(rows, schema=SUMMARY.polars_schema(), orient="row")
    reasons = dict.fromkeys(("min", "max", "samples"), ONE_VALUE)
    return Table(SUMMARY, frame, needed(frame, reasons))


def _steps(trace: Trace, selection: Selection, origin_ns: int, *, is_apart: bool) -> Table:
    is_cut = cut_of(trace).by.kind != "steps"
    is_told = pl.col("slice").is_not_null() | pl.lit(is_cut)
    steps = trace.steps.filter(selected_steps(trace, selection), is_told)
    if is_apart or steps.height > MAX_STEPS:
        steps = steps.clear()
    frame = steps.select(
        pl.col("name").alias("step"),
        ((pl.col("host_start_ns") - origin_ns) / NS_PER_US).alias("start_us"),
        ((pl.col("host_end_ns") - origin_ns) / NS_PER_US).alias("end_us"),
    )
    return Table(STEPS, frame)


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


def _series_left_out(trace: Trace) -> list[Note]:
    count = samples(trace).left_out
    if not count:
        return []
    text = f"{count} metrics are left out: the recording has more than {MAX_SERIES}."
    return [Note("quality", "samples_left_out", "info", text, {"count": count})]


def _host_cpu(series: Sequence[SampleSeries]) -> list[Note]:
    """What the use of the host's cores says about the workers that load data."""
    known = resources_file().host_cpu
    user, system, switches = (
        _mean(series, pattern) for pattern in (known.user, known.system, known.switches)
    )
    notes = []
    if user is not None and user < known.low_user_pct:
        notes.append(_low_user(user, known))
    if system is not None and system > known.high_system_pct:
        notes.append(_high_system(system, switches, known))
    return notes


def _low_user(user_pct: float, known: HostCpu) -> Note:
    text = (
        f"Programs used {user_pct:.1f} % of the host's cores (limit of ours: "
        f"{known.low_user_pct:.0f} %). Where steps wait for data, more workers can load it."
    )
    evidence: dict[str, object] = {"measured": user_pct, "threshold": known.low_user_pct}
    return Note("quality", "host_cpu_low", "info", text, evidence)


def _high_system(system_pct: float, switches: float | None, known: HostCpu) -> Note:
    counted = f", with {switches:,.0f} switches between tasks per sample" if switches else ""
    text = (
        f"The system took {system_pct:.1f} % of the host's cores (limit of ours: "
        f"{known.high_system_pct:.0f} %){counted}. Fewer workers or threads leave more of them to "
        "the program."
    )
    evidence: dict[str, object] = {"measured": system_pct, "threshold": known.high_system_pct}
    return Note("quality", "host_cpu_system", "info", text, evidence)


def _mean(series: Sequence[SampleSeries], pattern: str) -> float | None:
    of_host = (each for each in series if each.source == HOST and re.search(pattern, each.metric))
    found = next(of_host, None)
    return None if found is None else float(found.value.mean())


def _missing(trace: Trace) -> str | None:
    if has_measured(trace):
        return None
    return why(trace, "gpu_metrics", NOTHING)


SPEC = ViewSpec(
    name="resources",
    title="Resources",
    help="How much of the host's cores and of the devices was used over time?",
    scope="trace",
    tables=(SUMMARY, STEPS),
    function=resources,
    missing=_missing,
)
