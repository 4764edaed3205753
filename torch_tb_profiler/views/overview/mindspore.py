"""The parts of MindSpore Insight's overview, in figures: step trace, operators, data preparation
and timeline of a recording of MindSpore. Its assistant is the findings.

Definitions: ``docs/metrics.md#parts-of-mindspore-insight``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import polars as pl

from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Table, TableSpec

FRAMEWORK = "MindSpore"
TYPES = 4
"""Types of operators with a row of their own; the others are one row."""

Kind = Literal["whole", "share", "figure"]

MINDSPORE_PARTS = TableSpec(
    "mindspore_parts",
    "As in MindSpore Insight",
    "The main figures of each part of MindSpore Insight's overview, of the whole recording.",
    (
        Column(
            "part",
            "Part",
            "string",
            None,
            "step_trace, operators, data_preparation or timeline.",
        ),
        Column("item", "Figure", "string", None, "What the figure is about."),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "whole: what the shares below are of; share: part of it; figure: neither.",
        ),
        Column("time_us", "Time", "number", "us", "The figure, if it is a time."),
        Column("count", "Number", "integer", "count", "The figure, if it is a number."),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Share of the whole (of types of operators as the file has it); how full a queue is.",
        ),
    ),
    is_summary=True,
)


class _Row(NamedTuple):
    part: str
    item: str
    kind: Kind = "figure"
    time_us: float | None = None
    number: int | None = None
    pct: float | None = None


def mindspore_parts(trace: Trace) -> tuple[Table, ...]:
    """The table of the figures that the recording has; none of other frameworks."""
    if trace.meta.info.framework != FRAMEWORK:
        return ()
    rows = [*_step_trace(trace), *_operators(trace), *_data(trace), *_timeline(trace)]
    if not rows:
        return ()
    schema = MINDSPORE_PARTS.polars_schema()
    return (Table(MINDSPORE_PARTS, pl.DataFrame(rows, schema=schema, orient="row")),)


_PARTS_OF_STEPS = {
    "recorded_step_trace": {
        "interval_us": "Interval",
        "forward_backward_us": "Forward and Backward",
        "tail_us": "Tail",
    },
    "recorded_steps": {
        "computing_us": "Computing",
        "communication_not_overlapped_us": "Communication Exposed",
        "free_us": "Free",
    },
}
"""Table of recorded steps → its columns that add up to a step."""


def _step_trace(trace: Trace) -> Iterator[_Row]:
    """The mean step: as the file has it, else the mean of its steps."""
    table = next((each for each in _PARTS_OF_STEPS if each in trace.side), None)
    if table is None:
        return
    titles, steps = _PARTS_OF_STEPS[table], trace.side[table].frame
    own_mean = trace.side.get("recorded_mean_step") if table == "recorded_step_trace" else None
    frame = steps if own_mean is None else own_mean.frame
    means = {key: frame[key].mean() for key in (*titles, "communication_us")}
    values = {key: float(value) for key, value in means.items() if isinstance(value, float)}
    total = sum(values[key] for key in titles if key in values)
    if total <= 0:
        return
    yield _Row("step_trace", "Mean step", "whole", total, steps.height)
    for key, title in titles.items():
        if key in values:
            yield _Row("step_trace", title, "share", values[key], None, values[key] / total * 100)
    if "communication_us" in values:
        us = values["communication_us"]
        yield _Row("step_trace", "Communication", "figure", us, None, us / total * 100)


def _operators(trace: Trace) -> Iterator[_Row]:
    """The types with the most time, of the unit with the most; else of the kernels of the
    timeline by their type."""
    side = trace.side.get("recorded_operators")
    rows = _kernel_types(trace) if side is None else side.frame
    summed = rows.filter(pl.col("name").is_null())
    rows = (summed if summed.height else rows).filter(pl.col("total_us") > 0)
    types = rows.group_by("unit", "type", maintain_order=True).agg(  # the same sum each time
        pl.col("total_us", "calls").sum(),
        # A file may not list all types: then its own shares are of more than their sum.
        pct=pl.when(pl.col("pct").is_not_null().all()).then(pl.col("pct").sum()),
    )
    units = types.group_by("unit", maintain_order=True).agg(pl.col("total_us", "calls").sum())
    units = units.sort("total_us", "unit")
    for position, (unit, total_us, calls) in enumerate(units.reverse().iter_rows()):
        if position:
            yield _Row("operators", str(unit), "figure", total_us, calls)
            continue
        yield _Row("operators", str(unit), "whole", total_us, calls)
        mine = types.filter(pl.col("unit").eq_missing(unit)).sort(
            "total_us", "type", descending=[True, False]
        )
        if mine["pct"].null_count():
            mine = mine.with_columns(pct=pl.col("total_us") / total_us * 100)
        shown = mine if mine.height <= TYPES + 1 else mine.head(TYPES)
        for kind, *values in shown.select("type", "total_us", "calls", "pct").iter_rows():
            yield _Row("operators", str(kind), "share", *values)
        rest = mine.slice(shown.height)
        if rest.height:
            values = [rest[key].sum() for key in ("total_us", "calls", "pct")]
            yield _Row("operators", f"{rest.height:,} other types", "share", *values)


def _computing(trace: Trace) -> pl.DataFrame:
    """Kernels of the timeline but those of communication, with their names."""
    kinds = kernel_kinds(trace)
    work = trace.device_work.filter(pl.Series(kinds.is_kernel & ~kinds.is_communication))
    codes = work["name_code"].unique()
    names = pl.DataFrame({"name_code": codes, "name": [trace.text(code) for code in codes]})
    return work.select("name_code", "device", "stream", "dur_ns").join(
        names.cast({"name": pl.String}), on="name_code", how="left"
    )


def _kernel_types(trace: Trace) -> pl.DataFrame:
    """Kernels by type: the end of their name, without the number of the operator."""
    kernels = _computing(trace)
    kind = pl.col("name").str.replace(r"^.*/", "").str.replace(r"-op\d+$", "")
    types = kernels.group_by(kind.alias("type")).agg(
        calls=pl.len().cast(pl.Int64), total_us=pl.col("dur_ns").sum() / NS_PER_US
    )
    return types.with_columns(
        unit=pl.lit("Kernels"), name=pl.lit(None, pl.String), pct=pl.lit(None, pl.Float64)
    )


def _data(trace: Trace) -> Iterator[_Row]:
    """Batches that waited, how full the emptiest queue of the pipeline is, and GetNext."""
    part = "data_preparation"
    if "queues" in trace.side:
        queues = trace.side["queues"].frame
        for name in ("device", "host"):
            sizes = queues.filter(pl.col("queue") == name, pl.col("size").is_not_null())["size"]
            if len(sizes):
                empty = int((sizes == 0).sum())
                title = f"Batches with an empty {name} queue"
                yield _Row(part, title, "figure", None, empty, empty / len(sizes) * 100)
        wait = queues.filter(pl.col("queue") == "device")["total_us"].mean()
        if isinstance(wait, float):
            yield _Row(part, "Mean wait for a batch", "figure", wait)
    if "pipeline" in trace.side:
        pipeline = trace.side["pipeline"].frame
        filled = pipeline.filter(pl.col("queue_pct").is_not_null()).sort("queue_pct", "operation")
        yield _Row(part, "Operations of the pipeline", "figure", None, pipeline.height)
        if filled.height:
            kind, number, pct = filled.select("type", "operation", "queue_pct").row(0)
            yield _Row(part, f"Emptiest queue: {kind} ({number})", "figure", None, None, pct)


def _timeline(trace: Trace) -> Iterator[_Row]:
    """What the timeline holds besides communication: streams, operators, their calls, their time.
    MindSpore counts so in the summary beside its timeline."""
    kernels = _computing(trace)
    if kernels.is_empty():
        return
    yield _Row("timeline", "Streams", "figure", None, kernels.select("device", "stream").n_unique())
    yield _Row("timeline", "Operators", "figure", None, kernels["name_code"].n_unique())
    yield _Row(
        "timeline", "Calls", "figure", int(kernels["dur_ns"].sum()) / NS_PER_US, kernels.height
    )
