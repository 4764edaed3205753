"""What comes out of reading one file for the store of traces, whatever happens meanwhile."""

from __future__ import annotations

import logging
import time

from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import TraceMemory, memory_of
from torch_tb_profiler.requests.errors import OpenError, Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder

_LOGGER = logging.getLogger(__name__)

Result = tuple[OpenedFile, TraceMemory] | Problem | None
"""Of a reading: the trace, why there is none, or None when nobody wants it any more."""


class _StoppedError(Exception):
    """Raised inside a reading that nobody wants any more."""


def reading_result(parser: Parser, cache: CacheFolder | None, entry: Entry) -> Result:
    """The trace of ``entry``, or why there is none; raises nothing, for nobody is there to see it.

    Tells ``entry`` how far it is, and stops when nobody wants it any more.
    """

    def progress(done_bytes: int, _size_bytes: int) -> None:
        if not entry.is_wanted:
            raise _StoppedError
        entry.done_bytes = done_bytes
        entry.read_s = time.monotonic() - entry.started_s

    file = entry.file
    url = file.location.url
    try:
        opened = parser.open(
            file.location, file.state, cache=cache, part=entry.part, progress=progress
        )
        return opened, memory_of(opened.trace)
    except _StoppedError:
        return None
    except OpenError as error:
        return error.problem
    except MemoryError:
        hint = "Close other programs, or open the trace on a machine with more memory."
        return Problem("out_of_memory", f"{url} does not fit into memory.", hint)
    except BaseException as error:  # panics of native libraries are no Exceptions
        _LOGGER.exception("opening %s failed", url)
        cause = f"{type(error).__name__}: {error}"[:300]
        hint = "This is a fault of torch-tb-profiler: please report it with the log."
        return Problem("internal", f"{url} could not be opened ({cause}).", hint)
