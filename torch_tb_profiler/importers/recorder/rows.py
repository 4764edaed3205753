"""Rows of steps, batches and work of all blocks, as frames on the clock of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.importers.recorder.values import (
    COUNT,
    DURATION,
    TIME,
    WRONG,
    Whole,
    column_of,
)
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.quality import QualityReport

PACK_ROWS = 1 << 16
"""So many rows are kept as they came; then they become a frame."""

LOST = "side_row_left_out"


@dataclass(frozen=True, slots=True)
class Kind:
    """The rows of one kind of block.

    Attributes:
        words: Fields of the block that are one of some texts: for all of its rows.
        numbers: Fields that are a whole number or null, likewise.
        columns: Its columns.
        needs: Columns without which a row tells nothing; the first gives the number of rows.
    """

    words: Mapping[str, tuple[str, ...]]
    numbers: tuple[str, ...]
    columns: Mapping[str, Whole]
    needs: tuple[str, ...]


PHASES = ("train", "evaluation")

KINDS: dict[str, Kind] = {
    "steps": Kind(
        words={"phase": PHASES, "by": ("optimizer", "loader", "module", "program")},
        numbers=(),
        columns={
            "step": COUNT,
            "start_ns": TIME,
            "end_ns": TIME,
            "reader_ns": DURATION,
            "samples": COUNT,
        },
        needs=("start_ns", "end_ns", "step"),
    ),
    "batches": Kind(
        words={"phase": PHASES},
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
        needs=("start_ns",),
    ),
    "work": Kind(
        words={},
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
        needs=("start_ns",),
    ),
}
"""Kind of a block → its rows."""


@dataclass(slots=True)
class Rows:
    """The rows of one kind so far.

    Attributes:
        kind: What they are.
        quality: Told of values that are wrong, and of rows that are lost or told twice.
    """

    kind: Kind
    quality: QualityReport
    _pending: dict[str, list[Any]] = field(default_factory=dict)
    _frames: list[pl.DataFrame] = field(default_factory=list)
    _is_in_order: bool = False

    def add(self, block: dict[str, Any]) -> None:
        """Take the rows of a block."""
        main = block.get(self.kind.needs[0])
        if not isinstance(main, list):
            self.quality.add(WRONG)
            return
        size = len(main)
        shared = self._shared(block)
        if shared is None:
            self.quality.add(LOST, size)
            return
        columns = {
            name: column_of(block, name, size, self.quality) for name in self.kind.columns
        } | {name: [value] * size for name, value in shared.items()}
        for name, values in columns.items():
            self._pending.setdefault(name, []).extend(values)
        if len(self._pending["start_ns"]) >= PACK_ROWS:
            self._pack()

    def frame(self) -> pl.DataFrame:
        """All rows, by start, each once: times as ns since 1970, nulls for what is absent."""
        self._pack()
        if len(self._frames) != 1 or not self._is_in_order:
            told = pl.concat([pl.DataFrame(schema=self._schema()), *self._frames])
            rows = told.sort("start_ns", maintain_order=True)
            if (rows["start_ns"].diff() == 0).any():  # else no row is told twice
                rows = rows.unique(keep="first", maintain_order=True)
            self.quality.add("journal_repeated", told.height - rows.height)
            self._frames, self._is_in_order = [rows], True
        return self._frames[0]

    def _shared(self, block: dict[str, Any]) -> dict[str, Any] | None:
        """The fields that all rows of a block share; None where one is wrong."""
        shared: dict[str, Any] = {}
        for name, words in self.kind.words.items():
            if block.get(name) not in words:
                return None
            shared[name] = block[name]
        for name in self.kind.numbers:
            value = block.get(name)
            shared[name] = COUNT.one(value, self.quality)
            if value is not None and shared[name] is None:
                return None
        return shared

    def _schema(self) -> dict[str, Any]:
        words = dict.fromkeys(self.kind.words, pl.String)
        return {**dict.fromkeys((*self.kind.columns, *self.kind.numbers), pl.Int64), **words}

    def _pack(self) -> None:
        if not self._pending:
            return
        columns: dict[str, Any] = {}
        for name, values in self._pending.items():
            if name in self.kind.columns:
                columns[name] = self.kind.columns[name].column(values, self.quality)
            else:
                columns[name] = values
        self._pending, self._is_in_order = {}, False
        kept = np.all([columns[name] != ABSENT for name in self.kind.needs], axis=0)
        if "end_ns" in columns:
            kept &= columns["end_ns"] >= columns["start_ns"]
        self.quality.add(LOST, int((~kept).sum()))
        frame = pl.DataFrame(columns, schema=self._schema()).filter(pl.Series(kept))
        self._frames.append(
            frame.with_columns(pl.col(name).replace(ABSENT, None) for name in self.kind.columns)
        )
