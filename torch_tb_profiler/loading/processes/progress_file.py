"""Progress and stop request between a local worker and the process that waits for it.

A small file, not a pipe, so that it works with any executor: the worker writes its progress, the
other side writes the stop request.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from msgspec import Struct

_DONE = struct.Struct("<q")
_STOP_AT = _DONE.size


class StoppedError(Exception):
    """Raised in a worker whose result is no longer needed."""


class ProgressFile(Struct, frozen=True):
    """Both directions in the file ``path``."""

    path: Path

    def make(self) -> None:
        """Initialize: no progress, no stop request."""
        self.path.write_bytes(bytes(_DONE.size + 1))

    def report(self, done_bytes: int, _size_bytes: int) -> None:
        """Worker: report progress.

        Raises:
            StoppedError: the result is no longer needed.
        """
        try:
            file = os.open(self.path, os.O_RDWR)
        except OSError as error:  # the waiting process has ended and removed the file
            raise StoppedError from error
        try:
            os.write(file, _DONE.pack(done_bytes))
            if os.read(file, 1) != b"\0":
                raise StoppedError
        finally:
            os.close(file)

    def done_bytes(self) -> int:
        """Waiting side: progress of the worker."""
        return int(_DONE.unpack(self.path.read_bytes()[: _DONE.size])[0])

    def stop(self) -> None:
        """Waiting side: ask the worker to stop at the next piece."""
        with self.path.open("r+b") as file:
            file.seek(_STOP_AT)
            file.write(b"\1")
