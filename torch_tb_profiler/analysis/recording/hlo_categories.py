"""Categories of HLO operations in recordings of XLA programs."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

FORMATS = ("xplane",)
"""Formats whose device work and operators are HLO operations."""


@per_trace
def hlo_texts(trace: Trace) -> Mapping[int, tuple[str, ...]]:
    """Code of the name of an operation → the texts that may say what it does, its category first;
    empty for recordings of other programs. Of several categories of one name the first counts."""
    if trace.meta.format not in FORMATS:
        return {}
    rows = trace.slices.group_by("name_code").agg(pl.col("raw_category_code").drop_nulls().first())
    return {
        name: tuple(text for text in (trace.text(category), trace.text(name)) if text)
        for name, category in rows.iter_rows()
    }
