"""Reads a part of a Kineto trace: only the pieces of the file whose times overlap it.

The times in a file are sorted by thread at best, so every piece is looked at once; its bounds are
stored as an index, and another part of the same file is read without looking again. Which events
belong to a part is decided by :mod:`torch_tb_profiler.importers.cutting` at the end; what is left
out of a piece before only saves memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers.cutting import (
    RecordedTimes,
    StepTime,
    Window,
    codes_of_used,
    cut,
    cut_to_part,
    select_rows,
    step_times,
)
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.batch import EventBatch
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.kineto.file_pieces import (
    CHUNK_BYTES,
    FilePiece,
    FilePieces,
    is_plain_text,
)
from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN
from torch_tb_profiler.importers.kineto.pieces import PIECE_BYTES
from torch_tb_profiler.importers.kineto.reader import (
    native_decoder,
    no_events,
    read_events,
    read_piece,
)
from torch_tb_profiler.importers.kineto.reader import read as read_whole
from torch_tb_profiler.importers.parts import END_NS, RecordingPart
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.columns import EPOCH_NS, ColumnArrays, EventColumns
from torch_tb_profiler.trace.quality import QualityReport

P = TypeVar("P")

INDEX_VERSION = 1
PIECE_MEMORY = 1.0
"""Memory per byte of text that is decoded for a part."""


class PieceBounds(msgspec.Struct, frozen=True, array_like=True):
    """What a look at a piece says of it; times in ns as in the file.

    Attributes:
        start: Offset of its first byte.
        end: Offset after its last byte.
        first_ns: Earliest start of its events; later than ``last_ns`` if none has a time.
        last_ns: Latest end.
        first_slice_ns: Earliest start of its slices.
        is_needed: Whether it is read for every part: it names threads, has slices that begin and
            end in separate events, or ends the array.
        ends_events: Whether the event array ends in it.
    """

    start: int
    end: int
    first_ns: int
    last_ns: int
    first_slice_ns: int
    is_needed: bool
    ends_events: bool


class PieceIndex(msgspec.Struct, frozen=True):
    """The pieces of a file up to the end of its events, and its steps."""

    version: int
    size_bytes: int
    pieces: tuple[PieceBounds, ...]
    steps: tuple[StepTime, ...]

    @property
    def times(self) -> RecordedTimes:
        """The times that a part is looked up in."""
        with_times = [piece for piece in self.pieces if piece.first_ns <= piece.last_ns]
        return RecordedTimes(
            min((piece.first_slice_ns for piece in self.pieces), default=END_NS),
            max((piece.last_ns for piece in with_times), default=0),
            self.steps,
        )


class _ScannedPiece(msgspec.Struct, frozen=True):
    bounds: PieceBounds
    steps: list[StepTime]


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a part of a Kineto trace.

    Raises:
        TraceFormatError: the text has no event array, or no such part, or the part is too large.
        StorageError, OSError: the file cannot be read.
    """
    assert isinstance(source, Source), "a Kineto trace is a file"
    part = reading.options.part
    assert part is not None
    path = source.local_path(reading.progress)
    if not is_plain_text(path):  # in another encoding
        whole = replace(reading, options=replace(reading.options, part=None))
        with open(path, "rb") as file:
            chunks = iter(partial(file.read, CHUNK_BYTES), b"")
            return cut_to_part(read_whole(Source(source.name, chunks), whole), part, source.name)
    return read_part(path, part, name=source.name, reading=reading)


def read_part(
    path: str,
    part: RecordingPart,
    *,
    name: str,
    reading: Reading,
    piece_bytes: int = PIECE_BYTES,
) -> EventColumns:
    """Read a part of an uncompressed local file.

    Args:
        path: The file.
        part: The part.
        name: The file's name in messages.
        reading: How it is read.
        piece_bytes: How much text is decoded at once.

    Raises:
        TraceFormatError, OSError: as :func:`read`.
    """
    pieces = FilePieces(path, piece_bytes)
    if not pieces.has_events:
        raise no_events(pieces.header, name)
    split = list(pieces)
    index = _index(pieces, split, reading)
    times = index.times
    window = times.window(part, name)
    chosen = _choose(split, index, window)
    _check_size(chosen, reading, name)
    in_part = replace(
        reading,
        progress=lambda _: reading.progress(split[-1].end),
        read_pieces=partial(_read_cut, reading.read_pieces, window),
    )
    columns = read_events(pieces.only(chosen), name, QualityReport(), in_part, None)
    shift_ns = columns.base_ns if window.start_ns > EPOCH_NS else 0
    return cut(columns, window.shifted(shift_ns), times.shifted(shift_ns), name)


def _index(pieces: FilePieces, split: list[FilePiece], reading: Reading) -> PieceIndex:
    """The index of a file: the stored one, else that of a look at all pieces, which is stored."""
    stored = None if reading.index is None else reading.index.load()
    if stored is not None:
        try:
            index = msgspec.json.decode(stored, type=set_up(PieceIndex))
        except msgspec.MsgspecError:
            index = None
        if index is not None and _fits(index, split):
            return index
    index = _scan_pieces(pieces, split, reading)
    if reading.index is not None:
        reading.index.save(msgspec.json.encode(index))
    return index


def _fits(index: PieceIndex, split: list[FilePiece]) -> bool:
    """Whether an index is of these pieces."""
    return (
        index.version == INDEX_VERSION
        and index.size_bytes == split[-1].end
        and len(index.pieces) <= len(split)
        and all(
            (bounds.start, bounds.end) == (piece.start, piece.end)
            for bounds, piece in zip(index.pieces, split, strict=False)
        )
    )


def _scan_pieces(pieces: FilePieces, split: list[FilePiece], reading: Reading) -> PieceIndex:
    bounds: list[PieceBounds] = []
    steps: list[StepTime] = []
    scan = partial(_scan_piece, boundaries=pieces.boundaries)
    in_threads = native_decoder(pieces.boundaries) is not None
    for piece, seen in reading.read_pieces(iter(split), scan, in_threads=in_threads):
        bounds.append(seen.bounds)
        steps += seen.steps
        reading.progress(piece.end)
        if seen.bounds.ends_events:
            break
    return PieceIndex(INDEX_VERSION, split[-1].end, tuple(bounds), tuple(steps))


def _scan_piece(piece: FilePiece, boundaries: EventBoundaries) -> _ScannedPiece:
    """The bounds of a piece, and its steps."""
    batch = read_piece(piece, boundaries)
    starts, ends = [END_NS], [-END_NS]
    first_slice_ns, has_phases = END_NS, False
    steps: list[StepTime] = []
    for name, tables in batch.tables.items():
        for table in tables:
            column = "start_ns" if name == "slices" else "time_ns"
            if column not in table or not len(table[column]):
                continue
            start_ns = table[column]
            starts.append(int(start_ns.min()))
            ends.append(int(start_ns.max()))
            if name == "slices":
                ends.append(int((start_ns + np.maximum(table["dur_ns"], 0)).max()))
                first_slice_ns = min(first_slice_ns, starts[-1])
                has_phases |= bool(table[PHASE_COLUMN].any())
                steps += _steps(table, batch.strings)
    is_needed = bool(batch.declared) or has_phases or piece.is_last or batch.tail is not None
    bounds = PieceBounds(
        piece.start, piece.end, min(starts), max(ends), first_slice_ns, is_needed,
        batch.tail is not None,
    )  # fmt: skip
    return _ScannedPiece(bounds, steps)


def _steps(slices: ColumnArrays, strings: list[str]) -> list[StepTime]:
    """The steps of a piece, by the names that assembly looks at later."""
    category = slices["category"].copy()
    refine(category, slices["name_code"], strings)
    return step_times({**slices, "category": category}, strings)


def _choose(split: list[FilePiece], index: PieceIndex, window: Window) -> list[FilePiece]:
    """The pieces to read for a window: those that overlap it or are always needed, and the text
    after the events."""
    end_ns = max(window.end_ns, window.device_end_ns)
    chosen = [
        piece
        for piece, bounds in zip(split, index.pieces, strict=False)
        if bounds.is_needed or (bounds.first_ns < end_ns and bounds.last_ns >= window.start_ns)
    ]
    return chosen + split[len(index.pieces) :]


def _check_size(chosen: list[FilePiece], reading: Reading, name: str) -> None:
    """Refuse a part whose text does not fit into memory.

    Raises:
        TraceFormatError: it does not.
    """
    text_bytes = sum(piece.end - piece.start for piece in chosen)
    if text_bytes * PIECE_MEMORY > reading.max_part_bytes:
        raise TraceFormatError(
            "part_too_large",
            f"{name}: the part does not fit into memory: it takes some {text_bytes / 1e6:,.0f} MB, "
            f"and {reading.max_part_bytes / 1e6:,.0f} MB are free.",
            "Choose a shorter part.",
        )


def _read_cut(
    read_pieces: Callable[..., Iterator[tuple[P, EventBatch]]],
    window: Window,
    pieces: Iterator[P],
    read_one: Callable[[P], EventBatch],
    /,
    *,
    in_threads: bool = False,
) -> Iterator[tuple[P, EventBatch]]:
    """A piece reader that leaves out what is in no part of the window."""
    return read_pieces(pieces, partial(_cut_piece, read_one, window), in_threads=in_threads)


def _cut_piece(read_one: Callable[[P], EventBatch], window: Window, piece: P) -> EventBatch:
    return cut_batch(read_one(piece), window)


def cut_batch(batch: EventBatch, window: Window) -> EventBatch:
    """A batch without the events that are surely outside a window."""
    slices = [part for part in batch.tables.get("slices", []) if len(part["start_ns"])]
    reach = Window(window.start_ns, max(window.end_ns, window.device_end_ns), window.device_end_ns)
    is_selected = np.zeros(0, np.bool_)
    if slices:
        (table,) = slices
        is_selected = reach.overlaps(table["start_ns"], table["dur_ns"]) | (
            table[PHASE_COLUMN] != 0
        )
    selected = {
        name: [select_rows(name, table, is_selected, reach) for table in tables]
        for name, tables in batch.tables.items()
    }
    batch.tables = {
        name: remaining
        for name, tables in selected.items()
        if (remaining := [table for table in tables if len(next(iter(table.values())))])
    }
    _forget_unused(batch)
    return batch


def _forget_unused(batch: EventBatch) -> None:
    """Remove the texts and tracks that no row refers to."""
    is_text, is_track = (
        np.zeros(len(names) + 1, np.bool_) for names in (batch.strings, batch.tracks)
    )
    rows = [table for tables in batch.tables.values() for table in tables]
    for table in rows:
        for column, codes in table.items():
            if column.endswith("_code"):
                is_text[codes] = True
            elif column == "track":
                is_track[codes] = True
    text, track = codes_of_used(is_text), codes_of_used(is_track)
    for table in rows:
        for column, codes in table.items():
            if column.endswith("_code"):
                table[column] = text[codes]
            elif column == "track":
                table[column] = track[codes]
    batch.strings = [batch.strings[at] for at in np.flatnonzero(is_text[:-1]).tolist()]
    batch.tracks = [batch.tracks[at] for at in np.flatnonzero(is_track[:-1]).tolist()]
