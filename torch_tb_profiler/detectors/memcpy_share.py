"""Memory copies that no kernel overlaps."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import intersect, union
from torch_tb_profiler.analysis.communication.roles import Role, exclusive_intervals
from torch_tb_profiler.analysis.idle.waits import Wait, copy_directions
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.sources import heaviest_operator_source
from torch_tb_profiler.evidence.tables import (
    CALLS,
    TOTAL_BYTES,
    TOTAL_US,
    build_table,
    sum_calls,
    sum_if_known,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Table, TableSpec

CODE = "memcpy_share"
EVIDENCE = TableSpec(
    CODE,
    "Copies",
    "One row per kind of copy, longest total time first.",
    (
        Column("name", "Copy", "string", None, "Source and destination memory."),
        CALLS,
        TOTAL_US,
        TOTAL_BYTES,
    ),
)
REASONS = {"total_bytes": "The recording has no sizes of these copies."}
BATCHES = "batches"
"""The text variant of uploads in a program that loads batches."""
VARIANTS = {Wait.UPLOAD: "upload", Wait.FETCH: "fetch", Wait.COPY: "device"}


def detect(context: Context) -> Finding | None:
    """Copies take more than the threshold of the step while no kernel runs.

    The gain is the part of that time that something waits for; copies to a device can overlap with
    computation only as long as that takes.
    """
    share = context.share_pct(context.role_ns(Role.MEMCPY))
    if share <= entry(CODE).threshold:
        return None
    copies = context.work.filter(pl.col("category") == Category.MEMCPY)
    if copies.is_empty():  # they started before the steps
        return None
    dur = copies["dur_ns"].to_numpy()
    start = copies["start_ns"].to_numpy()
    variant = _variant(context, copies)
    longest = copies.row(int(dur.argmax()), named=True)
    operator = heaviest_operator_source(context, indices(copies["owner"]), dur)
    exposed = intersect(exclusive_intervals(context.trace)[Role.MEMCPY], union(start, start + dur))
    return Finding(
        CODE,
        share,
        _gain_us(context, copies, variant) or None,
        evidence=_rows(context, copies),
        source=operator or {"view": "overview", "table": "steps", "sort": "-memcpy_us"},
        architecture=context.architecture_name,
        variant=variant,
        time=context.within_steps(exposed),
        spot=context.spot(
            longest["start_ns"], longest["start_ns"] + longest["dur_ns"], longest["slice"]
        ),
        at_stake_us=context.role_ns(Role.MEMCPY) / NS_PER_US,
    )


def _gain_us(context: Context, copies: pl.DataFrame, variant: str) -> float | None:
    gain_us = context.device_gain_us(copies, copies["dur_ns"].to_numpy())
    if gain_us is None or variant not in ("upload", BATCHES):
        return gain_us
    return min(gain_us, context.role_ns(Role.KERNEL) / NS_PER_US)


def _variant(context: Context, copies: pl.DataFrame) -> str:
    """The text variant of the direction with most of the time."""
    directions, dur_ns = copy_directions(context.trace, copies), copies["dur_ns"].to_numpy()
    times = {way: int(dur_ns[directions == way].sum()) for way in VARIANTS}
    variant = VARIANTS[max(times, key=lambda way: times[way])]
    is_of_batches = variant == "upload" and context.ranges_of(Category.DATALOADER).height > 0
    return BATCHES if is_of_batches else variant


def _rows(context: Context, copies: pl.DataFrame) -> Table:
    """Copies by their kind (``Memcpy HtoD (Pageable -> Device)``), longest first."""
    kinds = sum_calls(copies, "name_code", total_bytes=sum_if_known("bytes"))
    return build_table(
        EVIDENCE, kinds.with_columns(name=context.texts(kinds["name_code"])), REASONS
    )
