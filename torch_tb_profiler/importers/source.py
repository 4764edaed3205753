"""What an importer reads: a file as its bytes and, on this machine, its path; or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import chain

from torch_tb_profiler.storage.decompress import GZIP_MAGIC, decompressed, in_background
from torch_tb_profiler.storage.local_copy import LocalCopy
from torch_tb_profiler.storage.locations import FileState, Location, list_files, read_chunks
from torch_tb_profiler.trace.quality import QualityReport

HEAD_BYTES = 4096
MAX_BLANK_BYTES = 16 << 20
"""So much white space may stand before anything else."""


class _Counted:
    """The bytes of a file, and how many were taken. Apart from :class:`Source`, which holds what
    reads them: in a circle the head of each file would stay in memory until the collector comes."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.taken_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.taken_bytes += len(chunk)
            yield chunk


class Source:
    """One file, read once from its beginning; of gzip files what is packed.

    Attributes:
        name: As the user knows it, for messages.
        path: Of a file on this machine, which may be read in any order; else None.
        quality: What was odd while unpacking.
    """

    def __init__(self, name: str, chunks: Iterable[bytes], *, path: str | None = None) -> None:
        """Read nothing yet.

        Args:
            name: The file's name.
            chunks: Its bytes as they are stored, in pieces of any size.
            path: Where it lies on this machine, if it does.
        """
        self.name = name
        self.path = path
        self.quality = QualityReport()
        self._counted = _Counted(chunks)
        self._head: bytes | None = None
        self._copy: LocalCopy | None = None
        self._unpacked = decompressed(iter(self._counted), self.quality.add)

    @property
    def head(self) -> bytes:
        """The first bytes, unpacked: at least 4096 where there are as many, and some that are not
        blank.

        Raises:
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it unpacks too far.
        """
        if self._head is None:
            head = bytearray()
            is_blank = True
            for chunk in self._unpacked:  # maybe one byte: nothing is looked at twice
                head += chunk
                is_blank = is_blank and chunk.isspace()
                is_enough = len(head) >= HEAD_BYTES and not is_blank
                if is_enough or len(head) > MAX_BLANK_BYTES:
                    break
            self._head = bytes(head)
        return self._head

    @property
    def taken_bytes(self) -> int:
        """How much of the stored file was read so far."""
        return self._counted.taken_bytes

    def unpacked(self) -> Generator[bytes, None, None]:
        """All of it, unpacked in a thread of its own, in bounded pieces; to be asked for once.

        Raises:
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it unpacks too far.
        """
        return in_background(chain([self.head], self._unpacked))

    def local_path(self, progress: Callable[[int], None] = lambda _: None) -> str:
        """The path of a file of this machine that holds what is unpacked, for whoever reads it in
        any order: its own, or that of a copy in the cache folder, until :meth:`close`.

        Args:
            progress: Told how much of the stored file was read.

        Raises:
            StorageError, OSError: it cannot be read, or there is no room for a copy.
            UnpackLimitError: it unpacks too far.
        """
        if self.path is not None and not self._is_packed:
            return self.path
        if self._copy is None:
            self._copy = LocalCopy(self.name)
            with closing(self.unpacked()) as unpacked:
                for chunk in unpacked:
                    self._copy.write(chunk)
                    progress(self.taken_bytes)
        return self._copy.finish()

    def close(self) -> None:
        """Remove what was copied."""
        if self._copy is not None:
            self._copy.remove()
            self._copy = None

    @property
    def _is_packed(self) -> bool:
        with open(self.path or os.devnull, "rb") as file:
            return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


class Folder:
    """A folder that is one trace.

    Attributes:
        name: As the user knows it, for messages.
        path: Of a folder on this machine; else None.
        files: The files in it and in the folders below, by path from here, ``"a/b.txt"``; each
            call begins a reading.
    """

    def __init__(
        self, name: str, files: Mapping[str, Callable[[], Source]], *, path: str | None = None
    ) -> None:
        self.name = name
        self.path = path
        self.files = {each: partial(self._opened_by, opener) for each, opener in files.items()}
        self._opened: list[Source] = []

    @property
    def quality(self) -> QualityReport:
        """What was odd while unpacking its files."""
        report = QualityReport()
        for source in self._opened:
            report.merge(source.quality)
        return report

    def close(self) -> None:
        """Remove what was copied of its files."""
        for source in self._opened:
            source.close()

    def _opened_by(self, opener: Callable[[], Source]) -> Source:
        source = opener()
        self._opened.append(source)
        return source


AnySource = Source | Folder


def source_of(location: Location, state: FileState) -> AnySource:
    """What an importer reads of a file or folder that was found in a state.

    Raises:
        StorageError: a folder cannot be listed.
    """
    path = location.path if location.filesystem is None else None
    if not location.is_folder:
        return Source(location.url, read_chunks(location, state=state), path=path)
    return Folder(
        location.url,
        {name: partial(_member, file) for name, file in list_files(location).items()},
        path=path,
    )


def _member(location: Location) -> Source:
    path = location.path if location.filesystem is None else None
    return Source(location.url, read_chunks(location), path=path)
