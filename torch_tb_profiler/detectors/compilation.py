"""torch.compile compiles inside the selected steps."""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.host_marks import (
    host_marks,
    in_steps,
    lost_time,
    outermost_slices,
    slice_intervals,
)
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "compilation"
MAX_ROWS = 10
AGAIN = re.compile(r"compile_id=\d+/[1-9]|^Torch-Compiled Region: \d+/[1-9]")
"""Ids of frames that were compiled for other inputs before: the second number counts these."""
EVIDENCE = TableSpec(
    CODE,
    "Compilation",
    "One row per outermost stage, longest total time first.",
    (Column("stage", "Stage", "string", None, "Stage of the compiler."), CALLS, TOTAL_US),
)


def detect(context: Context) -> Finding | None:
    """Compilation takes more than the threshold of the step.

    The gain is that time; if device work is recorded, the part in which no device works.
    """
    stages = _stages(context.trace)
    compiling = slice_intervals(stages)
    share = context.share_pct(context.per_step_ns(compiling))
    stages = in_steps(context, stages)
    if share <= entry(CODE).threshold or stages.is_empty():
        return None
    time = context.within_steps(lost_time(context.trace, compiling))
    gain_us = context.per_step_ns(time) / NS_PER_US
    rows = sum_calls(stages, "name_code")
    rows = rows.with_columns(stage=context.texts(rows["name_code"]))
    longest = stages.row(int(stages["dur_ns"].to_numpy().argmax()), named=True)
    start_ns = longest["start_ns"]
    return Finding(
        CODE,
        share,
        gain_us or None,
        values={"calls": stages.height},
        evidence=build_table(EVIDENCE, rows.head(MAX_ROWS)),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant="again" if _compiles_again(context.trace) else "default",
        time=time,
        spot=context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"]),
    )


@per_trace
def _stages(trace: Trace) -> pl.DataFrame:
    return outermost_slices(host_marks(trace)["compilation"])


@per_trace
def _compiles_again(trace: Trace) -> bool:
    """Whether a frame was compiled again for other inputs."""
    names = trace.slices["name_code"].unique()
    return any(AGAIN.search(str(trace.strings[code])) for code in names.to_list())
