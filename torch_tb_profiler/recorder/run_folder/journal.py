"""Writes the journal of a rank: JSON blocks, one per line, appended so that a killed program loses
none.

All processes of a rank append to one file. A line is one ``write``; appending writes do not
interleave. Blocks: ``docs/format-record.md``.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

JOURNAL_SUFFIX = ".record.jsonl"
VARIABLE = "TORCH_TB_PROFILER_JOURNAL"
"""The environment variable that passes the path of the journal to loader workers."""

MAX_PROGRAMS = 100
"""Programs that a process may become, one after another, by ``exec``: each has its journal."""

APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)

MAX_BUFFERED_BYTES = 32 << 20
"""Limit for blocks buffered before the file exists."""


class JournalWriter:
    """A journal whose file is created when there is something to record; never raises.

    Attributes:
        worker: Name of the worker it belongs to; final once the file is open.
        problem: Why it could not be written; None if there is no problem.
    """

    def __init__(self, folder: str, worker: str) -> None:
        """Create without a file.

        Args:
            folder: Folder of the run, absolute.
            worker: Provisional name of the worker.
        """
        self.worker = worker
        self.problem: str | None = None
        self._folder = folder
        self._fallback = worker
        self._lock = threading.RLock()  # a signal handler may end the recording during a write
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None
        self._buffered: list[bytes] = []
        self._buffered_bytes = 0

    @property
    def path(self) -> str:
        """Path of the file."""
        return os.path.join(self._folder, self.worker + JOURNAL_SUFFIX)

    @property
    def is_open(self) -> bool:
        """Whether the file exists and is open."""
        return self._file is not None

    @property
    def can_open(self) -> bool:
        """Whether the file does not exist yet but can be created."""
        return self._file is None and self.problem is None

    def open(self, header: Mapping[str, Any], worker: str, fallback: str) -> None:
        """Create the file with its header, followed by the buffered blocks.

        Args:
            header: The first block.
            worker: Name of the worker.
            fallback: Name to use if another process has that name.
        """
        with self._lock:
            if self.can_open:
                self.worker, self._fallback = worker, fallback
                self._buffered.insert(0, _line(header))
                self._open()

    def write(self, block: Mapping[str, Any]) -> None:
        """Append a block, or buffer it until the file exists."""
        try:
            line = _line(block)
        except (TypeError, ValueError) as error:
            self.problem = f"a block could not be written: {error}"
            return
        with self._lock:
            if self._file is not None:
                self._append(line)
            elif self._buffered_bytes + len(line) <= MAX_BUFFERED_BYTES:
                self._buffered.append(line)
                self._buffered_bytes += len(line)

    def close(self) -> None:
        """Close the file; nothing is written afterwards."""
        with self._lock:
            if self._file is not None:
                if _identity(self._file) == self._identity:
                    os.close(self._file)
                self._file = None
                self.problem = self.problem or "it is closed"

    def _open(self) -> None:
        others = (f"{self._fallback}-{number}" for number in range(2, MAX_PROGRAMS + 1))
        for name in (self.worker, self._fallback, *others):
            path = os.path.join(self._folder, name + JOURNAL_SUFFIX)
            try:
                os.makedirs(self._folder, exist_ok=True)
                self._file = os.open(path, APPEND_FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            except OSError as error:
                self.problem = f"{path} cannot be written: {error.strerror}"
                return
            self.worker = name
            self._identity = _identity(self._file)
            for line in self._buffered:
                self._append(line)
            self._buffered.clear()
            return
        self.problem = f"{self._folder} has a journal of {self._fallback} already"

    def _append(self, line: bytes) -> None:
        try:
            file = self._own_file()
            written = os.write(file, line)
            if written < len(line):  # the disk is full; readers skip the partial line
                os.write(file, b"\n")
                self.problem = "the disk is full"
        except OSError as error:
            self.problem = f"{self.path} cannot be written: {error.strerror}"

    def _own_file(self) -> int:
        """The descriptor of the journal, reopened if the program has closed it: daemons close all
        descriptors, and the number may now belong to another file.

        Raises:
            OSError: the journal cannot be opened again.
        """
        if self._file is None or _identity(self._file) != self._identity:
            self._file = os.open(self.path, APPEND_FLAGS)
            self._identity = _identity(self._file)
        return self._file


def _identity(file: int) -> tuple[int, int] | None:
    """Device and inode of an open file; None if the descriptor is closed."""
    try:
        status = os.fstat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _line(block: Mapping[str, Any]) -> bytes:
    return json.dumps(block, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def append_to(path: str, block: Mapping[str, Any]) -> bool:
    """Append a block to the journal of another process; returns whether that succeeded."""
    try:
        line = _line(block)
        file = os.open(path, APPEND_FLAGS)
        try:
            return os.write(file, line) == len(line)
        finally:
            os.close(file)
    except (OSError, TypeError, ValueError):
        return False
