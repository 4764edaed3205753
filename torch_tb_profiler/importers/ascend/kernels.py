"""Kernels as ``kernel_details`` or a database describes them: blocks, units and measures."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend.chain import NONE, Slices, starting_at
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns, Int64

KERNELS: dict[str, type[pl.DataType]] = {
    "name": pl.String,
    "type": pl.String,
    "unit": pl.String,
    "start_ns": pl.Int64,  # from the epoch
    "dur_us": pl.Float64,
    "blocks": pl.Int64,
}

UNITS = {
    "AI_CORE": "AI Core",
    "AI_VECTOR_CORE": "AI Vector",
    "AI_CUBE_CORE": "AI Cube",
    "MIX_AIC": "AI Core, mainly cube",
    "MIX_AIV": "AI Core, mainly vector",
    "AI_CPU": "AI CPU",
    "HOST_CPU": "host CPU",
    "DSA_SQE": "DSA",
    "COMMUNICATION": "HCCL",
}
"""Ascend's words for what runs a kernel → ours."""


def unit_of(word: str | None) -> str | None:
    """What runs a kernel; an unknown word stays as it is."""
    return None if word is None else UNITS.get(word, word)


def units_of(words: pl.Series) -> pl.Series:
    """:func:`unit_of` of every word."""
    units: pl.Series = words.replace_strict(
        {word: unit_of(word) for word in words.drop_nulls().unique()},
        default=None,
        return_dtype=pl.String,
    )
    return units


def rows_of(columns: EventColumns, kernels: pl.DataFrame, strings: Strings) -> Int64:
    """Per described kernel its slice (row), by name and start to a ns; NONE where it has none."""
    slices = columns.tables["slices"]
    rows = np.flatnonzero(slices["category"] == Category.KERNEL)
    names = strings.codes_of(kernels["name"])
    by_name = Slices(slices["name_code"], slices["start_ns"], slices["dur_ns"])
    start = kernels["start_ns"].fill_null(0).to_numpy() - columns.base_ns
    return starting_at(by_name, rows, names, start)


def add_blocks(columns: EventColumns, rows: Int64, blocks: Int64, strings: Strings) -> None:
    """Give kernels (rows of slices) the number of blocks they ran in, as their grid."""
    device = columns.tables["device"]
    known = (rows != NONE) & (blocks > 0)
    place = np.full(len(columns.tables["slices"]["start_ns"]), NONE, np.int64)
    place[device["slice"]] = np.arange(len(device["slice"]))
    distinct, of = np.unique(blocks[known], return_inverse=True)
    codes = strings.codes([f"[{count}, 1, 1]" for count in distinct.tolist()])
    at = place[rows[known]]
    device["grid_code"][at[at != NONE]] = codes[of][at != NONE]


def recorded_operators(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels summed by unit and type, with columns of the side table of that name."""
    took = pl.col("dur_us")
    grouped = kernels.group_by("unit", "type", maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64),
        total_us=took.sum(),
        mean_us=took.mean(),
        min_us=took.min(),
        max_us=took.max(),
    )
    total = grouped["total_us"].sum()
    share = pl.col("total_us") / total * 100 if total else pl.lit(None, pl.Float64)
    return grouped.sort("total_us", descending=True).with_columns(pct=share)
