"""Ranks that differ from the others in figures that a tool wrote to the files of the recording.

These files need no timeline: they are compared also where no rank has recorded steps.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.reported_by_profiler import rows_of_steps
from torch_tb_profiler.evidence.finding import plain_evidence, shorten
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.recorded_ranks import RankFigure, recorded_ranks_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, Note, TableSpec

CODE = "slow_rank"
EVIDENCE = TableSpec(
    CODE,
    "Ranks as recorded",
    "One row per rank, the slowest first: the mean of the recorded figure over its steps.",
    (
        Column("worker", "Worker", "string", None, "Worker whose file holds the figure."),
        Column("stage", "Pipeline Stage", "integer", None, "Stage it is compared within."),
        Column("value", "Value", "number", None, "The figure: µs, or FLOP/s."),
        Column("mean", "Mean", "number", None, "Mean of the ranks of the stage."),
        Column("differs_pct", "Differs", "number", "pct", "How much worse it is than the mean."),
    ),
)
_NO_STAGE = {"stage": "The worker is in no pipeline."}
_SCHEMA = {
    "worker": pl.String, "stage": pl.Int64, "value": pl.Float64, "whole": pl.Float64,
}  # fmt: skip


def slow_ranks(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    """A note per figure in which a rank is worse than the mean by more than the threshold.

    Raises:
        SelectionError: steps that are malformed or in no worker.
    """
    notes = (_note(figure, traces, selection) for figure in recorded_ranks_file().figures)
    return tuple(note for note in notes if note is not None)


def _note(figure: RankFigure, traces: Mapping[str, Trace], selection: Selection) -> Note | None:
    limits = recorded_ranks_file()
    rows = [
        row
        for worker, trace in traces.items()
        if (row := _mean_of(figure, worker, trace, selection)) is not None
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    sign = 1 if figure.worse == "higher" else -1
    mean = pl.col("value").mean().over("stage")
    compared = frame.filter(pl.len().over("stage") > 1).with_columns(
        mean=mean, differs_pct=sign * (pl.col("value") / mean - 1) * 100
    )
    costs = (pl.col("value") - pl.col("mean")).abs() * 100
    is_slow = (pl.col("differs_pct") > limits.slower_pct) & (
        pl.col("whole").is_null() | (costs >= limits.least_share_pct * pl.col("whole"))
    )
    ordered = compared.sort("differs_pct", "worker", descending=[True, False])
    slow = ordered.filter(is_slow)
    if not slow.height:
        return None
    worst = slow.row(0, named=True)
    values = {key: _text(figure, worst[key]) for key in ("value", "mean")}
    text = figure.text.format(
        worker=shorten(worst["worker"]),
        differs=worst["differs_pct"],
        threshold=limits.slower_pct,
        source=traces[worst["worker"]].side[figure.table].source,
        **values,
    )
    table = build_table(EVIDENCE, ordered, _NO_STAGE)
    evidence = plain_evidence(figure.title, table) | {
        "measured": worst["differs_pct"],
        "unit": "pct",
        "threshold": limits.slower_pct,
    }
    return Note("advice", CODE, "warning", text, evidence)


def _mean_of(
    figure: RankFigure, worker: str, trace: Trace, selection: Selection
) -> tuple[str, int | None, float, float | None] | None:
    """Worker, stage, mean of the figure and of the whole step; None where it is not recorded."""
    side = trace.side.get(figure.table)
    if side is None:
        return None
    frame = side.frame
    if "step" in frame.columns:
        frame = rows_of_steps(trace, selection, frame, "step")
    if figure.level is not None:
        frame = frame.filter(pl.col("level") == figure.level)
    values = frame.filter(pl.col(figure.column) > 0)
    mean = values[figure.column].mean()
    if not isinstance(mean, float):
        return None
    stage = values["stage"][0] if "stage" in values.columns else None
    whole = values.select(pl.sum_horizontal(figure.whole).mean()).item() if figure.whole else None
    return worker, stage, mean, whole


def _text(figure: RankFigure, value: float) -> str:
    if figure.column.endswith("_us"):
        return duration_text(value)
    return f"{value / 1e12:.3g} TFLOP/s"
