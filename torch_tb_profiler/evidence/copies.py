"""Copies between memories as evidence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.tables import (
    CALLS,
    TOTAL_BYTES,
    TOTAL_US,
    calls_and_time,
    filled,
    sum_if_known,
)
from torch_tb_profiler.views.schema import Column, Table, TableSpec

COLUMNS = (
    Column("name", "Copy", "string", None, "From which memory to which."),
    CALLS,
    TOTAL_US,
    TOTAL_BYTES,
)
REASONS = {"total_bytes": "The recording does not give the sizes of these copies."}


def declared(code: str) -> TableSpec:
    """The evidence of a finding about copies."""
    return TableSpec(
        code, "Copies", "One row per kind of copy, those that took longest first.", COLUMNS
    )


def copy_evidence(context: Context, copies: pl.DataFrame, spec: TableSpec) -> Table:
    """Copies by their kind (``Memcpy HtoD (Pageable -> Device)``), longest first."""
    kinds = calls_and_time(copies, "name_code", total_bytes=sum_if_known("bytes"))
    return filled(spec, kinds.with_columns(name=context.texts(kinds["name_code"])), REASONS)
