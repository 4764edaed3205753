"""From the bytes of any file to event columns: the format is told by the content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from torch_tb_profiler.importers import kineto
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.file_pieces import FilePiece, is_plain_text
from torch_tb_profiler.importers.kineto.reader import AnyPiece, PieceReader, read_in_turn
from torch_tb_profiler.importers.sniff import refuse_unless_json
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.storage.decompress import UnpackLimitError, decompressed, in_background
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport


def import_trace(
    chunks: Iterable[bytes],
    *,
    name: str,
    progress: Callable[[int], None] | None = None,
    read_pieces: PieceReader = read_in_turn,
) -> EventColumns:
    """Read one trace.

    Args:
        chunks: The bytes of the file as they lie on disk, maybe compressed, in pieces of any size.
        name: The file's name, for messages; it does not decide anything.
        progress: Told how many bytes of the file were taken so far, between pieces.
        read_pieces: Reads the pieces that a large file is cut into, maybe several at once.

    Raises:
        TraceFormatError: the file is no trace we read; its ``code`` says why.
    """
    quality = QualityReport()
    taken = 0

    def counted() -> Iterator[bytes]:
        nonlocal taken
        for chunk in chunks:
            taken += len(chunk)
            yield chunk

    def report(_: AnyPiece) -> None:
        if progress is not None:
            progress(taken)

    unpacking = QualityReport()
    try:
        with closing(in_background(decompressed(counted(), unpacking.add))) as unpacked:
            text = refuse_unless_json(utf8(unpacked, quality), name)
            columns = kineto.read(
                text, name=name, quality=quality, progress=report, read_pieces=read_pieces
            )
    except UnpackLimitError as error:
        message = f"{name} {error.reason}"
        raise TraceFormatError("unpacks_too_far", message, error.hint) from None
    except TraceFormatError as error:
        if error.code == "empty_file" and unpacking.counts:
            raise _unreadable(name) from None
        raise
    columns.quality.merge(unpacking)
    return columns


def import_file(
    path: str,
    *,
    name: str,
    progress: Callable[[int], None] | None = None,
    read_pieces: PieceReader = read_in_turn,
) -> EventColumns | None:
    """Read one trace that is plain text on this machine; None if it is anything else.

    Args:
        path: The file. Workers of ``read_pieces`` read their parts of it themselves.
        name: As in :func:`import_trace`, and so is the rest.

    Raises:
        TraceFormatError: the file is no trace we read.
        OSError: it cannot be read.
    """
    if not is_plain_text(path):
        return None

    def report(piece: AnyPiece) -> None:
        if progress is not None and isinstance(piece, FilePiece):
            progress(piece.end)

    return kineto.read_file(path, name=name, progress=report, read_pieces=read_pieces)


def _unreadable(name: str) -> TraceFormatError:
    return TraceFormatError(
        "gzip_unreadable",
        f"{name} is a gzip file that is damaged from its start.",
        "Copy or download it again and compare its size with the original.",
    )
