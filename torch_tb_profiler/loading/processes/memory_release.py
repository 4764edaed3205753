"""When freed memory returns to the system: at once, later, or on request."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from torch_tb_profiler.once import once

BUFFER_BYTES = 16 << 20
"""Larger than any buffer that reading a piece of a trace takes."""

LARGE_BYTES = 4 << 20
"""Larger blocks, columns of a large trace, return to the system as soon as they are freed."""

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


@once
def _glibc() -> Any:
    """The C library; None if it is not glibc."""
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    except (OSError, AttributeError):
        return None


def retain_buffers() -> None:
    """Let this process reuse the buffers of one piece for the next.

    Otherwise glibc returns them and gets new pages each time: an eighth of the time of an import.
    Only for processes of this package: it is a process-wide setting.
    """
    _set_limit(BUFFER_BYTES)


def release_large_blocks() -> None:
    """After the import, in a process that retains buffers: building and views free whole
    columns."""
    if _limits:
        _set_limit(LARGE_BYTES)


def use_one_arena() -> None:
    """Let all threads share an arena: each further one reserves 64 MiB of address space."""
    library = _glibc()
    if library is not None:
        library.mallopt(_M_ARENA_MAX, 1)


def _set_limit(size_bytes: int) -> None:
    library = _glibc()
    if library is not None and (not _limits or _limits[-1] != size_bytes):
        library.mallopt(_M_MMAP_THRESHOLD, size_bytes)
        library.mallopt(_M_TRIM_THRESHOLD, 2 * size_bytes)
        _limits[:] = [size_bytes]


_limits: list[int] = []
"""The limit that was set last; empty in other processes."""


def release_free_memory() -> None:
    """Return freed memory to the system.

    Building a trace frees as much as the trace takes, in arrays of a size that glibc learns to
    retain: of a 1 GB file 360 of 720 MB were free and not returned. Takes some milliseconds.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
