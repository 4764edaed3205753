"""The limit of the address space (``ulimit -v``, ``RLIMIT_AS``), and working within it.

Libraries reserve address space by the number of cores: threads with their stacks, and an arena for
each of them. Within a limit that is small for the cores they start fewer; what exceeds it all the
same shows up as an error of many kinds.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

from torch_tb_profiler.loading.processes.memory_release import use_one_arena

BASE_BYTES = 1 << 30
"""Address space of a process with one thread that reads a small trace: 0.4 GB, and as much for
the trace."""

BYTES_OF_CORE = 256 << 20
"""What libraries reserve for each further core: threads of three pools, and their arenas."""

STACK_BYTES = 2 << 20
"""Of each thread of this package within a small limit; the system's default is 8 MiB."""

_NO_LIMIT = 1 << 62
_STATM = Path("/proc/self/statm")
_SIGNS = ("can't start new thread", "failed to map segment", "cannot allocate memory")
"""In texts of errors: of Python's threads, of the loader of shared libraries."""

if sys.platform == "win32":

    def limit_bytes() -> int | None:
        """There is none on this system."""
        return None

else:
    import resource

    def limit_bytes() -> int | None:
        """The limit of this process's address space; None where it has none."""
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return None if limit in (resource.RLIM_INFINITY, -1) else limit


def free_bytes() -> int:
    """What this process may still reserve; a very large number without a limit."""
    limit = limit_bytes()
    if limit is None:
        return _NO_LIMIT
    try:
        used = int(_STATM.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return limit
    return max(0, limit - used)


def library_settings(cores: int) -> dict[str, str]:
    """Environment variables with which libraries stay within the limit; empty if it is large enough
    for all cores, or there is none. They are read when polars is imported."""
    limit = limit_bytes()
    if limit is None or limit >= BASE_BYTES + cores * BYTES_OF_CORE:
        return {}
    return {
        "POLARS_MAX_THREADS": str(max(1, (limit - BASE_BYTES) // BYTES_OF_CORE)),
        "_RJEM_MALLOC_CONF": "background_thread:false,dirty_decay_ms:100,muzzy_decay_ms:0",
    }


def limit_own_threads(cores: int) -> None:
    """Let later threads of this process reserve little, if the limit is small."""
    if library_settings(cores):
        use_one_arena()
        threading.stack_size(STACK_BYTES)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or what caused it, says that there is no memory.

    Under a limit of the address space also what libraries say then: a panic of polars that could
    not start a thread, an error of numpy without a message.
    """
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return False
        if isinstance(seen, MemoryError) or _says_so(seen):
            return True
        if limit_bytes() is not None and _may_say_so(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _may_say_so(error: BaseException) -> bool:
    """Errors with many causes: a panic, numpy's without a text, a process that does not start."""
    is_again = isinstance(error, OSError) and error.errno == errno.EAGAIN
    return is_again or type(error).__name__ in ("PanicException", "SystemError")


def _says_so(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    is_of_these = isinstance(error, (ImportError, RuntimeError, OSError))
    return is_of_these and any(sign in str(error).lower() for sign in _SIGNS)
