"""Step times reported by Ascend and MindSpore tools, with those computed from the events.

Definitions: ``docs/views-phases.md#as-recorded``.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.overlap import overlap_ns
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases
from torch_tb_profiler.analysis.steps.phases.step_trace import StepTrace
from torch_tb_profiler.analysis.steps.reported_by_profiler import rows_of_steps
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.phases.step_trace import MEAN
from torch_tb_profiler.views.recorded import SOURCE, recorded_frame, recorded_table
from torch_tb_profiler.views.schema import Column, Line, Series, Table, TableSpec

NOT_OURS = "The events hold no such step, or it is not selected."
NO_PASS = "Or the step has no forward or backward pass."
NO_STEP = "The file reports the whole recording only."

_OF_PASSES = ("own_interval_us", "own_forward_backward_us", "own_tail_us")

_STEP = Column("step", "Step", "string", None, "Number of the step; null: the whole recording.")


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="step")


RECORDED_STEPS = TableSpec(
    "recorded_steps",
    "Steps as recorded",
    "One row per step and device as reported by torch_npu's analysis, with values computed from "
    "the events for comparison.",
    (
        _STEP,
        Column("device", "Device", "integer", None, "Number of the device."),
        _time("computing_us", "Computing", "Time in which the device computed."),
        _time(
            "communication_not_overlapped_us",
            "Communication Exposed",
            "Communication not overlapped with computation.",
        ),
        _time("overlapped_us", "Overlapped", "Communication overlapped with computation."),
        _time("communication_us", "Communication", "Time in which communication ran."),
        _time("free_us", "Free", "Time without computation and communication."),
        _time("stage_us", "Stage", "Length of the step, or of the pipeline stage."),
        _time("bubble_us", "Bubble", "Waiting for other pipeline stages."),
        _time(
            "communication_not_overlapped_without_receive_us",
            "Exposed without Receive",
            "Communication Exposed, without receiving from other stages.",
        ),
        _time("preparing_us", "Preparing", "From the start of the step to its first task."),
        SOURCE,
        _time(
            "own_computing_us",
            "Computing (from Events)",
            "Computation time, computed from the events.",
        ),
        _time(
            "own_communication_not_overlapped_us",
            "Communication Exposed (from Events)",
            "Communication without computation, computed from the events.",
        ),
        _time(
            "own_overlapped_us",
            "Overlapped (from Events)",
            "Computation and communication together, computed from the events.",
        ),
        _time(
            "own_free_us",
            "Free (from Events)",
            "Neither computation nor communication, computed from the events; the step begins on "
            "the host, so Preparing is included.",
        ),
    ),
)

RECORDED_STEP_TRACE = TableSpec(
    "recorded_step_trace",
    "Step trace as recorded",
    "One row per step as reported by MindSpore, with values computed from the events for "
    "comparison, and the mean step of the file: of all steps but the first.",
    (
        Column("step", "Step", "string", None, f"Number of the step; {MEAN}: the file's own mean."),
        _time("total_us", "Total", "Length of the step."),
        _time(
            "interval_us",
            "Interval",
            "From the end of the previous step to the first forward work.",
        ),
        _time(
            "forward_backward_us",
            "Forward and Backward",
            "From the first forward work to the last backward work.",
        ),
        _time("tail_us", "Tail", "From the last backward work to the end of the step."),
        _time("communication_us", "Communication", "Gradient collectives; overlaps count once."),
        SOURCE,
        _time(
            "own_total_us", "Total (from Events)", "Length of the step, computed from the events."
        ),
        _time(
            "own_interval_us",
            "Interval (from Events)",
            "As in the step trace, computed from the events.",
        ),
        _time(
            "own_forward_backward_us",
            "Forward and Backward (from Events)",
            "Forward and backward together, computed from the events.",
        ),
        _time(
            "own_tail_us", "Tail (from Events)", "As in the step trace, computed from the events."
        ),
    ),
)


MAX_POINTS = 2000
"""Of more steps each nth is drawn."""

_DRAWN = {
    RECORDED_STEPS.name: ("computing_us", "communication_not_overlapped_us", "free_us"),
    RECORDED_STEP_TRACE.name: (
        "interval_us",
        "forward_backward_us",
        "tail_us",
        "communication_us",
    ),
}


def recorded_step_tables(trace: Trace, selection: Selection, parts: StepTrace) -> list[Table]:
    """The tables that the recording has.

    Raises:
        SelectionError: steps that are not in this trace.
    """
    tables = []
    for spec, own in (
        (RECORDED_STEPS, _own_overlap(trace, parts)),
        (RECORDED_STEP_TRACE, _own_parts(parts)),
    ):
        frame = recorded_frame(trace, spec.name)
        if frame is None:
            continue
        recorded = rows_of_steps(trace, selection, frame, "step")
        joined = _joined(recorded, own)
        if spec is RECORDED_STEP_TRACE:
            joined = _with_mean(trace, joined)
        of_passes = no_phases(trace) or f"{NOT_OURS} {NO_PASS}"
        reasons = {key: of_passes if key in _OF_PASSES else NOT_OURS for key in own.columns}
        reasons["step"] = NO_STEP
        tables.append(recorded_table(spec, joined, reasons))
    return tables


def _with_mean(trace: Trace, steps: pl.DataFrame) -> pl.DataFrame:
    """The steps, and behind them the mean of the file if it has one, whatever is selected."""
    mean = recorded_frame(trace, "recorded_mean_step")
    if mean is None:
        return steps
    row = mean.head(1).with_columns(step=pl.lit(MEAN, pl.String))
    return pl.concat((steps, row), how="diagonal")


def recorded_series(tables: Iterable[Table]) -> dict[str, Series]:
    """Curves of the parts over the recorded steps, without the mean; none of fewer than two steps,
    of steps without numbers, or of several devices."""
    drawn = {}
    for table in tables:
        keys = _DRAWN.get(table.spec.name, ())
        steps = table.frame.filter(pl.col("step").ne_missing(MEAN)).with_columns(
            pl.col("step").cast(pl.Float64, strict=False)
        )
        if not keys or steps.height < 2 or not _is_curve(steps["step"]):
            continue
        steps = steps.sort("step").gather_every(-(-steps.height // MAX_POINTS))
        titles = {column.key: column.title for column in table.spec.columns}
        lines = tuple(
            Line(titles[key], steps["step"].to_list(), steps[key].to_list())
            for key in keys
            if steps[key].is_not_null().any()
        )
        title = f"{table.spec.title}: parts of the steps"
        drawn[table.spec.name] = Series(title, "line", "Step", None, "Time", "us", lines)
    return drawn


def _is_curve(step: pl.Series) -> bool:
    return not step.null_count() and step.is_unique().all()


def _joined(recorded: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """The rows with our figures of the step of the same name; of what is told of the whole
    recording with those of its only step."""
    of_step = own.unique("step", keep="none")
    if recorded["step"].null_count() == recorded.height == own.height == 1:
        return recorded.hstack(own.drop("step"))
    return recorded.join(of_step, on="step", how="left", maintain_order="left")


def _own_overlap(trace: Trace, parts: StepTrace) -> pl.DataFrame:
    compute, both, communicate, total = overlap_ns(trace, parts.windows) / NS_PER_US
    return pl.DataFrame(
        {
            "step": pl.Series(parts.windows.names, dtype=pl.String),
            "own_computing_us": compute,
            "own_communication_not_overlapped_us": communicate - both,
            "own_overlapped_us": both,
            "own_free_us": total + both - compute - communicate,
        }
    )


def _own_parts(parts: StepTrace) -> pl.DataFrame:
    passes = (parts.forward_ns + parts.backward_ns) / NS_PER_US
    known = pl.Series(parts.has_passes)
    windows = parts.windows
    frame = pl.DataFrame(
        {
            "step": pl.Series(windows.names, dtype=pl.String),
            "own_total_us": (windows.end_ns - windows.start_ns) / NS_PER_US,
            "own_interval_us": parts.interval_ns / NS_PER_US,
            "own_forward_backward_us": passes,
            "own_tail_us": parts.tail_ns / NS_PER_US,
        }
    )
    return frame.with_columns(pl.when(known).then(pl.col(key)).alias(key) for key in _OF_PASSES)
