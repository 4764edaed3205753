"""Sources that importers read: a file (its bytes and, if local, its path) or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import chain

from torch_tb_profiler.budget import Budget, Stopwatch
from torch_tb_profiler.storage.decompress import GZIP_MAGIC, decompressed, in_background
from torch_tb_profiler.storage.local_copy import LocalCopy
from torch_tb_profiler.storage.locations import FileState, Location, list_files, read_chunks
from torch_tb_profiler.trace.quality import QualityReport

HEAD_BYTES = 4096
DATABASE_START, DATABASE_HEAD_BYTES = b"SQLite format 3\0", 1 << 17
"""The names of a database's tables are in its first pages, not all in the first one."""

STOPPED = "reading_stopped"
"""The quality note of a file whose reading was stopped."""

MAX_BLANK_BYTES = 16 << 20
"""White space at the start of a file that is skipped when its head is read."""


class _CountedChunks:
    """The chunks of a file, with the number of bytes consumed.

    Separate from :class:`Source`: a reference cycle would keep the head of each file in memory
    until the garbage collector runs.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.taken_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.taken_bytes += len(chunk)
            yield chunk


class Source:
    """One file, read once from its beginning; gzip files are unpacked.

    Attributes:
        name: Its name in messages.
        path: The path of a local file, which allows random access; else None.
        quality: Problems while unpacking.
    """

    def __init__(self, name: str, chunks: Iterable[bytes], *, path: str | None = None) -> None:
        """Create a source without reading anything.

        Args:
            name: The file's name.
            chunks: Its stored bytes, in chunks of any size.
            path: Its local path, if it has one.
        """
        self.name = name
        self.path = path
        self.quality = QualityReport()
        self._stopwatch: Stopwatch | None = None
        self._unpacked_bytes = 0
        self._counted = _CountedChunks(chunks)
        self._head: bytes | None = None
        self._copy: LocalCopy | None = None
        self._unpacked = decompressed(iter(self._counted), self.quality.add)

    @property
    def head(self) -> bytes:
        """The first unpacked bytes: at least 4096 and not only white space, and of a database at
        least 131072, if the file has them.

        Raises:
            StorageError, OSError: the file cannot be read.
            UnpackLimitError: the file exceeds a limit of unpacking.
        """
        if self._head is None:
            head = bytearray()
            is_blank = True
            for chunk in self._unpacked:  # may be single bytes: look at each once
                head += chunk
                is_blank = is_blank and chunk.isspace()
                is_database = head.startswith(DATABASE_START)
                wanted = DATABASE_HEAD_BYTES if is_database else HEAD_BYTES
                is_enough = len(head) >= wanted and not is_blank
                if is_enough or len(head) > MAX_BLANK_BYTES:
                    break
            self._head = bytes(head)
        return self._head

    @property
    def taken_bytes(self) -> int:
        """Number of stored bytes that were consumed so far."""
        return self._counted.taken_bytes

    @property
    def budget(self) -> Budget:
        """The limits of reading it: those of its size, or of what is read of it so far."""
        size_bytes = 0 if self.path is None else os.path.getsize(self.path)
        stored_bytes = max(size_bytes, self.taken_bytes)
        return Budget(stored_bytes, max(stored_bytes, self._unpacked_bytes))

    def is_over_time(self) -> bool:
        """Whether reading took more CPU time of this thread than the budget allows, since this
        was asked first; if so, that is noted in ``quality``, and the reader should stop."""
        self._stopwatch = self._stopwatch or Stopwatch()
        return self._stopwatch.exceeds(self.budget) and self._stop("cpu_s")

    def is_full(self, events: int) -> bool:
        """Whether more ``events`` are read than the budget allows; noted likewise."""
        return events > self.budget.limit("events") and self._stop("events")

    def _stop(self, limit: str) -> bool:
        if STOPPED not in self.quality.counts:
            self.quality.add(STOPPED, 1, self.budget.described(limit))
        return True

    def unpacked(self) -> Generator[bytes, None, None]:
        """The unpacked file in bounded chunks, unpacked in a background thread; call it once. It
        ends early where reading takes too long.

        Raises:
            StorageError, OSError: the file cannot be read.
            UnpackLimitError: the file exceeds a limit of unpacking.
        """
        with closing(in_background(chain([self.head], self._unpacked))) as chunks:
            for chunk in chunks:
                self._unpacked_bytes += len(chunk)
                yield chunk
                if self.is_over_time():
                    return

    def local_path(self, progress: Callable[[int], None] = lambda _: None) -> str:
        """A local path of the unpacked content, for random access.

        That is the file itself, or a copy in the cache folder, which exists until :meth:`close`.

        Args:
            progress: Called with the number of stored bytes consumed.

        Raises:
            StorageError, OSError: the file cannot be read, or there is no room for a copy.
            UnpackLimitError: the file exceeds a limit of unpacking.
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
        """Remove the copy, if there is one."""
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
        name: Its name in messages.
        path: The path of a local folder; else None.
        files: Relative path (``"a/b.txt"``) → opener, of the files in it and its subfolders; each
            call returns a new source.
    """

    def __init__(
        self, name: str, files: Mapping[str, Callable[[], Source]], *, path: str | None = None
    ) -> None:
        self.name = name
        self.path = path
        self.files = {each: partial(self._open, opener) for each, opener in files.items()}
        self._opened: list[Source] = []

    @property
    def budget(self) -> Budget:
        """The limits of reading it: those of all files that were read."""
        budgets = [source.budget for source in self._opened]
        return Budget(
            sum(budget.stored_bytes for budget in budgets),
            sum(budget.unpacked_bytes for budget in budgets),
        )

    def is_over_time(self) -> bool:
        """Whether reading one of its files took too long."""
        return any(source.is_over_time() for source in self._opened)

    def is_full(self, events: int) -> bool:
        """Whether more ``events`` are read than the budget of the last file allows."""
        return bool(self._opened) and self._opened[-1].is_full(events)

    @property
    def quality(self) -> QualityReport:
        """Problems while unpacking its files."""
        report = QualityReport()
        for source in self._opened:
            report.merge(source.quality)
        return report

    def close(self) -> None:
        """Remove the copies of its files."""
        for source in self._opened:
            source.close()

    def _open(self, opener: Callable[[], Source]) -> Source:
        source = opener()
        self._opened.append(source)
        return source


AnySource = Source | Folder


def source_of(location: Location, state: FileState) -> AnySource:
    """The source of a file or folder.

    Args:
        location: The file or folder.
        state: Its state (size and version) at discovery.

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
