"""The table ``slow_ranks``: why ranks are slow, where, in which steps, and what it costs the job.

Definitions: ``docs/views-ranks.md#why-a-rank-is-slow``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.ranks.causes import (
    RankCause,
    RankCauses,
    causes_by_program,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.programs import program_of
from torch_tb_profiler.views.rank_causes import location_text, ranks_text, sentence, title
from torch_tb_profiler.views.schema import Column, Table, TableSpec

MAX_STEPS = 10
"""Of more steps that a cause strikes the number is shown."""

SLOW_RANKS = TableSpec(
    "slow_ranks",
    "Why ranks are slow",
    "One row per cause that makes the steps of the job longer, most expensive first.",
    (
        Column(
            "title",
            "Cause",
            "string",
            None,
            "Slow device: the same kernels take longer. Slow host: work is launched later. "
            "Slow input: it waits for data. Slow link: transfers take longer than others of their "
            "size. More work than others: it has more to compute. Pause: garbage collection, a "
            "checkpoint or one long gap.",
        ),
        Column(
            "cause",
            "Key of the Cause",
            "string",
            None,
            "slow_device, slow_host, slow_input, slow_link, uneven_work or pause: the same in "
            "every version.",
            hidden=True,
        ),
        Column(
            "level",
            "Level",
            "string",
            None,
            "What shares the cause: a rank, a node, a switch, a pipeline stage or an expert.",
        ),
        Column(
            "location",
            "Location",
            "string",
            None,
            "Where it is. Several joined by or: the recordings do not decide between them.",
        ),
        Column("ranks", "Ranks", "string", None, "The ranks that it strikes."),
        Column(
            "pattern",
            "Pattern",
            "string",
            None,
            "In which of the recorded steps it strikes: steady, some steps, one step, or from a "
            "step on; empty where one step is compared.",
        ),
        Column("steps", "Steps", "string", None, "These steps; of many how many they are."),
        Column(
            "detail",
            "Detail",
            "string",
            None,
            "What a pause is: garbage collection or a checkpoint.",
            hidden=True,
        ),
        Column(
            "cost_us",
            "Cost",
            "number",
            "us",
            "How much longer it makes a step of the job, on average over the steps: the steps of "
            "all ranks replayed with it and without it.",
            estimated=True,
        ),
        Column(
            "cost_pct",
            "Share",
            "number",
            "pct",
            "Cost over the mean step of the job, which lasts as long as on its slowest rank.",
            estimated=True,
        ),
        Column("evidence", "Evidence", "string", None, "What the recordings show."),
    ),
    sort="-cost_us",
    when_empty="No rank, node, link or stage makes the steps longer than its peers by 1 % or more, "
    "as far as the recordings say.",
)
_ONE_STEP = "One step is compared: nothing says whether others are struck."
_NO_DETAIL = "The cause is no pause, or the recording does not say what the host does in it."


def slow_ranks_table(
    traces: Mapping[str, Trace], selection: Selection, parallel: str | None = None
) -> Table:
    """The ``slow_ranks`` table, most expensive cause first; empty where fewer than two ranks have a
    whole selected step.

    Args:
        traces: The recordings of the job, or their summaries.
        selection: Which steps.
        parallel: The parallel strategy as people give it; None detects it.

    Raises:
        SelectionError: steps are malformed, or no worker has them; a strategy that is none.
    """
    numbers = program_of(traces)
    rows = [
        _row(cause, known, numbers.get(next(iter(known.job.traces))))
        for known in causes_by_program(traces, selection, parallel)
        for cause in known.causes
    ]
    rows.sort(key=lambda row: -float(str(row["cost_us"])))
    frame = pl.DataFrame(rows, schema=SLOW_RANKS.polars_schema(), orient="row")
    return Table(SLOW_RANKS, frame, needed(frame, {"detail": _NO_DETAIL, "pattern": _ONE_STEP}))


def _row(cause: RankCause, known: RankCauses, program: int | None) -> dict[str, object]:
    location = location_text(cause)
    names = [
        name for name, struck in zip(known.job.steps, cause.steps.tolist(), strict=True) if struck
    ]
    return {
        "title": title(cause),
        "cause": cause.cause,
        "level": cause.level,
        "location": location if program is None else f"{location} of program {program}",
        "ranks": ranks_text(cause, known.job),
        "pattern": cause.pattern,
        "steps": _steps_text(names, known.job.steps),
        "detail": cause.detail,
        "cost_us": cause.cost_ns / NS_PER_US,
        "cost_pct": cause.cost_ns / known.job.step_ns * 100,
        "evidence": sentence(cause),
    }


def _steps_text(names: list[str], steps: list[str]) -> str:
    """The steps that a cause strikes: ``"all"``, a few names, or how many."""
    if len(names) == len(steps):
        return "all"
    return ", ".join(names) if len(names) <= MAX_STEPS else f"{len(names)} of {len(steps)}"
