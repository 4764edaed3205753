"""Files of Linux's ``/proc`` that are kept open: to read one again takes a tenth of opening it.

Such a file belongs to its process: once that is gone it cannot be read, even where another process
got its number.
"""

from __future__ import annotations

import contextlib
import os

FIRST_BYTES = 8192


class ProcFile:
    """One file of ``/proc``."""

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            OSError: there is no such file, or it is not for us.
        """
        self._bytes = FIRST_BYTES
        self._file: int | None = os.open(path, os.O_RDONLY)
        self._identity = self._now()

    def read(self) -> bytes:
        """All of it, as it is now.

        Raises:
            OSError: its process is gone.
        """
        if self._file is None:
            raise ProcessLookupError
        while True:
            text = os.pread(self._file, self._bytes, 0)
            if len(text) < self._bytes:
                return text
            self._bytes *= 2

    def close(self) -> None:
        """Close it, unless the program did: then its number may be that of one of its own files."""
        with contextlib.suppress(OSError):
            if self._file is not None and self._now() == self._identity:
                os.close(self._file)
        self._file = None

    def __del__(self) -> None:
        """As :meth:`close`."""
        if hasattr(self, "_identity"):
            self.close()

    def _now(self) -> tuple[int, int]:
        stat = os.fstat(self._file if self._file is not None else -1)
        return stat.st_dev, stat.st_ino


def number_after(text: bytes, key: bytes) -> int | None:
    """The whole number behind a word at the beginning of a line: ``b"VmRSS:"``."""
    at = 0 if text.startswith(key) else text.find(b"\n" + key)
    if at < 0:
        return None
    begin = text.find(key, at) + len(key)
    words = text[begin : begin + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None
