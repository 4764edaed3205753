"""The tables of one piece, part by part."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.arguments import Given
from torch_tb_profiler.importers.pftrace.batch import DEFERRED, PacketBatch, TrackKey
from torch_tb_profiler.importers.pftrace.scopes import Scopes
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int32, Int64

DTYPES: dict[str, type[np.generic]] = {
    "packet": np.int64,
    "track": np.int32,
    "name_code": np.int32,
    "word_code": np.int32,
    "stage_code": np.int32,
    "dur_ns": np.int64,
    "event_id": np.int64,
    "slice": np.int64,
    "flow": np.int64,
    "is_end": np.int8,
    "series_code": np.int32,
    "value": np.float64,
}
TABLES: dict[str, tuple[str, ...]] = {
    "slices": ("packet", "track", "name_code", "word_code", "stage_code", "dur_ns", "event_id"),
    "ends": ("packet", "track"),
    "instants": ("packet", "track", "name_code"),
    "counters": ("packet", "track", "name_code", "series_code", "value"),
    "flows": ("slice", "flow", "is_end"),
    "submissions": ("slice", "event_id"),
}
"""Slices that begin somewhere and end elsewhere have no duration yet; ``stage_code`` is that of
slices of GPUs."""


class PieceTables:
    """What is gathered while a piece is read.

    Attributes:
        texts: Of the piece.
        scopes: Of the piece.
        default_track: Per packet, as uuid, :data:`DEFERRED` or :data:`ABSENT`.
        arguments: Of the slices so far.
        slice_count: Of the slices so far.
    """

    def __init__(self, texts: PieceTexts, scopes: Scopes, default_track: Int64) -> None:
        self.texts = texts
        self.scopes = scopes
        self.default_track = default_track
        self.arguments: Given = []
        self.slice_count = 0
        self._tracks = Interner()
        self._parts: dict[str, list[ColumnArrays]] = {}

    def add(self, name: str, table: ColumnArrays) -> None:
        """Take rows of a table of :data:`TABLES`."""
        assert set(table) == set(TABLES[name])
        self._parts.setdefault(name, []).append(table)
        if name == "slices":
            self.slice_count += table["packet"].size

    def track(self, key: TrackKey) -> int:
        """The code of a track."""
        return self._tracks[key]

    def tracks(self, uuid: Int64, packet: Int64) -> Int32:
        """Codes of the tracks of events; those without one are on the default of their packet."""
        uuid = np.where(uuid == ABSENT, self.default_track[packet], uuid)
        place = np.where(uuid <= DEFERRED, self.scopes.sequence[packet], -1)
        distinct = np.unique(uuid)
        owners = len(self.scopes.ids) + 1
        keys = np.searchsorted(distinct, uuid) * owners + place + 1
        used = np.unique(keys)
        codes = [
            self._tracks[self._key(int(distinct[key // owners]), key % owners - 1)]
            for key in used.tolist()
        ]
        return np.array(codes, np.int32)[np.searchsorted(used, keys)]

    def _key(self, uuid: int, place: int) -> TrackKey:
        if uuid == DEFERRED:
            return TrackKey("default", self.scopes.ids[place])
        if uuid == ABSENT:
            return TrackKey("sequence", self.scopes.ids[place])
        return TrackKey("track", uuid)

    def fill(self, batch: PacketBatch) -> None:
        """Give a batch all of it."""
        for name, columns in TABLES.items():
            parts = self._parts.get(name, [])
            batch.tables[name] = {
                column: np.concatenate([part[column] for part in parts]).astype(DTYPES[column])
                if parts
                else np.empty(0, DTYPES[column])
                for column in columns
            }
        batch.texts = list(self.texts.codes)
        batch.tracks = list(self._tracks)
        batch.arguments = self.arguments
