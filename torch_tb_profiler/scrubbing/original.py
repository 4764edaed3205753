"""One file of the original: its format, and its unpacked bytes as often as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

from msgspec import Struct

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import detect_format, importer_of
from torch_tb_profiler.importers.source import HEAD_BYTES, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.storage.decompress import GZIP_MAGIC, decompressed, in_background
from torch_tb_profiler.storage.locations import Location, open_location, read_chunks
from torch_tb_profiler.trace.quality import QualityReport


class OriginalFile(Struct, frozen=True):
    """A file of the original.

    Attributes:
        path: Its local path.
        name: Path relative to the original, ``/`` between parts.
        format: Name of the importer that reads it; None where none does.
        reason: Why none does.
        head: Its first unpacked bytes.
        is_packed: Whether it is a gzip file.
    """

    path: str
    name: str
    format: str | None
    reason: str
    head: bytes
    is_packed: bool

    @property
    def location(self) -> Location:
        """Where importers open it."""
        return open_location(self.path)

    @property
    def base_name(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    def source(self) -> Source:
        """The file as importers read it; to be closed."""
        return Source(self.base_name, read_chunks(self.location), path=self.path)

    def chunks(self, quality: QualityReport) -> Iterator[bytes]:
        """Its unpacked bytes; damage of the packing is counted.

        Raises:
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it exceeds a limit of unpacking.
        """
        unpacked = decompressed(read_chunks(self.location), quality.add)
        with closing(in_background(unpacked)) as chunks:
            yield from chunks

    def text(self, quality: QualityReport) -> Iterator[bytes]:
        """Its text as UTF-8; errors as :meth:`chunks`."""
        return utf8(self.chunks(quality), quality)


def original_file(path: str, name: str, *, is_chosen: bool = False) -> OriginalFile:
    """A file by its path, with its format detected from its content.

    Args:
        path: Its local path.
        name: Path relative to the original.
        is_chosen: Whether the user named it: then its name need not be one of a recording.

    Raises:
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    with open(path, "rb") as file:
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    location = open_location(path)
    base_name = name.rpartition("/")[2]
    with closing(Source(location.url, read_chunks(location), path=path)) as source:
        head = source.head
        detection = detect_format(head, base_name, len(head) < HEAD_BYTES)
        format_name, reason = detection.format or None, detection.text
        if is_chosen and format_name is None:
            with suppress(TraceFormatError):
                format_name = importer_of(source).name
    return OriginalFile(path, name, format_name, reason, head, is_packed)
