"""Open one file: read, import, build and cache its trace."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler._version import __version__
from torch_tb_profiler.budget import limits_variant
from torch_tb_profiler.importers import (
    PieceIndexStore,
    PieceReader,
    Reading,
    ReadOptions,
    TraceFormatError,
    import_source,
    read_sequentially,
    source_of,
)
from torch_tb_profiler.knowledge.arguments import is_secret
from torch_tb_profiler.loading.opening.piece_index import CachedIndex
from torch_tb_profiler.loading.processes.memory_release import (
    release_free_memory,
    release_large_blocks,
)
from torch_tb_profiler.loading.processes.resources import free_memory_bytes
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder, cache_key
from torch_tb_profiler.storage.errors import (
    CHANGED,
    NOT_FOUND,
    StorageError,
    changed_error,
    from_os_error,
    gone_error,
)
from torch_tb_profiler.storage.file_completeness import SETTLED_S
from torch_tb_profiler.storage.locations import FileState, Location, file_state, remote_state
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import TRACE_SCHEMA_VERSION, load_trace, save_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the size of the file; may raise to stop the reading."""

GROWTH_WAIT_S = 0.25
"""A fresh file that ends in the middle and does not grow for so long is truncated."""

_CUT_OFF = frozenset(
    {
        "database_truncated",
        "empty_file",
        "gzip_truncated",
        "gzip_unreadable",
        "no_events",
        "truncated",
        "unfinished_database",
    }
)

ATTEMPTS = 3
"""Readings of a file that changes meanwhile, before an error is raised."""

_UNKNOWN_VERSION = remote_state({}).version
"""Version of files in a listing that has only names, as those of web servers."""

LARGE_SLICES = 200_000
"""From this number on it pays to return freed memory to the system after each stage."""

_WRITER = ThreadPoolExecutor(1, thread_name_prefix="trace-cache")
"""Writes cache entries one after the other, while the trace is already in use."""


class OpenedFile(Struct, frozen=True):
    """A trace (or its summary) and the state of its file.

    Attributes:
        trace: The tables.
        state: State of the file when they were read; may differ from its state at discovery.
    """

    trace: Trace
    state: FileState


def open_trace_file(
    location: Location,
    known: FileState | None,
    *,
    cache: CacheFolder | None,
    progress: Progress | None = None,
    read_pieces: PieceReader = read_sequentially,
) -> OpenedFile:
    """The trace of one file, from the cache if it is there, and the state it belongs to.

    A trace that had to be parsed is stored in the cache in the background; a process that ends
    completes that first (:func:`wait_until_cached` waits for it). A file that changed while it was
    read is read again.

    Args:
        location: The file.
        known: Its state at discovery; None requests it.
        cache: Where parsed traces are stored, or None.
        progress: Called with the progress of the reading.
        read_pieces: Reads the pieces that a large file is split into.

    Raises:
        OpenError: the file cannot be read, holds no trace, or changes faster than it is read.
    """
    try:
        state = lookup_state(location, known)
        for _ in range(ATTEMPTS):
            key = trace_key(location, state)
            cached = None if cache is None else cache.load(key, load_trace)
            if cached is not None:
                return OpenedFile(cached, state)
            index = None if cache is None else CachedIndex(cache, _index_key(location, state))
            trace = _read(location, state, progress, read_pieces, index)
            if _may_be_incomplete(trace):
                _wait_for_writer(location)
            before, state = state, file_state(location)
            if state == before:
                break
        else:
            raise changed_error(location.url)
        if not isinstance(trace, Trace):
            raise trace
    except (StorageError, TraceFormatError) as error:
        raise OpenError.of(error) from error
    if cache is not None:
        write = partial(cache.store, key, partial(save_trace, trace))
        store_later(write, f"the parsed trace of {location.url}")
    return OpenedFile(trace, state)


def lookup_state(location: Location, known: FileState | None) -> FileState:
    """The state for looking a file up in the cache, before it is read.

    For a remote file the state from its listing: requesting it costs a round trip. A local file is
    checked again: that is cheap, and it may have become a link that leads out of its root.

    Raises:
        StorageError: as :func:`~torch_tb_profiler.storage.locations.file_state`.
    """
    is_known = known is not None and known.version != _UNKNOWN_VERSION
    if known is not None and is_known and location.filesystem is not None:
        return known
    try:
        return file_state(location)
    except StorageError as error:
        if known is None or error.code != NOT_FOUND:
            raise
        raise gone_error(location.url) from error


def store_later(write: Callable[[], object], what: str) -> None:
    """Let ``write`` store something in the cache, behind what is stored now; ``what`` it is, for
    the log if it fails."""
    _WRITER.submit(_store, write, what)


def _store(write: Callable[[], object], what: str) -> None:
    try:
        write()
    except Exception:
        _LOGGER.exception("%s was not cached", what)


def wait_until_cached() -> None:
    """Wait until every trace opened so far is in the cache."""
    last: Future[None] = _WRITER.submit(lambda: None)
    last.result()


def trace_key(location: Location, state: FileState, part: str = "") -> str:
    """The cache key of a file's trace, or of another ``part`` derived from it."""
    maker = f"{TRACE_SCHEMA_VERSION}/{__version__}{part}{location.variant}{limits_variant()}"
    return cache_key(location.url, state.version, str(state.size_bytes), maker)


def cached_trace(location: Location, state: FileState, cache: CacheFolder | None) -> Path | None:
    """The folder of a file's trace in the cache; None if it is not cached."""
    return None if cache is None else cache.find(trace_key(location, state))


def _index_key(location: Location, state: FileState) -> str:
    """The cache key of what was learned about the pieces of a file, for all its parts."""
    maker = f"{__version__}/piece index"
    return cache_key(location.url, state.version, str(state.size_bytes), maker)


def _read(
    location: Location,
    state: FileState,
    progress: Progress | None,
    read_pieces: PieceReader,
    index: PieceIndexStore | None,
) -> Trace | StorageError | TraceFormatError:
    """The trace, or what is wrong with the file: possibly only that it is incomplete."""

    def report(done_bytes: int) -> None:
        if progress is not None:
            progress(done_bytes, state.size_bytes)

    try:
        options = ReadOptions.from_variant(location.variant)
        reading = Reading(options, report, read_pieces, is_secret=is_secret)
        if options.part is not None:
            reading = replace(reading, index=index, max_part_bytes=free_memory_bytes())
        columns = _columns(location, state, reading)
    except TraceFormatError as error:
        return error
    except StorageError as error:
        if error.code != CHANGED:
            raise
        return error
    if not _CUT_OFF.isdisjoint(columns.quality.counts) and columns.is_empty:
        return TraceFormatError(
            "truncated",
            f"{location.name} ends before its first event.",
            "Compare its size with the original and copy it again, or export the trace again.",
        )
    rows = columns.tables["slices"]["start_ns"].size + columns.tables["memory"]["time_ns"].size
    is_large = rows > LARGE_SLICES
    if is_large:
        release_large_blocks()
        release_free_memory()
    trace = build_trace(columns)
    del columns
    if is_large:
        release_free_memory()
    return trace


def _columns(location: Location, state: FileState, reading: Reading) -> EventColumns:
    try:
        return import_source(source_of(location, state), reading)
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise changed_error(location.url) from error
        raise from_os_error(error, location.url) from error


def _may_be_incomplete(trace: Trace | StorageError | TraceFormatError) -> bool:
    if isinstance(trace, Trace):
        return not _CUT_OFF.isdisjoint(trace.quality.counts)
    return trace.code in _CUT_OFF


def _wait_for_writer(location: Location) -> None:
    """Give a process that is just writing a local file time to continue."""
    if location.filesystem is None and time.time() - os.stat(location.path).st_mtime < SETTLED_S:
        time.sleep(GROWTH_WAIT_S)
