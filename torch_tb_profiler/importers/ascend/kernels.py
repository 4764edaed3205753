"""Kernels as described by ``kernel_details`` or a database: blocks, units and times."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend.chain import NONE, SliceTimes, starting_at
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

UNIT_LABELS = {
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
"""Ascend's name of the unit that runs a kernel → its label."""


def unit_label(word: str | None) -> str | None:
    """The label of the unit that runs a kernel; an unknown word stays as it is."""
    return None if word is None else UNIT_LABELS.get(word, word)


def unit_labels(words: pl.Series) -> pl.Series:
    """:func:`unit_label` of every value."""
    units: pl.Series = words.replace_strict(
        {word: unit_label(word) for word in words.drop_nulls().unique()},
        default=None,
        return_dtype=pl.String,
    )
    return units


def match_slices(columns: EventColumns, kernels: pl.DataFrame, strings: Strings) -> Int64:
    """Per kernel the row of its slice, matched by name and start (within 1 ns); NONE if none
    matches."""
    slices = columns.tables["slices"]
    rows = np.flatnonzero(slices["category"] == Category.KERNEL)
    names = strings.codes_of(kernels["name"])
    by_name = SliceTimes(slices["name_code"], slices["start_ns"], slices["dur_ns"])
    start = kernels["start_ns"].fill_null(0).to_numpy() - columns.base_ns
    return starting_at(by_name, rows, names, start)


def add_blocks(columns: EventColumns, rows: Int64, blocks: Int64, strings: Strings) -> None:
    """Set the grid of kernels (rows of slices) to their number of blocks."""
    device = columns.tables["device"]
    known = (rows != NONE) & (blocks > 0)
    device_row = np.full(len(columns.tables["slices"]["start_ns"]), NONE, np.int64)
    device_row[device["slice"]] = np.arange(len(device["slice"]))
    distinct, inverse = np.unique(blocks[known], return_inverse=True)
    codes = strings.codes([f"[{count}, 1, 1]" for count in distinct.tolist()])
    row = device_row[rows[known]]
    device["grid_code"][row[row != NONE]] = codes[inverse][row != NONE]


def sum_by_unit_and_type(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernel times by unit and type, with the columns of the side table ``recorded_operators``."""
    duration = pl.col("dur_us")
    grouped = kernels.group_by("unit", "type", maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64),
        total_us=duration.sum(),
        mean_us=duration.mean(),
        min_us=duration.min(),
        max_us=duration.max(),
    )
    total = grouped["total_us"].sum()
    share = pl.col("total_us") / total * 100 if total else pl.lit(None, pl.Float64)
    return grouped.sort("total_us", descending=True).with_columns(pct=share)
