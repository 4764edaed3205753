"""The recording has no steps, although something repeats."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.steps.iterations.key_nodes import best_key_node, key_nodes
from torch_tb_profiler.analysis.steps.iterations.split import has_recorded_steps, split_of
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "no_iterations"
MAX_ROWS = 5
EVIDENCE = TableSpec(
    CODE,
    "Key node candidates",
    "One row per operator or range that could split the recording into iterations, best first.",
    (
        Column("name", "Name", "string", None, "The operator or range."),
        Column("calls", "Calls", "integer", "count", "Number of calls."),
        Column("interval_us", "Interval", "number", "us", "Mean time between its calls."),
        Column("reason", "Why", "string", None, "Reason for its rank."),
    ),
)
REASONS = {"interval_us": "It was called once in each process."}


def detect(context: Context) -> Finding | None:
    """The recording has no steps, no key node is selected, and something is called once per
    repetition: averages over the whole recording describe no iteration."""
    trace = context.trace
    if split_of(trace).by.kind != "steps" or has_recorded_steps(trace):
        return None
    name, _ = best_key_node(trace)
    if name is None:
        return None
    candidates = key_nodes(trace).head(MAX_ROWS)
    rows = candidates.with_columns(interval_us=pl.col("interval_mean_ns") / NS_PER_US)
    first_ns, interval_ns = candidates.select("first_start_ns", "interval_mean_ns").row(0)
    end_ns = min(first_ns + int(interval_ns or 0), trace.meta.end_ns)
    return Finding(
        CODE,
        float(context.step_count),
        None,
        values={"name": name, "calls": rows["calls"][0]},
        evidence=build_table(EVIDENCE, rows, REASONS),
        source={"view": "iterations", "table": "key_nodes", "sort": "-score"},
        spot=context.spot(first_ns, end_ns),
    )
