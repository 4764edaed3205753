"""Which files are still being written: traces appear when they are done, never half.

A file counts as finished when any of these holds:

1. it has not changed for ``SETTLED_S``, by its own date or for as long as we have looked at it;
2. it is JSON and its last character closes an object or an array;
3. it is gzip, and all of it decompresses up to a last member's valid length and checksum.

Rule 1 lets a file that was cut off, and will never be whole, be read as far as it goes. Rules 2
and 3 let a good file appear at once. An end that a writer happens to have reached between two
events passes rule 2; therefore whoever reads it looks again after reading.
For the same reason the first scan takes every file as it is: who asks once, and never again, gets
the damaged file that was copied a second ago too.
Objects of a cloud appear whole or not at all and are always finished.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from torch_tb_profiler.storage.decompress import GZIP_MAGIC, UnpackLimitError, decompressed
from torch_tb_profiler.storage.locations import FileState

SETTLED_S = 5.0
"""torch writes a trace in one go; pauses of a busy disk are shorter than this."""

TAIL_BYTES = 64
"""torch ends a file with a brace and at most a line break."""

READ_BYTES = 1 << 20
GZIP_CHECK_BYTES = 512 << 20
"""Bytes that one scan decompresses at most, to see whether fresh gzip files are whole (about a
second); what goes beyond waits until it is settled."""


@dataclass(slots=True)
class _Seen:
    version: str
    since_s: float
    is_whole: bool = False


class FinishedFiles:
    """Tells which local files are finished; remembers from scan to scan what it saw of each."""

    def __init__(self) -> None:
        self._before: dict[str, _Seen] = {}
        self._now: dict[str, _Seen] = {}
        self._left_bytes = GZIP_CHECK_BYTES
        self._scans = 0

    def begin_scan(self) -> None:
        """Forget the files that the last scan did not meet, and allow as much checking again."""
        self._before, self._now = self._now, {}
        self._left_bytes = GZIP_CHECK_BYTES
        self._scans += 1

    def is_finished(
        self, path: str, status: os.stat_result, folder: FileState | None = None
    ) -> bool:
        """Whether a trace can be read.

        Args:
            path: The file or folder.
            status: Its ``stat``.
            folder: Of a folder the state, which changes with any of its files. The dates of those
                are not looked at: a folder must have been the same for as long as a file.
        """
        if folder is None and time.time() - status.st_mtime >= SETTLED_S:
            return True
        version = f"{status.st_size}-{status.st_mtime_ns}" if folder is None else folder.version
        seen = self._before.get(path)
        if seen is None or seen.version != version:
            seen = _Seen(version, time.monotonic(), is_whole=self._scans == 1)
        self._now[path] = seen
        if not seen.is_whole and time.monotonic() - seen.since_s < SETTLED_S:
            seen.is_whole = folder is None and self._looks_whole(path, status.st_size)
            return seen.is_whole
        return True

    def _looks_whole(self, path: str, size_bytes: int) -> bool:
        try:
            with open(path, "rb") as file:
                if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                    file.seek(0)
                    return self._is_whole_gzip(iter(lambda: file.read(READ_BYTES), b""))
                file.seek(max(0, size_bytes - TAIL_BYTES))
                return file.read().rstrip()[-1:] in (b"}", b"]")
        except OSError:
            return True  # whoever reads it tells why it cannot be read

    def _is_whole_gzip(self, chunks: Iterator[bytes]) -> bool:
        issues: list[str] = []
        try:
            for piece in decompressed(chunks, issues.append):
                self._left_bytes -= len(piece)
                if self._left_bytes < 0:
                    return False
        except UnpackLimitError:
            return True  # whoever reads it tells why it is refused
        return not issues
