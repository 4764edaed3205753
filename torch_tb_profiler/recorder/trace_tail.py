"""One more key at the end of a trace: what the journal tells of its window.

The last brace of the file is written over, so nothing of it is copied; a trace that does not end
with one is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

KEY = b'"torch_tb_profiler"'
MAX_TAIL_BYTES = 12 << 20
"""Readers look at so much behind the events."""

LOOK_BYTES = 4096
END = b'"complete":true}}'
"""Last of all, so that a look at the end of a file tells that it is there."""

BLANK = b" \t\r\n"


def append_tail(path: str, blocks: Iterable[bytes]) -> str | None:
    """Append blocks to a trace that has none yet; why that cannot be, else None.

    Args:
        path: The trace, as torch writes it.
        blocks: Blocks as JSON; of those that are too many the last are left out.
    """
    try:
        status = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(max(0, status.st_size - LOOK_BYTES))
            look = file.read()
            text = look.rstrip(BLANK)
            if text.endswith(END):
                return None
            if not text.endswith(b"}") or text[:-1].rstrip(BLANK)[-1:] in (b"{", b""):
                return "it ends in the middle"
            at = status.st_size - len(look) + len(text) - 1
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
    """Write a tail over the last brace; where the disk is full the brace comes back."""
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
