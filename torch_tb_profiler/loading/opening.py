"""A place in, a trace out: reading, importing, building and the cache joined."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from torch_tb_profiler._version import __version__
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.loading.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder, cache_key
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import FileState, Location, file_state, read_chunks
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import TRACE_SCHEMA_VERSION, load_trace, save_trace
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the size of the file; may raise to stop the reading."""

_WRITER = ThreadPoolExecutor(1, thread_name_prefix="trace-cache")
"""Writes cache entries one after the other, beside whoever looks at the trace already."""


def open_file(
    location: Location, *, cache: CacheFolder | None, progress: Progress | None = None
) -> Trace:
    """The trace of one file, from the cache when it is there.

    A trace that had to be parsed is put into the cache in the background; a process that ends
    finishes that first (:func:`wait_until_cached` waits for it).

    Raises:
        OpenError: the file cannot be read or holds no trace.
    """
    try:
        state = file_state(location)
        key = cache_key(location.url, state.version, str(state.size_bytes), _maker())
        kept = _from_cache(cache, key)
        if kept is not None:
            return kept
        trace = _parse(location, state, progress)
    except (StorageError, TraceFormatError) as error:
        raise OpenError(error.code, error.message, error.hint) from error
    if cache is not None:
        _WRITER.submit(_keep, cache, key, trace, location, state)
    return trace


def wait_until_cached() -> None:
    """Wait until every trace opened so far is in the cache."""
    last: Future[None] = _WRITER.submit(lambda: None)
    last.result()


def _maker() -> str:
    return f"{TRACE_SCHEMA_VERSION}/{__version__}"


def _from_cache(cache: CacheFolder | None, key: str) -> Trace | None:
    folder = cache.find(key) if cache is not None else None
    if cache is None or folder is None:
        return None
    try:
        return load_trace(folder)
    except Exception as error:  # whatever is wrong with an entry, it can be made again
        _LOGGER.warning("the cached trace in %s is broken (%s); parsing again", folder, error)
        cache.discard(key)
        return None


def _parse(location: Location, state: FileState, progress: Progress | None) -> Trace:
    def report(done_bytes: int) -> None:
        if progress is not None:
            progress(done_bytes, state.size_bytes)

    return build_trace(import_trace(read_chunks(location), name=location.url, progress=report))


def _keep(cache: CacheFolder, key: str, trace: Trace, location: Location, state: FileState) -> None:
    try:
        if file_state(location) != state:
            return  # it changed while it was read: the key would promise what the entry is not
    except StorageError:
        return

    def write(folder: Path) -> None:
        save_trace(trace, folder)

    try:
        cache.store(key, write)
    except Exception:
        _LOGGER.exception("the parsed trace of %s was not cached", location.url)
