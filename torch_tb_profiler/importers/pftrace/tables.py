"""The tables of one piece, collected while it is decoded."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.arguments import NamedArguments
from torch_tb_profiler.importers.pftrace.batch import DEFERRED, PacketBatch, TrackKey
from torch_tb_profiler.importers.pftrace.scopes import Scopes
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int32, Int64

DTYPES: dict[str, type[np.generic]] = {
    "packet": np.int64,
    "track": np.int32,
    "name_code": np.int32,
    "raw_category_code": np.int32,
    "stage_code": np.int32,
    "dur_ns": np.int64,
    "event_id": np.int64,
    "slice": np.int64,
    "flow": np.int64,
    "is_end": np.int8,
    "series_code": np.int32,
    "value": np.float64,
    "resets": np.int64,
}
TABLES: dict[str, tuple[str, ...]] = {
    "slices": (
        "packet",
        "track",
        "name_code",
        "raw_category_code",
        "stage_code",
        "dur_ns",
        "event_id",
    ),
    "ends": ("packet", "track"),
    "instants": ("packet", "track", "name_code"),
    "counters": ("packet", "track", "name_code", "series_code", "value", "resets"),
    "flows": ("slice", "flow", "is_end"),
    "submissions": ("slice", "event_id"),
}
"""Table → columns. Slices from separate begin and end events have no duration yet; ``stage_code``
is the render stage of GPU slices, ``resets`` says how often the sequence of a counter was reset."""


class PieceTables:
    """The rows of the tables of a piece.

    Attributes:
        texts: The texts of the piece.
        scopes: The scopes of the piece.
        default_track: Per packet the uuid of its default track, :data:`DEFERRED` or
            :data:`ABSENT`.
        arguments: The arguments of slices so far.
        slice_count: Number of slices so far.
    """

    def __init__(self, texts: PieceTexts, scopes: Scopes, default_track: Int64) -> None:
        self.texts = texts
        self.scopes = scopes
        self.default_track = default_track
        self.arguments: NamedArguments = []
        self.slice_count = 0
        self._tracks = Interner()
        self._parts: dict[str, list[ColumnArrays]] = {}

    def add(self, name: str, table: ColumnArrays) -> None:
        """Add rows to a table of :data:`TABLES`."""
        assert set(table) == set(TABLES[name])
        self._parts.setdefault(name, []).append(table)
        if name == "slices":
            self.slice_count += table["packet"].size

    def track(self, key: TrackKey) -> int:
        """The code of a track."""
        return self._tracks[key]

    def tracks(self, uuid: Int64, packet: Int64) -> Int32:
        """Codes of the tracks of events; events without one use the default of their packet."""
        uuid = np.where(uuid == ABSENT, self.default_track[packet], uuid)
        sequence = np.where(uuid <= DEFERRED, self.scopes.sequence[packet], -1)
        distinct = np.unique(uuid)
        owners = len(self.scopes.ids) + 1
        keys = np.searchsorted(distinct, uuid) * owners + sequence + 1
        used = np.unique(keys)
        codes = [
            self._tracks[self._key(int(distinct[key // owners]), key % owners - 1)]
            for key in used.tolist()
        ]
        return np.array(codes, np.int32)[np.searchsorted(used, keys)]

    def _key(self, uuid: int, sequence: int) -> TrackKey:
        if uuid == DEFERRED:
            return TrackKey("default", self.scopes.ids[sequence])
        if uuid == ABSENT:
            return TrackKey("sequence", self.scopes.ids[sequence])
        return TrackKey("track", uuid)

    def fill(self, batch: PacketBatch) -> None:
        """Move all rows, texts, tracks and arguments into a batch."""
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
