"""Reads a Kineto trace in one pass: bytes in, event columns out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.assemble import assemble
from torch_tb_profiler.importers.kineto.batch import NONE_REQUESTED, EventBatch, build_batch
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.detection import other_file
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.event_arrays import decode_arrays
from torch_tb_profiler.importers.kineto.event_structs import StructEvents
from torch_tb_profiler.importers.kineto.file_pieces import FilePiece, FilePieces, is_plain_text
from torch_tb_profiler.importers.kineto.header import HeaderTail, read_header
from torch_tb_profiler.importers.kineto.merge import EventBatchMerger
from torch_tb_profiler.importers.kineto.native import NativeDecoder, native_status
from torch_tb_profiler.importers.kineto.native_answer import OddPieceError
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
from torch_tb_profiler.importers.requested_arguments import RequestedArguments
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

AnyPiece = EventPiece | FilePiece

NAME_A_TRACE = (
    "Name a file written by torch.profiler (export_chrome_trace, tensorboard_trace_handler)."
)


def read(source: AnySource, reading: Reading, dialect: Dialect | None = None) -> EventColumns:
    """Read a Kineto trace: an uncompressed local file by byte ranges, any other as a stream.

    Args:
        source: The file.
        reading: How it is read.
        dialect: Its dialect; None to detect it.

    Raises:
        TraceFormatError: the text has no event array.
        StorageError, OSError: the file cannot be read.
    """
    assert isinstance(source, Source), "a Kineto trace is a file"
    if source.path is not None and is_plain_text(source.path):
        return read_file(source.path, name=source.name, reading=reading, dialect=dialect)
    quality = QualityReport()
    stream_reading = replace(reading, progress=lambda _: reading.progress(source.taken_bytes))
    with closing(source.unpacked()) as unpacked:
        text = utf8(unpacked, quality)
        return read_text(
            text, name=source.name, quality=quality, reading=stream_reading, dialect=dialect
        )


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
        chunks: The unpacked UTF-8 text of the file, in chunks of any size.
        name: The file's name in messages.
        quality: Problems while unpacking.
        piece_bytes: How much text is decoded at once.
        reading: How it is read; progress is called after each piece with its length.
        dialect: As for :func:`read`.

    Raises:
        TraceFormatError: the text has no event array.
    """
    pieces = EventPieces(iter(chunks), piece_bytes)
    return read_events(pieces, name, quality or QualityReport(), reading or Reading(), dialect)


def read_file(
    path: str,
    *,
    name: str,
    piece_bytes: int = PIECE_BYTES,
    reading: Reading | None = None,
    dialect: Dialect | None = None,
) -> EventColumns:
    """Read a Kineto trace from an uncompressed local file; pieces are read where they are decoded.

    Raises:
        TraceFormatError: the text has no event array.
        OSError: the file cannot be read.
    """
    pieces = FilePieces(path, piece_bytes)
    return read_events(pieces, name, QualityReport(), reading or Reading(), dialect)


def read_piece(
    piece: AnyPiece,
    boundaries: EventBoundaries,
    *,
    python_frames: bool = True,
    dialect: Dialect | None = None,
    requested: RequestedArguments = NONE_REQUESTED,
) -> EventBatch:
    """Read one piece of the event array as columns. Pure: may run in any process and order.

    Raises:
        OSError: the file of the piece cannot be read.
    """
    if isinstance(piece, FilePiece):
        piece = piece.read()
    build = partial(build_batch, python_frames=python_frames, dialect=dialect, requested=requested)
    native = native_decoder(boundaries)
    if native is not None and not piece.is_last:
        with suppress(OddPieceError):
            return build(decode_arrays(native, piece.text))
    quality = QualityReport()
    decoded = decode_piece(piece, boundaries, quality)
    if boundaries.has_unpadded_times:
        quality.add("unpadded_time", _pad_times(decoded.events))
    batch = build(StructEvents(decoded.events))
    batch.quality.merge(quality)
    batch.tail, batch.between, batch.joined = decoded.tail, decoded.between, decoded.joined
    return batch


def native_decoder(boundaries: EventBoundaries) -> NativeDecoder | None:
    """The compiled decoder; None without one, and for files whose times it would misread."""
    return None if boundaries.has_unpadded_times else native_status().decoder


def _pad_times(events: Iterable[Event]) -> int:
    """Restore the leading zeros of decimals in times; return how many events changed."""
    changed = 0
    for event in events:
        ts, dur = padded(event.ts), padded(event.dur)
        changed += (ts, dur) != (event.ts, event.dur)
        event.ts, event.dur = ts, dur
    return changed


def read_events(
    source: EventPieces | FilePieces,
    name: str,
    quality: QualityReport,
    reading: Reading,
    dialect: Dialect | None,
) -> EventColumns:
    """Read the pieces of a file; arguments as for :func:`read`."""
    if not source.has_events:
        raise no_events(source.header, name)
    merger = EventBatchMerger()
    merger.quality.merge(quality)
    tail = _merge(source, merger, reading, dialect)
    if tail.text is None:
        merger.quality.add("truncated")
    if source.header.strip() == b"[" and merger.is_empty:
        raise not_a_trace(name, "none of its items is a trace event")
    header = read_header(source.header, tail, merger.quality)
    return assemble(merger, header, dialect)


def _merge(
    source: EventPieces | FilePieces,
    merger: EventBatchMerger,
    reading: Reading,
    dialect: Dialect | None,
) -> HeaderTail:
    """Merge all batches; return the text after the events."""
    pieces = _StoppablePieces(iter(source))
    work = partial(
        read_piece,
        boundaries=source.boundaries,
        python_frames=reading.options.python_frames,
        dialect=dialect,
        requested=reading.requested,
    )
    in_threads = native_decoder(source.boundaries) is not None
    stream = iter(reading.read_pieces(pieces, work, in_threads=in_threads))
    tail = HeaderTail()
    for piece, batch in stream:
        merger.add(batch)
        tail.join(batch.between, batch.joined)
        reading.progress(piece.end if isinstance(piece, FilePiece) else len(piece.text))
        if reading.is_over_time() or reading.is_full(merger.events_read):
            pieces.is_stopped = True
            return tail
        if batch.tail is not None:
            pieces.is_stopped = True
            in_flight = (piece for piece, _ in stream)
            tail.text = batch.tail + _head_of(chain(in_flight, pieces.pieces))
            return tail
    return tail


def no_events(header: bytes, name: str) -> TraceFormatError:
    """The error for JSON text without an event array."""
    if len(header) > MAX_HEADER_BYTES:
        return TraceFormatError(
            "no_events",
            f"{name} has no event in its first {MAX_HEADER_BYTES >> 20} MiB.",
            "If it is a trace, move the keys before 'traceEvents' to after the events.",
        )
    if parse_lenient(header.decode("utf-8", "replace")) is None:
        return TraceFormatError(
            "no_events",
            f"{name} ends before its first event.",
            "The recording process was probably stopped while writing: export the trace again.",
        )
    return not_a_trace(name, "it has no 'traceEvents' list", header)


def not_a_trace(name: str, reason: str, header: bytes = b"") -> TraceFormatError:
    """The error for JSON that is not a trace, which says what it is where its ``header`` does."""
    kind = other_file(header, name)
    if kind is not None:
        return TraceFormatError(kind.reason, f"{name} {kind.text}", NAME_A_TRACE)
    return TraceFormatError(
        "not_a_trace",
        f"{name} is JSON but not a profiler trace: {reason}.",
        NAME_A_TRACE,
    )


class _StoppablePieces(Struct):
    """Pieces for a reader that may prefetch some, until it is stopped."""

    pieces: Iterator[AnyPiece]
    is_stopped: bool = False

    def __iter__(self) -> Iterator[AnyPiece]:
        return self

    def __next__(self) -> AnyPiece:
        if self.is_stopped:
            raise StopIteration
        return next(self.pieces)


def _head_of(rest_of_file: Iterable[AnyPiece]) -> bytes:
    """The text after the events, up to a limit; all pieces are consumed, so that packed files are
    unpacked to their end."""
    rest = bytearray()
    for piece in rest_of_file:
        if len(rest) < MAX_TAIL_BYTES:
            text = (piece.read() if isinstance(piece, FilePiece) else piece).text
            rest += text[: MAX_TAIL_BYTES - len(rest)]
    return bytes(rest)
