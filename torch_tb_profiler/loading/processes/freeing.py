"""When freed memory goes back to the system: at once, later, or now."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from torch_tb_profiler.once import once

BUFFER_BYTES = 16 << 20
"""Larger than any buffer that reading a piece of a trace takes."""

LARGE_BYTES = 4 << 20
"""What is larger, columns of a large trace, is given back at once when it is freed."""

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


@once
def _glibc() -> Any:
    """The C library; None where it is another one."""
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    except (OSError, AttributeError):
        return None


def keep_buffers() -> None:
    """Let this process use the buffers of one piece again for the next.

    Else glibc gives them back and gets new pages each time: an eighth of the time of an import.
    For processes of our own only: it is a setting of the whole process.
    """
    _set_limit(BUFFER_BYTES)


def keep_little() -> None:
    """After the import, in a process that kept buffers: building and views free whole columns."""
    if _limits:
        _set_limit(LARGE_BYTES)


def _set_limit(size_bytes: int) -> None:
    library = _glibc()
    if library is not None and (not _limits or _limits[-1] != size_bytes):
        library.mallopt(_M_MMAP_THRESHOLD, size_bytes)
        library.mallopt(_M_TRIM_THRESHOLD, 2 * size_bytes)
        _limits[:] = [size_bytes]


_limits: list[int] = []
"""The limit that was set last; empty in a process that is not ours."""


def give_back() -> None:
    """Return freed memory to the system.

    Building a trace frees as much as the trace takes, in arrays of a size that glibc learns to
    keep: of a 1 GB file 360 of 720 MB were free and not given back. Takes some milliseconds.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
