"""Load one entry of the store: open its file, or read its summary from the local cache folder."""

from __future__ import annotations

import logging
import time
from enum import Enum

from torch_tb_profiler.loading.ingest.job import read_summary, summary_key
from torch_tb_profiler.loading.opening.memory_budget import MEMORY_HINT
from torch_tb_profiler.loading.opening.open_file import OpenedFile, lookup_state
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.processes.address_space import is_out_of_memory
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import TraceMemory, memory_of
from torch_tb_profiler.requests.errors import OpenError, Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder

_LOGGER = logging.getLogger(__name__)

Result = tuple[OpenedFile, TraceMemory] | Problem | None
"""The trace, why there is none, or None when it is no longer needed."""


class Absent(Enum):
    """The result for a summary that is not in the local cache folder."""

    ABSENT = "absent"


class _StoppedError(Exception):
    """Raised inside a reading that is no longer needed."""


def load_entry(parser: Parser, cache: CacheFolder | None, entry: Entry) -> Result:
    """The trace of ``entry``, or why there is none. Raises nothing, as no caller could handle it.

    Updates the progress of ``entry``, and stops when it is no longer needed.
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
            file.location,
            file.state,
            cache=cache,
            part=entry.part,
            progress=progress,
            rules=entry.rules,
        )
        return opened, memory_of(opened.trace)
    except _StoppedError:
        return None
    except OpenError as error:
        return error.problem
    except BaseException as error:  # panics of native libraries do not derive from Exception
        if is_out_of_memory(error):
            return Problem("out_of_memory", f"{url} does not fit into memory.", MEMORY_HINT)
        _LOGGER.exception("opening %s failed", url)
        cause = f"{type(error).__name__}: {error}"[:300]
        hint = "This is a bug in torch-tb-profiler: please report it with the log."
        return Problem("internal", f"{url} could not be opened ({cause}).", hint)


def load_cached_summary(cache: CacheFolder, entry: Entry) -> Result | Absent:
    """The summary for ``entry``, or None when it is no longer needed.

    Problems with the file are left to :func:`load_entry`.
    """
    if not entry.is_wanted:
        return None
    location = entry.file.location
    try:
        state = lookup_state(location, entry.file.state)
        if not cache.has_local(summary_key(location, state, entry.rules)):
            return Absent.ABSENT
        summary = read_summary(location, state, cache, entry.rules)
        if summary is None:
            return Absent.ABSENT
        return OpenedFile(summary, state), memory_of(summary)
    except Exception:
        _LOGGER.debug("no summary of %s in the cache", location.url, exc_info=True)
        return Absent.ABSENT
