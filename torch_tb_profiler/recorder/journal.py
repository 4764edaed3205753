"""The journal of a rank: blocks of JSON, a line each, appended so that a killed program loses none.

All processes of a rank append to one file: a line is one write, and writes at the end of a file do
not mix. Blocks: ``docs/format-record.md``.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

ENDING = ".record.jsonl"
VARIABLE = "TORCH_TB_PROFILER_JOURNAL"
"""The environment variable that names the journal to the processes that load data."""

APPENDING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)

MAX_WAITING_BYTES = 32 << 20
"""So much is kept for a process that has not done anything worth a file yet."""


class Journal:
    """A journal that is made when there is something to tell; it never raises.

    Attributes:
        worker: Whose it is, once it is open; before, whose it shall be.
        problem: Why it could not be written, if so.
    """

    def __init__(self, folder: str, worker: str) -> None:
        """Make no file yet, in the folder of the run, absolute."""
        self.worker = worker
        self.problem: str | None = None
        self._folder = folder
        self._fallback = worker
        self._lock = threading.RLock()  # a signal may end the process in the middle of a write
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    @property
    def path(self) -> str:
        """Where it lies."""
        return os.path.join(self._folder, self.worker + ENDING)

    @property
    def is_open(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    @property
    def is_waiting(self) -> bool:
        """Whether there is none yet, and could be one."""
        return self._file is None and self.problem is None

    def open_now(self, header: Mapping[str, Any], worker: str, fallback: str) -> None:
        """Make the file, with what was told so far behind its header.

        Args:
            header: The first block.
            worker: The name to take.
            fallback: The name where another process has that one.
        """
        with self._lock:
            if self.is_waiting:
                self.worker, self._fallback = worker, fallback
                self._waiting.insert(0, _line(header))
                self._open()

    def write(self, block: Mapping[str, Any]) -> None:
        """Append a block, or keep it until there is a file."""
        try:
            line = _line(block)
        except (TypeError, ValueError) as error:
            self.problem = f"a block could not be written: {error}"
            return
        with self._lock:
            if self._file is not None:
                self._append(line)
            elif self._waiting_bytes + len(line) <= MAX_WAITING_BYTES:
                self._waiting.append(line)
                self._waiting_bytes += len(line)

    def close(self) -> None:
        """No more is written."""
        with self._lock:
            if self._file is not None:
                if _identity(self._file) == self._identity:
                    os.close(self._file)
                self._file = None
                self.problem = self.problem or "it is closed"

    def _open(self) -> None:
        for name in (self.worker, self._fallback):
            path = os.path.join(self._folder, name + ENDING)
            try:
                os.makedirs(self._folder, exist_ok=True)
                self._file = os.open(path, APPENDING | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            except OSError as error:
                self.problem = f"{path} cannot be written: {error.strerror}"
                return
            self.worker = name
            self._identity = _identity(self._file)
            for line in self._waiting:
                self._append(line)
            self._waiting.clear()
            return
        self.problem = f"{self._folder} has a journal of {self._fallback} already"

    def _append(self, line: bytes) -> None:
        try:
            file = self._own_file()
            written = os.write(file, line)
            if written < len(line):  # the disk is full: a half line is skipped by whoever reads
                os.write(file, b"\n")
                self.problem = "the disk is full"
        except OSError as error:
            self.problem = f"{self.path} cannot be written: {error.strerror}"

    def _own_file(self) -> int:
        """The descriptor of the journal. A program that closes all it finds, as daemons do, may
        have given the number to a file of its own.

        Raises:
            OSError: the journal cannot be opened again.
        """
        if self._file is None or _identity(self._file) != self._identity:
            self._file = os.open(self.path, APPENDING)
            self._identity = _identity(self._file)
        return self._file


def _identity(file: int) -> tuple[int, int] | None:
    """What tells an open file from all others; None of one that is closed."""
    try:
        status = os.fstat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _line(block: Mapping[str, Any]) -> bytes:
    return json.dumps(block, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def append_to(path: str, block: Mapping[str, Any]) -> bool:
    """Append a block to the journal of another process; whether that worked."""
    try:
        line = _line(block)
        file = os.open(path, APPENDING)
        try:
            return os.write(file, line) == len(line)
        finally:
            os.close(file)
    except (OSError, TypeError, ValueError):
        return False
