"""Merges batches, in file order, into one set of tables with shared strings and tracks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from torch_tb_profiler.importers.kineto.batch import Declaration, EventBatch
from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, Interner
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, ColumnArrays, Int32, empty_table
from torch_tb_profiler.trace.quality import QualityReport

PHASE_COLUMN = "phase"
LEFT_OUT = ("empty_event", "event_dropped", "event_without_time")
"""Issues that count events which took time to read and are no slices."""


class EventBatchMerger(Struct):
    """Merges batches one by one; only columns, strings and tracks stay in memory."""

    strings: Interner = field(default_factory=Interner)
    tracks: Interner = field(default_factory=Interner)
    declared: dict[Declaration, Any] = field(default_factory=dict)
    quality: QualityReport = field(default_factory=QualityReport)
    has_fraction: bool = False
    parts: dict[str, list[ColumnArrays]] = field(default_factory=dict)
    slice_count: int = 0

    @property
    def events_read(self) -> int:
        """Slices, and events that were read in vain."""
        counts = self.quality.counts
        return self.slice_count + sum(counts.get(issue, 0) for issue in LEFT_OUT)

    def add(self, batch: EventBatch) -> None:
        """Add the next batch of the file."""
        texts = self._truncated(batch.strings)
        strings = np.array([self.strings[text] for text in texts] + [-1], np.int32)
        tracks = np.array([self.tracks[key] for key in batch.tracks], np.int32)
        for name, tables in batch.tables.items():
            for table in tables:
                renumbered = {
                    column: self._renumbered(column, values, strings, tracks)
                    for column, values in table.items()
                }
                self.parts.setdefault(name, []).append(renumbered)
        for part in batch.tables.get("slices", []):
            self.slice_count += part["start_ns"].size
        self.declared.update(batch.declared)
        self.quality.merge(batch.quality)
        self.has_fraction |= batch.has_fraction

    def _truncated(self, texts: list[str]) -> list[str]:
        too_long = sum(len(text) > MAX_TEXT_CHARS for text in texts)
        self.quality.add("text_cut", too_long)
        return [text[:MAX_TEXT_CHARS] for text in texts] if too_long else texts

    @property
    def is_empty(self) -> bool:
        """Whether the batches so far have nothing that belongs to a trace."""
        return not self.parts and not self.declared

    def _renumbered(
        self, column: str, values: npt.NDArray[Any], strings: Int32, tracks: Int32
    ) -> npt.NDArray[Any]:
        if column.endswith("_code"):
            values = strings[values]
        elif column == "track":
            values = tracks[values]
        elif column == "slice":
            values = values + self.slice_count
        return values

    def extra_tables(self, names: Iterable[str]) -> dict[str, ColumnArrays]:
        """The named tables that are not part of ``EventColumns``, if any batch has them."""
        extra = {name: parts for name in names if (parts := self.parts.pop(name, None))}
        return {
            name: {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
            for name, parts in extra.items()
        }

    def table(self, name: str) -> ColumnArrays:
        """Concatenate one table and release its parts; tables of details are sorted by slice."""
        parts = self.parts.pop(name, [])
        if not parts:
            table = empty_table(name)
            if name == "slices":
                table[PHASE_COLUMN] = np.empty(0, np.int8)
            return table
        table = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
        if "slice" in table and np.any(np.diff(table["slice"]) < 0):
            order = np.argsort(table["slice"], kind="stable")
            table = {column: values[order] for column, values in table.items()}
        dtypes = TABLE_COLUMNS[name]
        return {
            column: values.astype(dtypes.get(column, values.dtype), copy=False)
            for column, values in table.items()
        }
