"""Appends the journal of a window to its trace, as one more key of the JSON object.

The last brace of the file is overwritten, so nothing is copied. A trace that does not end with a
brace is left unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

KEY = b'"torch_tb_profiler"'
MAX_TAIL_BYTES = 12 << 20
"""Readers search at most this much after the events."""

END_BYTES = 4096
END = b'"complete":true}}'
"""Written last: the end of the file shows whether the journal has been appended."""

BLANK = b" \t\r\n"


def append_journal(path: str, blocks: Iterable[bytes]) -> str | None:
    """Append blocks to a trace, unless it has them already.

    Args:
        path: The trace as torch writes it.
        blocks: Blocks as JSON; those beyond :data:`MAX_TAIL_BYTES` are dropped.

    Returns:
        Why that is not possible; None on success.
    """
    try:
        status = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(max(0, status.st_size - END_BYTES))
            ending = file.read()
            text = ending.rstrip(BLANK)
            if text.endswith(END):
                return None
            if not text.endswith(b"}") or text[:-1].rstrip(BLANK)[-1:] in (b"{", b""):
                return "it is incomplete"
            at = status.st_size - len(ending) + len(text) - 1
            _write_over(file.fileno(), at, _tail(blocks))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError as error:
        return f"it cannot be written: {error.strerror}"
    return None


def _tail(blocks: Iterable[bytes]) -> bytes:
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        size += len(block) + 1
        if size > MAX_TAIL_BYTES:
            break
        parts.append(block)
    return b"," + KEY + b':{"version":1,"blocks":[' + b",".join(parts) + b"]," + END


def _write_over(file: int, at: int, tail: bytes) -> None:
    """Overwrite the last brace with the tail; restore the brace if the disk is full."""
    try:
        os.lseek(file, at, os.SEEK_SET)
        rest = memoryview(tail)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.truncate(file, at + len(tail))
    except OSError:
        with suppress(OSError):
            os.truncate(file, at)
            os.lseek(file, at, os.SEEK_SET)
            os.write(file, b"}")
        raise
