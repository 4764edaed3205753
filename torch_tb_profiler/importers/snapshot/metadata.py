"""Texts that programs and PyTorch attach to allocator events (torch >= 2.9: ``user_metadata``,
torch >= 2.15: also ``internal_metadata``; dictionaries as JSON text)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

METADATA_KEYS = ("user_metadata", "internal_metadata")
MAX_TEXTS = 100_000
"""Events with further distinct texts have none, and are counted."""

MAX_CHARS = 2000
"""Longer texts are cut."""

MAX_ITEMS = 64
"""Dictionaries with more items, or with other than plain values, are no metadata."""

_NONE = -1

Pairs = tuple[Int64, Int64]


class MetadataTexts:
    """The texts of the entries of a snapshot.

    A text that several entries share is in the pickle once; the others refer to it by its memo
    index, which is resolved in the end.

    Attributes:
        left_out: How many values were left out because there are too many distinct texts.
    """

    def __init__(self, memo: Mapping[int, object]) -> None:
        """Start without texts.

        Args:
            memo: The memo of the pickle machine, without texts that were decoded in bulk.
        """
        self.left_out = 0
        self._memo = memo
        self._codes: dict[str, int] = {}
        self._code_of_bytes: dict[bytes, int] = {}
        self._single: dict[str, list[tuple[int, int]]] = {key: [] for key in METADATA_KEYS}
        self._given: dict[str, list[Pairs]] = {key: [] for key in METADATA_KEYS}
        self._references: dict[str, list[Pairs]] = {key: [] for key in METADATA_KEYS}
        self._memoized: list[Pairs] = []

    def add(self, key: str, row: int, value: object) -> None:
        """Add the text of one entry, if the value is one."""
        code = self.code(value)
        if code != _NONE:
            self._single[key].append((row, code))

    def add_texts(self, key: str, rows: Int64, codes: Int64, memo_index: Int64) -> None:
        """Add the texts of many entries, as codes, each with its memo index."""
        self._given[key].append((rows, codes))
        self._memoized.append((memo_index, codes))

    def add_references(self, key: str, rows: Int64, memo_index: Int64) -> None:
        """Add the texts of entries that refer to the memo."""
        if rows.size:
            self._references[key].append((rows, memo_index))

    def code_of_bytes(self, data: bytes) -> int:
        """The code of a text in UTF-8."""
        code = self._code_of_bytes.get(data)
        if code is None:
            code = self.code(data.decode("utf-8", "replace"))
            if len(self._code_of_bytes) < MAX_TEXTS:
                self._code_of_bytes[data] = code
        return code

    def code(self, value: object) -> int:
        """The code of a value; -1 for an empty one and one that is no text."""
        text = _plain_json(value) if isinstance(value, dict) else value
        if not isinstance(text, str) or not text:
            return _NONE
        text = text[:MAX_CHARS]
        if text not in self._codes and len(self._codes) >= MAX_TEXTS:
            self.left_out += 1
            return _NONE
        return self._codes.setdefault(text, len(self._codes))

    def frame(self, entry_rows: Int64 | slice, entry_count: int) -> pl.DataFrame:
        """The side table ``snapshot_metadata``.

        Args:
            entry_rows: Per event the row of its entry.
            entry_count: How many entries there are.
        """
        schema = SIDE_SCHEMAS["snapshot_metadata"]
        codes = {key: self._column(key, entry_count) for key in METADATA_KEYS}
        if all(column is None for column in codes.values()):
            return pl.DataFrame(schema=schema)
        texts = pl.Series([*self._codes], dtype=pl.String)
        columns = {}
        for key, column in codes.items():
            known = np.full(entry_count, _NONE, np.int64) if column is None else column
            columns[key] = known[entry_rows]
        events = np.flatnonzero(np.any([column != _NONE for column in columns.values()], axis=0))
        given = {
            key: texts.gather(pl.Series(column[events]).replace(_NONE, None))
            for key, column in columns.items()
        }
        return pl.DataFrame({"event": events, **given}, schema)

    def _column(self, key: str, count: int) -> Int64 | None:
        parts = [*self._given[key]]
        if self._single[key]:
            row, code = (np.array(each) for each in zip(*self._single[key], strict=True))
            parts.append((row, code))
        for rows, memo_index in self._references[key]:
            parts.append((rows, self._codes_in_memo(memo_index)))
        if not any((codes != _NONE).any() for _, codes in parts):
            return None
        column = np.full(count, _NONE, np.int64)
        for rows, codes in parts:
            column[rows] = codes
        return column

    def _codes_in_memo(self, memo_index: Int64) -> Int64:
        """The codes of texts in the memo; -1 for what is no text."""
        distinct, row = np.unique(memo_index, return_inverse=True)
        codes = np.array([self.code(self._memo.get(index)) for index in distinct.tolist()])
        if self._memoized:
            known, known_codes = (
                np.concatenate(part) for part in zip(*self._memoized, strict=True)
            )
            order = np.argsort(known, kind="stable")
            known, known_codes = known[order], known_codes[order]
            at = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
            codes = np.where((known[at] == distinct) & (codes == _NONE), known_codes[at], codes)
        return codes[row]


def _plain_json(value: dict[object, object]) -> str | None:
    """A dictionary of plain values as JSON text; None for another one."""
    if len(value) > MAX_ITEMS or not all(isinstance(key, str) for key in value):
        return None
    if not all(isinstance(each, str | int | float | bool | None) for each in value.values()):
        return None
    return json.dumps(value)
