"""The tables of the pipeline: passes of one step, and the bubble of each stage."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.clocks import clock_offsets
from torch_tb_profiler.analysis.parallel.pipelines import Pipelines
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Note, Table
from torch_tb_profiler.views.strategy.columns import BUBBLES, PIPELINE

MAX_PASSES = 20_000
"""More rows are no picture."""

NO_MINIMUM = (
    "No formula for this schedule: its bubble depends on the durations of passes, or the order of "
    "passes is none that is known."
)
NOT_NAMED = "No range names the stage: the rank holds one, or it is unknown."


def pipeline_tables(
    traces: Mapping[str, Trace], job: Pipelines
) -> tuple[tuple[Table, Table], tuple[Note, ...]]:
    """The tables ``bubbles`` and ``pipeline``, and what limits them."""
    bubbles = _bubbles(job)
    shown, notes = _passes(traces, job)
    return (bubbles, shown), (*_stage_notes(job), *notes)


def _bubbles(job: Pipelines) -> Table:
    rows = (
        job.stages.group_by("stage")
        .agg(
            pl.col("worker").n_unique().cast(pl.Int64).alias("ranks"),
            pl.len().cast(pl.Int64).alias("steps"),
            pl.col("microbatches").median().round().alias("microbatches"),
            pl.col("span_ns", "busy_ns", "forward_ns").sum(),
            pl.col("passes").sum(),
        )
        .sort("stage")
    )
    steps = rows["steps"]
    bubble = pl.col("span_ns") - pl.col("busy_ns")
    rows = rows.with_columns(bubble_ns=bubble, backward_ns=pl.col("busy_ns") - pl.col("forward_ns"))
    minimum = None if job.minimum is None else 100 * job.minimum
    times = ("span", "busy", "forward", "backward", "bubble")
    shown = rows.with_columns(
        *(microseconds(rows[f"{key}_ns"], steps).alias(f"{key}_us") for key in times),
        bubble_pct=pl.when(pl.col("span_ns") > 0).then(
            100 * pl.col("bubble_ns") / pl.col("span_ns")
        ),
        minimum_pct=pl.lit(minimum, pl.Float64),
        schedule=pl.lit(job.schedule, pl.String),
    )
    table = shown.select(pl.col(key).cast(dtype) for key, dtype in BUBBLES.polars_schema().items())
    return Table(BUBBLES, table, needed(table, {"minimum_pct": NO_MINIMUM}))


def _passes(traces: Mapping[str, Trace], job: Pipelines) -> tuple[Table, tuple[Note, ...]]:
    """The passes of the pipeline and step whose length is the median one."""
    each = job.stages.group_by("pipeline", "step", maintain_order=True).agg(
        pl.col("span_ns").first(), pl.col("stage").n_unique().alias("stages")
    )
    whole = each.filter(pl.col("stages") == pl.col("stages").max())
    ordered = whole.sort("span_ns", "pipeline", "step")
    usual = ordered.slice((ordered.height - 1) // 2, 1) if ordered.height else ordered
    passes = job.passes.join(usual.select("pipeline", "step"), on=["pipeline", "step"])
    workers = list(traces)
    chosen = {workers[number]: traces[workers[number]] for number in passes["worker"].unique()}
    offsets, notes = _offsets(chosen)
    ranks = [trace.meta.info.job.rank if trace.meta.info.job else None for trace in traces.values()]
    names = pl.Series(workers, dtype=pl.String).gather(passes["worker"])
    shift = names.replace_strict(offsets, default=0, return_dtype=pl.Int64)
    rows = passes.with_columns(
        start_ns=pl.col("start_ns") + shift,
        worker=names,
        rank=pl.Series(ranks, dtype=pl.Int64).gather(passes["worker"]),
        dur_ns=pl.col("end_ns") - pl.col("start_ns"),
    ).sort("start_ns")
    rows = rows.with_columns(start_ns=pl.col("start_ns") - pl.col("start_ns").min())
    shown = rows.with_columns(
        start_us=microseconds(rows["start_ns"]), duration_us=microseconds(rows["dur_ns"])
    ).head(MAX_PASSES)
    table = shown.select(pl.col(key).cast(dtype) for key, dtype in PIPELINE.polars_schema().items())
    reasons = {"chunk": NOT_NAMED, "rank": "The rank was not recorded."}
    return Table(PIPELINE, table, needed(table, reasons)), notes


def _offsets(chosen: Mapping[str, Trace]) -> tuple[dict[str, int], tuple[Note, ...]]:
    """By worker what turns its times into those of the first one; ranks that share no collective
    or transfer with it keep theirs, which a note says."""
    if len(chosen) < 2:
        return {}, ()
    clocks = clock_offsets(chosen, next(iter(chosen)))
    unknown = [worker for worker in chosen if worker not in clocks]
    notes = []
    if unknown:
        text = (
            f"The clocks of {len(unknown)} of the {len(chosen)} ranks in the pipeline chart are "
            "not aligned: nothing that they share with the first rank is recorded."
        )
        notes.append(Note("quality", "clocks_unaligned", "info", text, {"workers": unknown}))
    return {worker: clock.offset_ns for worker, clock in clocks.items()}, tuple(notes)


def _stage_notes(job: Pipelines) -> tuple[Note, ...]:
    recorded = job.stages["stage"].n_unique()
    if not recorded or recorded >= job.stage_count:
        return ()
    text = (
        f"Recordings of {recorded} of {job.stage_count} pipeline stages are loaded. The "
        "pipeline may last longer than shown, and its bubble be larger."
    )
    evidence: dict[str, object] = {
        "stages": job.stage_count,
        "recorded": recorded,
        "columns": ["span_us", "bubble_us", "bubble_pct"],
    }
    return (Note("quality", "stages_missing", "warning", text, evidence),)
