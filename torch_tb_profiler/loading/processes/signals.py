"""Progress and the wish to stop, between a worker on this machine and who waits for it.

A small file, and not a pipe, so that it works with any executor: the worker writes how far it is,
the other side writes that it should stop.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_DONE = struct.Struct("<q")
_STOP_AT = _DONE.size


class StoppedError(Exception):
    """Raised in a worker whose answer nobody wants any more."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Both directions in the file ``path``."""

    path: Path

    def make(self) -> None:
        """Begin: nothing done, not to be stopped."""
        self.path.write_bytes(bytes(_DONE.size + 1))

    def report(self, done_bytes: int, _size_bytes: int) -> None:
        """Worker: say how far it is.

        Raises:
            StoppedError: nobody wants the answer.
        """
        try:
            file = os.open(self.path, os.O_RDWR)
        except OSError as error:  # whoever waited has gone, and has cleaned up
            raise StoppedError from error
        try:
            os.write(file, _DONE.pack(done_bytes))
            if os.read(file, 1) != b"\0":
                raise StoppedError
        finally:
            os.close(file)

    def done_bytes(self) -> int:
        """Waiting side: how far the worker is."""
        return int(_DONE.unpack(self.path.read_bytes()[: _DONE.size])[0])

    def stop(self) -> None:
        """Waiting side: let the worker stop at the next piece."""
        with self.path.open("r+b") as file:
            file.seek(_STOP_AT)
            file.write(b"\1")
