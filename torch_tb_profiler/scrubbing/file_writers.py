"""The copy of one file as pieces of bytes, by its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from msgspec import Struct

from torch_tb_profiler.importers.kineto.pieces import EventPieces
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.scrubbing.chrome_copy import ChromeCopy
from torch_tb_profiler.scrubbing.document_copy import document_copy
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.scrubbing.line_copy import line_copy
from torch_tb_profiler.scrubbing.original import OriginalFile
from torch_tb_profiler.scrubbing.pickle_copy import pickle_copy
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.storage.locations import read_chunks
from torch_tb_profiler.trace.quality import QualityReport

JSON_STARTS, PICKLE_START = (b"{", b"["), b"\x80"
JOURNAL = "record"
CHROME_FORMATS = ("kineto", "ascend", "paddle", "proton-chrome", "rocprof-chrome", "sidecar")
"""Formats whose JSON is Chrome JSON; that of others is one value."""

Writer = Callable[[QualityReport], Iterator[bytes]]
"""Makes the copy of a file, piece by piece; counts what is damaged."""


class FileWriters(Struct, frozen=True):
    """Makes copies of files.

    Attributes:
        values: The rules of JSON.
        header: The same of what is around events.
        remaining: Collects what stays.
    """

    values: JsonScrubber
    header: JsonScrubber
    remaining: RemainingCollector

    def writer(self, file: OriginalFile) -> Writer | None:
        """The function that copies a file in its format; None where that is not possible."""
        if file.format == JOURNAL:
            return lambda quality: line_copy(file.text(quality), self.values, quality)
        if file.head.startswith(PICKLE_START):
            return lambda quality: self._pickle(file, quality)
        if text_head(file.head).startswith(JSON_STARTS):
            return lambda quality: self._json(file, quality)
        return None

    def chrome(self, chunks: Iterable[bytes], quality: QualityReport) -> Iterator[bytes]:
        """The copy of Chrome JSON; of JSON without events as one value.

        Raises:
            TraceFormatError: it is no JSON.
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it exceeds a limit of unpacking.
        """
        pieces = EventPieces(iter(chunks))
        if not pieces.has_events:
            text = b"".join((pieces.header, *(piece.text for piece in pieces)))
            yield document_copy(text, self.header, "The file")
            return
        copy = ChromeCopy(self.values, self.header, self.remaining)
        yield from copy.pieces(pieces)
        quality.merge(copy.quality)

    def _json(self, file: OriginalFile, quality: QualityReport) -> Iterator[bytes]:
        if file.format in CHROME_FORMATS:
            yield from self.chrome(file.text(quality), quality)
        else:
            text = b"".join(file.text(quality))
            yield document_copy(text, self.values, file.base_name)

    def _pickle(self, file: OriginalFile, quality: QualityReport) -> Iterator[bytes]:
        source = Source(file.base_name, read_chunks(file.location), path=file.path)
        with closing(source):
            yield pickle_copy(file.chunks(quality), source, self.values, quality)
