"""Estimate the text size of a file and the memory that reading it takes, and admit readings by
it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch_tb_profiler.loading.processes.resources import free_memory_bytes
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.decompress import GZIP_MAGIC
from torch_tb_profiler.storage.locations import FileState, Location

GZIP_RATIO = 12
"""Text per byte of a gzipped trace (11 to 16 in the samples), if its end cannot be read."""

WORKER_BYTES = 90 << 20
"""Memory of a process before it reads anything."""

MEMORY_PER_TEXT_BYTE = 1.0
"""Initial estimate, refined by measurements: 0.7 for the samples, and 0.9 with deep python
stacks."""

MEMORY_PER_TABLE_BYTE = 2.2
"""Memory of an open trace with the values that views derive from it, relative to its cached
files."""

MEMORY_HINT = (
    "Close other programs, open the trace on a machine with more memory, or read a part of it: "
    "--only-us START:END or --only-steps N:M."
)

RELEASE_S = 1.0
"""The memory of a worker that has just ended is free after this time."""

DATABASE_MAGIC = b"SQLite format 3\0"
DATABASE_RATIO = 3
"""Text that takes as much memory as a byte of a database: 2.1 GB for 750 MB of Nsight Systems, most
of whose tables are read."""

_GZIP_TAIL_BYTES = 4
_LONGEST = 1 << 32


def likely_text_bytes(location: Location, state: FileState) -> int:
    """Bytes of a file after decompression, estimated from its name and its store's metadata
    alone."""
    is_packed = state.is_packed or location.name.endswith(".gz")
    return state.size_bytes * (GZIP_RATIO if is_packed else 1)


def text_bytes(location: Location, state: FileState) -> int:
    """Bytes of a file after decompression, from its own end if it is local; for a database the
    bytes of text that take as much memory.

    Gzip stores them modulo 4 GiB; multiples are added if the file is too large for that.
    """
    size_bytes = state.size_bytes
    if location.filesystem is not None:
        return likely_text_bytes(location, state)
    try:
        with open(location.path, "rb") as file:
            head = file.read(len(DATABASE_MAGIC))
            if head == DATABASE_MAGIC:
                return size_bytes * DATABASE_RATIO
            if not head.startswith(GZIP_MAGIC):
                return size_bytes
            file.seek(max(0, size_bytes - _GZIP_TAIL_BYTES))
            modulo_bytes = int.from_bytes(file.read(_GZIP_TAIL_BYTES), "little")
    except OSError:
        return size_bytes
    return modulo_bytes + _LONGEST * (size_bytes * GZIP_RATIO // 2 // _LONGEST)


if sys.platform == "win32":

    def peak_memory_bytes() -> int:
        """Unknown on this system."""
        return 0

else:
    import resource

    def peak_memory_bytes() -> int:
        """Peak memory of this process."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class MemoryBudget:
    """Admits readings while their memory fits into what is free; one is always admitted.

    Memory per byte of text is learned from completed readings.
    """

    def __init__(self, free_bytes: Callable[[], int] = free_memory_bytes) -> None:
        self._free_bytes = free_bytes
        self._changed = threading.Condition()
        self._held_bytes = 0
        self._free_at_rest = 0
        self._per_text_byte = MEMORY_PER_TEXT_BYTE

    @contextmanager
    def reading(self, text: int) -> Iterator[None]:
        """Wait until a reading of ``text`` bytes fits next to the others, and reserve its
        memory."""
        with self._changed:
            need = self._need_bytes(text)
            while not self._fits(need):
                self._changed.wait()
            self._held_bytes += need
        try:
            yield
        finally:
            with self._changed:
                self._held_bytes -= need
                self._changed.notify_all()

    def exceeds_free_memory(self, text: int) -> bool:
        """Whether a reading of ``text`` bytes may take more memory than is free."""
        return self._need_bytes(text) > self._free_bytes()

    def check_tables(self, url: str, size_bytes: int, release: Callable[[], object]) -> None:
        """Refuse a parsed trace whose tables do not fit into memory.

        Args:
            url: The trace.
            size_bytes: Size of its table files.
            release: Called when memory is short, to free some of it soon.

        Raises:
            OpenError: they do not fit, even after that.
        """
        need_bytes = int(size_bytes * MEMORY_PER_TABLE_BYTE)
        if self._free_bytes() >= need_bytes:
            return
        release()
        deadline_s = time.monotonic() + RELEASE_S
        while (free_bytes := self._free_bytes()) < need_bytes:
            if time.monotonic() > deadline_s:
                raise OpenError(
                    "out_of_memory",
                    f"{url} does not fit into memory: it takes some {need_bytes / 1e6:,.0f} MB "
                    f"when it is open, and {free_bytes / 1e6:,.0f} MB are free.",
                    MEMORY_HINT,
                )
            time.sleep(RELEASE_S / 10)

    def record_peak(self, text: int, peak_bytes: int) -> None:
        """Record that a reading of ``text`` bytes in a separate process took ``peak_bytes``."""
        if text >= WORKER_BYTES and peak_bytes > WORKER_BYTES:
            with self._changed:
                per_text_byte = (peak_bytes - WORKER_BYTES) / text
                self._per_text_byte = max(self._per_text_byte, per_text_byte)

    def _need_bytes(self, text: int) -> int:
        return WORKER_BYTES + int(text * self._per_text_byte)

    def _fits(self, need: int) -> bool:
        if not self._held_bytes:
            self._free_at_rest = self._free_bytes()
            return True
        return self._held_bytes + need <= self._free_at_rest and need <= self._free_bytes()
