"""Reads one Kineto trace: bytes in, event columns out, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.batch import Batch, make_batch
from torch_tb_profiler.importers.kineto.careful import decode_piece
from torch_tb_profiler.importers.kineto.cuts import Cuts
from torch_tb_profiler.importers.kineto.finish import finish
from torch_tb_profiler.importers.kineto.header import read_header
from torch_tb_profiler.importers.kineto.merge import Merger
from torch_tb_profiler.importers.kineto.pieces import (
    MAX_HEADER_BYTES,
    MAX_TAIL_BYTES,
    PIECE_BYTES,
    Piece,
    Pieces,
)
from torch_tb_profiler.importers.kineto.repair import parse_lenient
from torch_tb_profiler.importers.kineto.times import InexactTimeError
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

PieceReader = Callable[[Iterator[Piece], Cuts], Iterator[tuple[Piece, Batch]]]
"""Gives every piece with its batch, in the order of the pieces; may read them anywhere."""


def read_piece(piece: Piece, cuts: Cuts) -> Batch:
    """One piece of the event array as columns. Pure: may run in any process, in any order."""
    try:
        return _batch(piece, cuts, exact=False)
    except InexactTimeError:
        return _batch(piece, cuts, exact=True)


def read_in_turn(pieces: Iterator[Piece], cuts: Cuts) -> Iterator[tuple[Piece, Batch]]:
    """Read one piece after the other, here."""
    return ((piece, read_piece(piece, cuts)) for piece in pieces)


def _batch(piece: Piece, cuts: Cuts, exact: bool) -> Batch:
    quality = QualityReport()
    decoded = decode_piece(piece, cuts, exact, quality)
    batch = make_batch(decoded.events, exact)
    batch.quality.merge(quality)
    batch.tail = decoded.tail
    return batch


def read(
    chunks: Iterable[bytes],
    *,
    name: str,
    quality: QualityReport | None = None,
    progress: Callable[[], None] | None = None,
    piece_bytes: int = PIECE_BYTES,
    read_pieces: PieceReader = read_in_turn,
) -> EventColumns:
    """Read a Kineto trace.

    Args:
        chunks: The decompressed text of the file, UTF-8, in pieces of any size.
        name: The file's name, for messages.
        quality: What was already found odd while unpacking.
        progress: Called after each piece.
        piece_bytes: How much text is decoded at once.
        read_pieces: Applies :func:`read_piece`, maybe to several pieces at once.

    Raises:
        TraceFormatError: the text holds no event array.
    """
    pieces = Pieces(iter(chunks), piece_bytes)
    if not pieces.has_events:
        raise no_events(pieces.header, name)
    merger = Merger()
    if quality is not None:
        merger.quality.merge(quality)
    tail: bytes | None = None
    source = _Source(iter(pieces))
    stream = iter(read_pieces(source, pieces.cuts))
    for _, batch in stream:
        merger.add(batch)
        if progress is not None:
            progress()
        if batch.tail is not None:
            source.gives = False
            taken = (piece for piece, _ in stream)
            tail = batch.tail + _start_of(chain(taken, source.pieces))
            break
    if tail is None:
        merger.quality.add("truncated")
    if pieces.header.strip() == b"[" and merger.is_empty:
        raise no_trace(name, "none of its items is a trace event")
    header = read_header(pieces.header, tail, merger.quality)
    return finish(merger, header)


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

    pieces: Iterator[Piece]
    gives: bool = True

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        if not self.gives:
            raise StopIteration
        return next(self.pieces)


def _start_of(rest_of_file: Iterable[Piece]) -> bytes:
    """What follows the events, as far as it can matter; the file is read to its end."""
    rest = bytearray()
    for piece in rest_of_file:
        rest += piece.text[: MAX_TAIL_BYTES - len(rest)]
    return bytes(rest)
