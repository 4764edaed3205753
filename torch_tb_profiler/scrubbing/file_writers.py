"""The copy of one file as pieces of bytes, by its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from msgspec import Struct

from torch_tb_profiler.importers.kineto.pieces import EventPieces
from torch_tb_profiler.importers.sqlite.opening import is_database
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.knowledge.private_messages import MessageRules
from torch_tb_profiler.knowledge.scrubbing import message_rules
from torch_tb_profiler.scrubbing.cell_values import CellScrubber
from torch_tb_profiler.scrubbing.chrome_copy import ChromeCopy
from torch_tb_profiler.scrubbing.document_copy import document_copy
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.scrubbing.line_copy import line_copy
from torch_tb_profiler.scrubbing.original import OriginalFile
from torch_tb_profiler.scrubbing.pickle_copy import pickle_copy, texts_of_pickle
from torch_tb_profiler.scrubbing.protobuf_copy import protobuf_copy, texts_of_messages
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.scrubbing.sqlite_copy import sqlite_copy, texts_of_database
from torch_tb_profiler.scrubbing.table_copy import TABLE_FORMAT, table_copy, texts_of_table
from torch_tb_profiler.trace.quality import QualityReport

JSON_STARTS, PICKLE_START = (b"{", b"["), b"\x80"
JOURNAL = "record"
MINDSPORE, MEMORY_ENDING = "mindspore", ".pb"
CHROME_FORMATS = ("kineto", "ascend", "paddle", "proton-chrome", "rocprof-chrome", "sidecar")
"""Formats whose JSON is Chrome JSON; that of others is one value."""

Writer = Callable[[QualityReport], Iterator[bytes]]
"""Makes the copy of a file, piece by piece; counts what is damaged."""


class FileWriters(Struct, frozen=True):
    """Makes copies of files.

    Attributes:
        values: The rules of JSON.
        header: The same of what is around events.
        cells: The same of cells of tables.
        remaining: Collects what stays.
    """

    values: JsonScrubber
    header: JsonScrubber
    cells: CellScrubber
    remaining: RemainingCollector

    def writer(self, file: OriginalFile) -> Writer | None:
        """The function that copies a file in its format; None where that is not possible."""
        if file.format == JOURNAL:
            return lambda quality: line_copy(file.text(quality), self.values, quality)
        if file.head.startswith(PICKLE_START):
            return lambda quality: self._pickle(file, quality)
        if is_database(file.head):
            return lambda quality: self._database(file, quality)
        rules = rules_of_messages(file)
        if rules is not None:
            return lambda quality: protobuf_copy(
                lambda: file.chunks(QualityReport()), rules, self.cells, quality
            )
        if text_head(file.head).startswith(JSON_STARTS):
            return lambda quality: self._json(file, quality)
        return None

    def member(self, file: OriginalFile) -> Writer | None:
        """The same of a file of a recording of several files, which need not be one itself."""
        if is_database(file.head):
            return lambda quality: self._database(file, quality)
        if text_head(file.head).startswith(JSON_STARTS):
            return lambda quality: self.chrome(file.text(quality), quality, self.values)
        if rules_of_messages(file) is not None:
            return self.writer(file)
        if b"\0" in file.head:
            return None
        return lambda quality: table_copy(file.text(quality), self.cells, file.base_name)

    def chrome(
        self,
        chunks: Iterable[bytes],
        quality: QualityReport,
        document_rules: JsonScrubber | None = None,
    ) -> Iterator[bytes]:
        """The copy of Chrome JSON; of JSON without events as one value.

        Args:
            chunks: The JSON.
            quality: Counts what is damaged.
            document_rules: The rules of such a value; None for those of what is around events.

        Raises:
            TraceFormatError: it is no JSON.
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it exceeds a limit of unpacking.
        """
        pieces = EventPieces(iter(chunks))
        if not pieces.has_events:
            text = b"".join((pieces.header, *(piece.text for piece in pieces)))
            yield document_copy(text, document_rules or self.header, "The file")
            return
        copy = ChromeCopy(self.values, self.header, self.remaining)
        yield from copy.pieces(pieces)
        quality.merge(copy.quality)

    def _database(self, file: OriginalFile, quality: QualityReport) -> Iterator[bytes]:
        with closing(file.source()) as source:
            yield from sqlite_copy(source, self.cells, quality)

    def _json(self, file: OriginalFile, quality: QualityReport) -> Iterator[bytes]:
        if file.format in CHROME_FORMATS:
            yield from self.chrome(file.text(quality), quality)
        else:
            text = b"".join(file.text(quality))
            yield document_copy(text, self.values, file.base_name)

    def _pickle(self, file: OriginalFile, quality: QualityReport) -> Iterator[bytes]:
        with closing(file.source()) as source:
            yield pickle_copy(file.chunks(quality), source, self.values, quality)


def texts_of(file: OriginalFile) -> Iterator[bytes]:
    """The texts of a file in which names of hosts and users are recognized.

    Raises:
        TraceFormatError: it is damaged.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    if is_database(file.head):
        with closing(file.source()) as source:
            yield from texts_of_database(source)
    elif file.head.startswith(PICKLE_START):
        with closing(file.source()) as source:
            yield from texts_of_pickle(file.chunks(QualityReport()), source)
    elif (rules := rules_of_messages(file)) is not None:
        yield from texts_of_messages(file.chunks(QualityReport()), rules)
    elif TABLE_FORMAT.fullmatch(file.base_name):
        yield from texts_of_table(file.text(QualityReport()), file.base_name)
    else:
        yield from file.text(QualityReport())


def is_rewritten(file: OriginalFile) -> bool:
    """Whether a copy is new as a whole, so that its figures are compared with the original's."""
    return is_database(file.head) or rules_of_messages(file) is not None


def rules_of_messages(file: OriginalFile) -> MessageRules | None:
    """The rules of a protobuf recording; None for another file."""
    if text_head(file.head).startswith(JSON_STARTS):
        return None
    is_memory = file.base_name.endswith(MEMORY_ENDING) and file.format in (None, MINDSPORE)
    return message_rules(MINDSPORE if is_memory else file.format or "")
