"""Where the time goes by the tables that a tool wrote while recording, for recordings without a
timeline: parts of a step, and the types of operators with the most time."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.evidence.finding import plain_evidence, shorten
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table
from torch_tb_profiler.evidence.where_time_goes import NAMED, TITLE
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, Note, TableSpec

CODE = "recorded_time"
EVIDENCE = TableSpec(
    CODE,
    TITLE,
    "Parts of the recorded steps, and types of operators, longest first.",
    (
        Column("part", "Part", "string", None, "Part of the step, or type of operator."),
        Column("whole", "Of", "string", None, "What it is a part of."),
        CALLS,
        TOTAL_US,
        Column("share_pct", "Share", "number", "pct", "Share of that whole."),
    ),
)
REASONS = {"calls": "The table does not count it.", "share_pct": "The whole is not recorded."}
STEP = "the steps"

_PARTS = {
    "recorded_step_trace": {
        "forward_backward_us": "forward and backward",
        "tail_us": "tail",
        "interval_us": "interval before it (waiting for data)",
    },
    "recorded_steps": {
        "computing_us": "computing",
        "communication_not_overlapped_us": "communication without computation",
        "overlapped_us": "communication behind computation",
        "free_us": "free",
    },
}
"""Table → column → part of a step. ``recorded_steps`` states no length: its three exclusive parts
are the step."""

_LENGTH = {
    "recorded_step_trace": ("total_us",),
    "recorded_steps": ("computing_us", "communication_not_overlapped_us", "free_us"),
}
"""Table → the columns whose sum is the length of a step."""


def recorded_time(trace: Trace) -> Note | None:
    """The note; None where no such table has a time."""
    name = next((each for each in _PARTS if each in trace.side), None)
    sentences = ["The recording has no timeline; its own tables say where the time goes."]
    parts: list[_Row] = []
    if name is not None:
        steps = trace.side[name].frame
        length_us = steps.select(pl.sum_horizontal(_LENGTH[name])).to_series().to_numpy()
        if float(length_us.sum()) > 0:
            parts = _parts(steps, _PARTS[name], float(length_us.sum()))
            usual = duration_text(float(np.median(length_us)))
            of_all = f" (median of {steps.height:,})" if steps.height > 1 else ""
            inside = _inside(steps, float(length_us.sum()))
            sentences.append(f"A step takes {usual}{of_all}: {_listed(parts)}{inside}.")
    types = _types(trace)
    if types:
        sentences.append(f"Most operator time of {types[0][1]}: {_listed(types)}.")
    if len(sentences) == 1:
        return None
    frame = pl.DataFrame([*parts, *types], schema=EVIDENCE.polars_schema(), orient="row")
    source = (
        {"view": "phases", "table": "recorded_step_trace", "sort": "-total_us"} if parts else {}
    )
    evidence = plain_evidence(TITLE, build_table(EVIDENCE, frame, REASONS), source)
    return Note("advice", CODE, "info", " ".join(sentences), evidence)


_Row = tuple[str, str, int | None, float, float | None]


def _parts(steps: pl.DataFrame, titles: dict[str, str], length_us: float) -> list[_Row]:
    """The parts of the steps that are recorded, the longest first."""
    sums = {title: float(steps[column].sum()) for column, title in titles.items()}
    ordered = sorted(sums, key=lambda title: -sums[title])
    return [
        (title, STEP, steps.height, sums[title], sums[title] / length_us * 100)
        for title in ordered
        if sums[title] > 0
    ]


def _inside(steps: pl.DataFrame, length_us: float) -> str:
    """What the other parts hold of communication, where only its sum is recorded."""
    if "forward_backward_us" not in steps.columns or not float(steps["communication_us"].sum()):
        return ""
    share = float(steps["communication_us"].sum()) / length_us * 100
    return f"; communication, inside these, {share:.0f} %"


def _types(trace: Trace) -> list[_Row]:
    """The types of operators with the most time, of the unit with the most; shares as recorded,
    since a table may not list all types."""
    table = trace.side.get("recorded_operators")
    if table is None:
        return []
    frame = table.frame.filter(pl.col("name").is_null(), pl.col("total_us") > 0)
    units = frame.group_by("unit").agg(pl.col("total_us").sum()).sort("total_us", "unit")
    if units.is_empty():
        return []
    unit, sum_us = units.row(-1)
    largest = frame.filter(pl.col("unit").eq_missing(unit)).sort("total_us", descending=True)
    share = pl.col("pct").fill_null(pl.col("total_us") / sum_us * 100)
    rows = largest.head(NAMED).select("type", "calls", "total_us", share)
    return [(str(kind), str(unit), calls, us, pct) for kind, calls, us, pct in rows.iter_rows()]


def _listed(rows: list[_Row]) -> str:
    """``"communication 45 %, tail 42 %"``."""
    shown = (row for row in rows if row[4] is not None and row[4] >= 0.5)
    return ", ".join(f"{shorten(row[0])} {row[4]:.0f} %" for row in shown)
