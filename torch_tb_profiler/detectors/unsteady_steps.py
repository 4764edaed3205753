"""The selected steps vary much, and a range of them varies far less."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.steps.iterations.split import split_of
from torch_tb_profiler.analysis.steps.iterations.steady import steadiness
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "unsteady_steps"
EVIDENCE = TableSpec(
    CODE,
    "Steps",
    "One row per selected step, the longest first.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        Column("total_us", "Total time", "number", "us", "Time from start to end."),
        Column(
            "is_steady",
            "In the steady range",
            "boolean",
            None,
            "Whether it is part of the steady range.",
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """The selected steps vary by more than the threshold, and a range of them by clearly less. Not
    for executions of an inference engine, which vary with the requests. A finding of
    ``uneven_steps``, which names the long ones, supersedes this one.

    Selecting other steps saves no time, so there is no gain.
    """
    known, steady = entry(CODE), steadiness(context.trace, context.selection)
    if steady.first is None or steady.variation is None or steady.steady_variation is None:
        return None
    is_serving = split_of(context.trace).by.kind != "steps" and not is_training(context.trace)
    if is_serving:
        return None
    windows = context.windows
    total_ns = windows.end_ns - windows.start_ns
    first = windows.names.index(steady.first) if steady.first in windows.names else 0
    position = np.arange(len(total_ns))
    inside = (position >= first) & (position < first + steady.iterations)
    order = np.argsort(-total_ns, kind="stable")
    rows = pl.DataFrame(
        {
            "step": [windows.names[row] for row in order.tolist()],
            "total_us": microseconds(pl.Series(total_ns[order])),
            "is_steady": inside[order],
        }
    )
    longest = int(total_ns.argmax())
    return Finding(
        CODE,
        steady.variation * 100,
        None,
        values={
            "first": steady.first,
            "last": steady.last,
            "steady": steady.steady_variation * 100,
        },
        evidence=build_table(EVIDENCE, rows.head(int(known.parameters["max_rows"]))),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        spot=context.spot(windows.start_ns[longest], windows.end_ns[longest]),
    )
