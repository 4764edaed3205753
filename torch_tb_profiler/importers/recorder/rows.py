"""Collects rows of steps, batches and work from all blocks to frames, on the journal's clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.importers.recorder.values import (
    COUNT,
    DURATION,
    INVALID_VALUE,
    TIME,
    IntegerRange,
    column_values,
)
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.quality import QualityReport

ROWS_PER_FRAME = 1 << 16
"""Number of rows that are collected in lists before they become a frame."""

LEFT_OUT = "side_row_left_out"


class RowSchema(Struct, frozen=True):
    """The fields of one kind of block.

    Attributes:
        choices: Field of the block → its valid texts; the value holds for all rows.
        numbers: Fields of the block that are an integer or null; the value holds for all rows.
        columns: Column of the rows → its valid values.
        required: Columns that must not be null; the first gives the number of rows.
    """

    choices: Mapping[str, tuple[str, ...]]
    numbers: tuple[str, ...]
    columns: Mapping[str, IntegerRange]
    required: tuple[str, ...]


PHASES = ("train", "evaluation")

ROW_SCHEMAS: dict[str, RowSchema] = {
    "steps": RowSchema(
        choices={"phase": PHASES, "by": ("optimizer", "loader", "module", "program")},
        numbers=(),
        columns={
            "step": COUNT,
            "start_ns": TIME,
            "end_ns": TIME,
            "reader_ns": DURATION,
            "samples": COUNT,
        },
        required=("start_ns", "end_ns", "step"),
    ),
    "batches": RowSchema(
        choices={"phase": PHASES},
        numbers=("loader",),
        columns={
            "batch": COUNT,
            "step": COUNT,
            "start_ns": TIME,
            "wait_ns": DURATION,
            "ready": COUNT,
            "capacity": COUNT,
            "samples": COUNT,
            "worker": COUNT,
        },
        required=("start_ns",),
    ),
    "work": RowSchema(
        choices={},
        numbers=("loader", "worker"),
        columns={
            "batch": COUNT,
            "start_ns": TIME,
            "fetch_ns": DURATION,
            "transform_ns": DURATION,
            "collate_ns": DURATION,
            "pin_ns": DURATION,
            "transfer_ns": DURATION,
            "samples": COUNT,
        },
        required=("start_ns",),
    ),
}
"""Kind of block → its fields."""


class RowCollector(Struct):
    """Collects the rows of one kind of block.

    Attributes:
        schema: Their fields.
        quality: Gets the number of invalid values and of rows that are left out or repeated.
    """

    schema: RowSchema
    quality: QualityReport
    _pending: dict[str, list[Any]] = field(default_factory=dict)
    _frames: list[pl.DataFrame] = field(default_factory=list)
    _is_in_order: bool = False

    def add(self, block: dict[str, Any]) -> None:
        """Add the rows of a block."""
        main = block.get(self.schema.required[0])
        if not isinstance(main, list):
            self.quality.add(INVALID_VALUE)
            return
        size = len(main)
        shared = self._shared(block)
        if shared is None:
            self.quality.add(LEFT_OUT, size)
            return
        columns = {
            name: column_values(block, name, size, self.quality) for name in self.schema.columns
        } | {name: [value] * size for name, value in shared.items()}
        for name, values in columns.items():
            self._pending.setdefault(name, []).extend(values)
        if len(self._pending["start_ns"]) >= ROWS_PER_FRAME:
            self._pack()

    def frame(self) -> pl.DataFrame:
        """All rows in order of their start, without repetitions; times in ns since 1970, null if
        absent."""
        self._pack()
        if len(self._frames) != 1 or not self._is_in_order:
            collected = pl.concat([pl.DataFrame(schema=self._schema()), *self._frames])
            rows = collected.sort("start_ns", maintain_order=True)
            if (rows["start_ns"].diff() == 0).any():  # else no row is repeated
                rows = rows.unique(keep="first", maintain_order=True)
            self.quality.add("journal_repeated", collected.height - rows.height)
            self._frames, self._is_in_order = [rows], True
        return self._frames[0]

    def keep_loaders(self, loaders: pl.Series) -> None:
        """Leave out the rows of other loaders than these; those of no loader stay."""
        is_selected = pl.col("loader").is_null() | pl.col("loader").is_in(loaders.implode())
        self._frames = [self.frame().filter(is_selected)]

    def _shared(self, block: dict[str, Any]) -> dict[str, Any] | None:
        """The fields that all rows of a block share; None if one is invalid."""
        shared: dict[str, Any] = {}
        for name, choices in self.schema.choices.items():
            if block.get(name) not in choices:
                return None
            shared[name] = block[name]
        for name in self.schema.numbers:
            value = block.get(name)
            shared[name] = COUNT.validate(value, self.quality)
            if value is not None and shared[name] is None:
                return None
        return shared

    def _schema(self) -> dict[str, Any]:
        texts = dict.fromkeys(self.schema.choices, pl.String)
        return {**dict.fromkeys((*self.schema.columns, *self.schema.numbers), pl.Int64), **texts}

    def _pack(self) -> None:
        if not self._pending:
            return
        columns: dict[str, Any] = {}
        for name, values in self._pending.items():
            if name in self.schema.columns:
                columns[name] = self.schema.columns[name].validate_column(values, self.quality)
            else:
                columns[name] = values
        self._pending, self._is_in_order = {}, False
        is_valid = np.all([columns[name] != ABSENT for name in self.schema.required], axis=0)
        if "end_ns" in columns:
            is_valid &= columns["end_ns"] >= columns["start_ns"]
        self.quality.add(LEFT_OUT, int((~is_valid).sum()))
        frame = pl.DataFrame(columns, schema=self._schema()).filter(pl.Series(is_valid))
        self._frames.append(
            frame.with_columns(pl.col(name).replace(ABSENT, None) for name in self.schema.columns)
        )
