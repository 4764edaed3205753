"""The step trace as a table and as curves over the steps.

Definitions: ``docs/views-phases.md#step-trace``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.step_trace import StepTrace
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Fact, Line, Series, Table, TableSpec
from torch_tb_profiler.views.step_axis import step_axis

MEAN = "mean"
NO_TIME = "The step has no duration."
NOT_IN_STEP = "The step has no forward or backward pass."

_PARTS: tuple[tuple[str, str, str], ...] = (
    (
        "interval_us",
        "Interval",
        "From the start of the step (the end of the previous step's work) to its first forward "
        "work: loading data and copying it to the device. Also the time between passes if a step "
        "has several.",
    ),
    (
        "forward_us",
        "Forward",
        "From the first forward work to the first backward work, or to the last forward work if "
        "there is no backward pass.",
    ),
    ("backward_us", "Backward", "From the first backward work to the end of the last."),
    (
        "communication_us",
        "Communication",
        "Collectives during forward and backward; part of both.",
    ),
    (
        "communication_hidden_us",
        "Communication Hidden",
        "Part of Communication that overlaps with computation.",
    ),
    (
        "communication_exposed_us",
        "Communication Exposed",
        "Part of Communication without computation.",
    ),
    (
        "tail_us",
        "Tail",
        "From the end of the last pass to the end of the step: the rest of gradient reduction, "
        "and the optimizer.",
    ),
    ("total_us", "Total", "Length of the step: interval, forward, backward and tail add up to it."),
    ("communication_tail_us", "Communication in Tail", "Collectives during the tail; part of it."),
)

_SHARED = (
    "interval_us",
    "forward_us",
    "backward_us",
    "communication_hidden_us",
    "communication_exposed_us",
    "tail_us",
    "communication_tail_us",
)
"""Parts that have a column with their share of the step."""


def _columns_of_times() -> tuple[Column, ...]:
    return tuple(
        Column(key, title, "number", "us", text, family="step") for key, title, text in _PARTS
    )


def _columns_of_shares() -> tuple[Column, ...]:
    return tuple(
        Column(
            _share_key(key),
            f"{title} Share",
            "number",
            "pct",
            f"{title} as share of the step.",
            hidden=True,
        )
        for key, title, _ in _PARTS
        if key in _SHARED
    )


def _share_key(key: str) -> str:
    return f"{key.removesuffix('_us')}_pct"


STEP_TRACE = TableSpec(
    "step_trace",
    "Step trace",
    "One row per step and one for their mean. The parts follow the device work if there is any, "
    "else the host.",
    (
        Column(
            "step",
            "Step",
            "string",
            None,
            f"Number of the step; {MEAN}: the mean over whole steps with a pass.",
        ),
        *_columns_of_times(),
        *_columns_of_shares(),
    ),
)

_CURVES = ("interval_us", "forward_us", "backward_us", "tail_us", "communication_exposed_us")


def step_trace_table(trace: Trace, parts: StepTrace, unknown: Mapping[Phase, str]) -> Table:
    """The rows of :data:`STEP_TRACE`; ``unknown``: unknown phases, and why."""
    columns, reasons = _columns(trace, parts, unknown)
    averaged = parts.windows.averaged
    if np.any(averaged & parts.has_passes):
        averaged = averaged & parts.has_passes
    names = list(parts.windows.names)
    if names:
        columns = {key: np.append(ns, _mean(ns[averaged])) for key, ns in columns.items()}
    total = columns["total_us"]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = {
            _share_key(key): np.where(total > 0, columns[key] / total * 100, np.nan)
            for key in _SHARED
        }
    times = {key: ns / NS_PER_US for key, ns in columns.items()}
    filled = {
        key: pl.Series(key, values, nan_to_null=True) for key, values in (times | shares).items()
    }
    steps = [*names, MEAN] if names else []
    frame = pl.DataFrame({"step": steps, **filled}, schema=STEP_TRACE.polars_schema())
    of_shares = {_share_key(key): reasons.get(key, NO_TIME) for key in _SHARED}
    return Table(STEP_TRACE, frame, needed(frame, {**reasons, **of_shares}))


def _mean(ns: Float64) -> float:
    known = ns[~np.isnan(ns)]
    return float(known.sum()) / len(known) if len(known) else np.nan


def _columns(
    trace: Trace, parts: StepTrace, unknown: Mapping[Phase, str]
) -> tuple[dict[str, Float64], dict[str, str]]:
    """Per column its values in ns, NaN where unknown, and why."""
    windows = parts.windows
    ns: dict[str, Int64] = {
        "interval_us": parts.interval_ns,
        "forward_us": parts.forward_ns,
        "backward_us": parts.backward_ns,
        "communication_us": parts.hidden_ns + parts.exposed_ns,
        "communication_hidden_us": parts.hidden_ns,
        "communication_exposed_us": parts.exposed_ns,
        "tail_us": parts.tail_ns,
        "total_us": windows.end_ns - windows.start_ns,
        "communication_tail_us": parts.tail_communication_ns,
    }
    columns = {key: values.astype(np.float64) for key, values in ns.items()}
    reasons = {}
    for key, values in columns.items():
        if key == "total_us":
            continue
        values[~parts.has_passes] = np.nan
        reasons[key] = NOT_IN_STEP
    no_transfers = unknown_roles(trace).get(Role.COMMUNICATION)
    for key, values in columns.items():
        if key.startswith("communication") and no_transfers is not None:
            values[:] = np.nan
            reasons[key] = no_transfers
    for phase, key in ((Phase.FORWARD, "forward_us"), (Phase.BACKWARD, "backward_us")):
        if phase in unknown:
            columns[key][:] = np.nan
            reasons[key] = unknown[phase]
    return columns, reasons


def step_trace_series(table: Table) -> Series:
    """Each part over the steps, without the mean."""
    steps = table.frame.filter(pl.col("step") != MEAN)
    names = steps["step"].to_list()
    x = step_axis(names)
    titles = {column.key: column.title for column in table.spec.columns}
    lines = tuple(
        Line(titles[key], x, steps[key].to_list())
        for key in _CURVES
        if (steps[key].sum() > 0 if key == _CURVES[-1] else steps[key].is_not_null().any())
    )
    return Series("Parts of the steps", "line", "Step", None, "Time", "us", lines)


def side_fact(parts: StepTrace) -> Fact:
    """Which side (device work or host) defines the parts."""
    on_device = parts.side == "device"
    return Fact(
        "step_trace_by",
        "Step trace by",
        "device work" if on_device else "the host",
        None,
        None,
        "The parts of the step trace begin and end with the device work launched in forward and "
        "backward passes; steps extend to the end of their device work. Without device work the "
        "host activity counts.",
    )
