"""A limit of the memory of this process while a query runs in it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OUT_OF_MEMORY_EXIT = 86
"""Exit code of a process that used more than its limit."""

RESERVED_BYTES = 768 << 20
"""Address space that threads and allocators reserve without using it."""

CHECK_S = 0.05

_STATM = Path("/proc/self/statm")

if sys.platform == "win32":  # DuckDB's own limit is the only one there

    @contextmanager
    def memory_limited(_more_bytes: int) -> Iterator[None]:
        """Nothing limits the memory of a process from within."""
        yield

else:
    import resource

    @contextmanager
    def memory_limited(more_bytes: int) -> Iterator[None]:
        """Let this process use ``more_bytes`` more than now: allocations beyond fail, and where the
        system does not refuse them, the process ends with :data:`OUT_OF_MEMORY_EXIT`."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        limit = _pages(0) + more_bytes + RESERVED_BYTES
        if before[1] not in (resource.RLIM_INFINITY, -1):
            limit = min(limit, before[1])
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
        is_over = threading.Event()
        watcher = threading.Thread(
            target=_watch, args=(_resident_bytes() + more_bytes, is_over), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()
            resource.setrlimit(resource.RLIMIT_AS, before)

    def _watch(limit_bytes: int, is_over: threading.Event) -> None:
        while not is_over.wait(CHECK_S):
            if _resident_bytes() > limit_bytes:
                os._exit(OUT_OF_MEMORY_EXIT)

    def _resident_bytes() -> int:
        """Memory of this process now; where the system does not say, the most it ever was."""
        resident = _pages(1)
        if resident:
            return resident
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10

    def _pages(column: int) -> int:
        try:
            count = int(_STATM.read_text(encoding="ascii").split()[column])
        except OSError:
            return 0
        return count * os.sysconf("SC_PAGE_SIZE")
