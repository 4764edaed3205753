"""Texts of the export's dictionary (``StringIds``), added to the trace when they are used.

That table also holds captured environments and outputs of the recorded processes: only texts that a
known column refers to become part of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.lookup import positions_in

STRINGS = "StringIds"


class TraceStrings(TextCodes):
    """The string dictionary of a trace, filled from the dictionary of an export.

    Attributes:
        missing_count: Number of references to texts that the export does not have.
    """

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.missing_count = 0
        self._database = database
        self._known: tuple[Int64, pl.Series] | None = None

    def texts_of(self, ids: Int64) -> dict[int, str]:
        """The texts of the distinct values of ``ids`` that the export has."""
        wanted = distinct(ids)[0]
        return self._texts(wanted[wanted != ABSENT])

    def codes_of(self, ids: Int64, rename: Callable[[str], str] | None = None) -> Int32:
        """Per id the code of its text, -1 if it has none.

        Args:
            ids: Ids of the export's dictionary, or absent.
            rename: Applied to each distinct text first.
        """
        wanted, inverse = distinct(ids)
        texts = self._texts(wanted[wanted != ABSENT])
        return self._encode(wanted, texts, rename)[inverse]

    def _encode(
        self, wanted: Int64, texts: Mapping[int, str], rename: Callable[[str], str] | None
    ) -> Int32:
        known_texts = (texts.get(each) for each in wanted.tolist())
        return self.codes(
            text if text is None or rename is None else rename(text) for text in known_texts
        )

    def _texts(self, wanted: Int64) -> dict[int, str]:
        if not len(wanted):
            return {}
        if self._known is None:
            self._known = self._read()
        known, texts = self._known
        positions = positions_in(known, wanted)
        is_known = positions >= 0
        self.missing_count += int((~is_known).sum())
        present = texts.gather(positions[is_known]).to_list()
        pairs = zip(wanted[is_known].tolist(), present, strict=True)
        return {id_: text for id_, text in pairs if text is not None}

    def _read(self) -> tuple[Int64, pl.Series]:
        """Ids, ascending, and their texts; among several rows of an id the first counts."""
        if STRINGS not in self._database.tables:
            return np.empty(0, np.int64), pl.Series(dtype=pl.String)
        ids = self._database.ints(STRINGS, ["id"])["id"]
        texts = self._database.series(STRINGS, "value")
        known, row = np.unique(ids, return_index=True)
        if len(known) == len(ids) and np.array_equal(known, ids):
            return ids, texts
        return known, texts.gather(row)
