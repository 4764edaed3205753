"""Reads one Kineto trace: bytes in, event columns out, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.assemble import assemble
from torch_tb_profiler.importers.kineto.batch import EventBatch, build_batch
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.file_pieces import FilePiece, FilePieces, is_plain_text
from torch_tb_profiler.importers.kineto.header import read_header
from torch_tb_profiler.importers.kineto.merge import EventBatchMerger
from torch_tb_profiler.importers.kineto.piece_decoder import decode_piece
from torch_tb_profiler.importers.kineto.pieces import (
    MAX_HEADER_BYTES,
    MAX_TAIL_BYTES,
    PIECE_BYTES,
    EventPiece,
    EventPieces,
)
from torch_tb_profiler.importers.kineto.repair import parse_lenient
from torch_tb_profiler.importers.kineto.structs import Event
from torch_tb_profiler.importers.kineto.times import padded
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

AnyPiece = EventPiece | FilePiece


def read(source: AnySource, reading: Reading, dialect: Dialect | None = None) -> EventColumns:
    """Read a Kineto trace: plain text on this machine by places in the file, all else as a stream.

    Args:
        source: The file.
        reading: How.
        dialect: What it is written in; None: its content tells.

    Raises:
        TraceFormatError: the text holds no event array.
        StorageError, OSError: the file cannot be read.
    """
    assert isinstance(source, Source), "no folder is a Kineto trace"
    if source.path is not None and is_plain_text(source.path):
        return read_file(source.path, name=source.name, reading=reading, dialect=dialect)
    quality = QualityReport()
    how = replace(reading, progress=lambda _: reading.progress(source.taken_bytes))
    with closing(source.unpacked()) as unpacked:
        text = utf8(unpacked, quality)
        return read_text(text, name=source.name, quality=quality, reading=how, dialect=dialect)


def read_text(
    chunks: Iterable[bytes],
    *,
    name: str,
    quality: QualityReport | None = None,
    piece_bytes: int = PIECE_BYTES,
    reading: Reading | None = None,
    dialect: Dialect | None = None,
) -> EventColumns:
    """Read a Kineto trace from its text.

    Args:
        chunks: The decompressed text of the file, UTF-8, in pieces of any size.
        name: The file's name, for messages.
        quality: What was already found odd while unpacking.
        piece_bytes: How much text is decoded at once.
        reading: How; its progress is told after each piece how long that was.
        dialect: As :func:`read`.

    Raises:
        TraceFormatError: the text holds no event array.
    """
    pieces = EventPieces(iter(chunks), piece_bytes)
    return _read(pieces, name, quality or QualityReport(), reading or Reading(), dialect)


def read_file(
    path: str,
    *,
    name: str,
    piece_bytes: int = PIECE_BYTES,
    reading: Reading | None = None,
    dialect: Dialect | None = None,
) -> EventColumns:
    """The same from a plain text file of this machine: whoever decodes a piece reads it, too.

    Raises:
        TraceFormatError: the text holds no event array.
        OSError: the file cannot be read.
    """
    pieces = FilePieces(path, piece_bytes)
    return _read(pieces, name, QualityReport(), reading or Reading(), dialect)


def read_piece(
    piece: AnyPiece,
    cuts: EventBoundaries,
    *,
    python_frames: bool = True,
    dialect: Dialect | None = None,
) -> EventBatch:
    """One piece of the event array as columns. Pure: may run in any process, in any order.

    Raises:
        OSError: the file that holds the piece cannot be read.
    """
    if isinstance(piece, FilePiece):
        piece = piece.read()
    return _batch(piece, cuts, python_frames, dialect)


def _batch(
    piece: EventPiece, cuts: EventBoundaries, python_frames: bool, dialect: Dialect | None
) -> EventBatch:
    quality = QualityReport()
    decoded = decode_piece(piece, cuts, quality)
    if cuts.has_unpadded_times:
        quality.add("unpadded_time", _pad_times(decoded.events))
    batch = build_batch(decoded.events, python_frames=python_frames, dialect=dialect)
    batch.quality.merge(quality)
    batch.tail = decoded.tail
    return batch


def _pad_times(events: Iterable[Event]) -> int:
    """Give the times of ``events`` their leading zeros; return how many events that changed."""
    changed = 0
    for event in events:
        ts, dur = padded(event.ts), padded(event.dur)
        changed += (ts, dur) != (event.ts, event.dur)
        event.ts, event.dur = ts, dur
    return changed


def _read(
    source: EventPieces | FilePieces,
    name: str,
    quality: QualityReport,
    reading: Reading,
    dialect: Dialect | None,
) -> EventColumns:
    if not source.has_events:
        raise no_events(source.header, name)
    merger = EventBatchMerger()
    merger.quality.merge(quality)
    tail = _merge(source, merger, reading, dialect)
    if tail is None:
        merger.quality.add("truncated")
    if source.header.strip() == b"[" and merger.is_empty:
        raise no_trace(name, "none of its items is a trace event")
    header = read_header(source.header, tail, merger.quality)
    return assemble(merger, header, dialect)


def _merge(
    source: EventPieces | FilePieces,
    merger: EventBatchMerger,
    reading: Reading,
    dialect: Dialect | None,
) -> bytes | None:
    """Merge every batch; return what follows the event array, None if that has no end."""
    frames = reading.options.python_frames
    pieces = _Source(iter(source))
    work = partial(read_piece, cuts=source.cuts, python_frames=frames, dialect=dialect)
    stream = iter(reading.read_pieces(pieces, work))
    for piece, batch in stream:
        merger.add(batch)
        reading.progress(piece.end if isinstance(piece, FilePiece) else len(piece.text))
        if batch.tail is not None:
            pieces.gives = False
            taken = (piece for piece, _ in stream)
            return batch.tail + _start_of(chain(taken, pieces.pieces))
    return None


def no_events(header: bytes, name: str) -> TraceFormatError:
    """The reason why a JSON text without event array is no trace."""
    if len(header) > MAX_HEADER_BYTES:
        return TraceFormatError(
            "no_events",
            f"{name} holds no event in its first {MAX_HEADER_BYTES >> 20} MiB.",
            "If it is a trace, move what stands before 'traceEvents' behind the events.",
        )
    if parse_lenient(header.decode("utf-8", "replace")) is None:
        return TraceFormatError(
            "no_events",
            f"{name} ends before its first event.",
            "The recording process was probably stopped while writing: export the trace again.",
        )
    return no_trace(name, "it has no 'traceEvents' list")


def no_trace(name: str, reason: str) -> TraceFormatError:
    """The error for JSON of another kind."""
    return TraceFormatError(
        "not_a_trace",
        f"{name} is JSON but no profiler trace: {reason}.",
        "Name a file written by torch.profiler (export_chrome_trace, tensorboard_trace_handler).",
    )


@dataclass(slots=True)
class _Source:
    """Pieces for a reader that may take some before their turn, until ``gives`` is false."""

    pieces: Iterator[AnyPiece]
    gives: bool = True

    def __iter__(self) -> Iterator[AnyPiece]:
        return self

    def __next__(self) -> AnyPiece:
        if not self.gives:
            raise StopIteration
        return next(self.pieces)


def _start_of(rest_of_file: Iterable[AnyPiece]) -> bytes:
    """What follows the events, as far as it can matter; what is unpacked is so to its end."""
    rest = bytearray()
    for piece in rest_of_file:
        if len(rest) < MAX_TAIL_BYTES:
            text = (piece.read() if isinstance(piece, FilePiece) else piece).text
            rest += text[: MAX_TAIL_BYTES - len(rest)]
    return bytes(rest)
