"""Detect local files that are still being written: a trace appears when it is complete, never half.

A file counts as complete when any of these holds:

1. it has not changed for ``SETTLED_S``, by its own date or since the first scan that saw it;
2. it is JSON and its last character closes an object or an array;
3. it is gzip, and it decompresses up to a last member with valid length and checksum.

Rule 1 makes a truncated file that will never be complete readable as far as it goes. Rules 2 and 3
let a good file appear at once. A writer may happen to pause between two events at an end that
passes rule 2; therefore the reader checks again after reading. For the same reason the first scan
takes every file as it is: a caller that scans only once also gets a damaged file that was copied a
second ago.

Objects of a cloud store appear whole or not at all and are always complete.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from msgspec import Struct

from torch_tb_profiler.storage.decompress import GZIP_MAGIC, UnpackLimitError, decompressed
from torch_tb_profiler.storage.locations import FileState

SETTLED_S = 5.0
"""torch writes a trace in one go; pauses of a busy disk are shorter than this."""

TAIL_BYTES = 64
"""torch ends a file with a brace and at most a line break."""

READ_BYTES = 1 << 20
GZIP_CHECK_BYTES = 512 << 20
"""Most bytes that one scan decompresses to check fresh gzip files (about a second); files beyond
that wait until they are settled."""


class _Observation(Struct):
    version: str
    since_s: float
    has_ended: bool = False


class CompletenessTracker:
    """Decides which local files are complete; remembers from scan to scan how it saw each."""

    def __init__(self) -> None:
        self._previous: dict[str, _Observation] = {}
        self._current: dict[str, _Observation] = {}
        self._remaining_bytes = GZIP_CHECK_BYTES
        self._scans = 0

    def begin_scan(self) -> None:
        """Drop files that the previous scan did not see, and reset the decompression budget."""
        self._previous, self._current = self._current, {}
        self._remaining_bytes = GZIP_CHECK_BYTES
        self._scans += 1

    def is_complete(
        self, path: str, status: os.stat_result, folder: FileState | None = None
    ) -> bool:
        """Whether a trace can be read.

        Args:
            path: The file or folder.
            status: Its ``stat``.
            folder: State of a folder, which changes with any of its files. The dates of those files
                are not considered: a folder must stay unchanged as long as a file must.
        """
        if folder is None and time.time() - status.st_mtime >= SETTLED_S:
            return True
        version = f"{status.st_size}-{status.st_mtime_ns}" if folder is None else folder.version
        observation = self._previous.get(path)
        if observation is None or observation.version != version:
            observation = _Observation(version, time.monotonic(), has_ended=self._scans == 1)
        self._current[path] = observation
        if not observation.has_ended and time.monotonic() - observation.since_s < SETTLED_S:
            observation.has_ended = folder is None and self._has_whole_end(path, status.st_size)
            return observation.has_ended
        return True

    def _has_whole_end(self, path: str, size_bytes: int) -> bool:
        try:
            with open(path, "rb") as file:
                if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                    file.seek(0)
                    return self._is_complete_gzip(iter(lambda: file.read(READ_BYTES), b""))
                file.seek(max(0, size_bytes - TAIL_BYTES))
                return file.read().rstrip()[-1:] in (b"}", b"]")
        except OSError:
            return True  # the reader reports why it cannot be read

    def _is_complete_gzip(self, chunks: Iterator[bytes]) -> bool:
        issues: list[str] = []
        try:
            for piece in decompressed(chunks, issues.append):
                self._remaining_bytes -= len(piece)
                if self._remaining_bytes < 0:
                    return False
        except UnpackLimitError:
            return True  # the reader reports why it is refused
        return not issues
