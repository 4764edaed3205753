"""The work on one rank's file as one function: may run in any process that sees file and cache."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch_tb_profiler.importers.kineto.reader import PieceReader, read_in_turn
from torch_tb_profiler.loading.errors import OpenError, Problem
from torch_tb_profiler.loading.measure import peak_memory_bytes, text_bytes
from torch_tb_profiler.loading.opening import (
    cached_trace,
    open_file,
    trace_key,
    wait_until_cached,
)
from torch_tb_profiler.loading.signals import Signals
from torch_tb_profiler.loading.summaries import SUMMARY_PART, load_summary, save_summary
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import FileState, Location, file_state
from torch_tb_profiler.trace.cache import BrokenCacheError, save_trace
from torch_tb_profiler.trace.model import Trace

Part = Literal["trace", "summary"]
"""What is wanted of a file: all of it, or what views of a whole run need."""

TRACE_FOLDER = "trace"
SUMMARY_FOLDER = "summary"


@dataclass(frozen=True, slots=True)
class Job:
    """One file to parse.

    Attributes:
        location: The file.
        cache: Where trace and summary are kept, or None.
        scratch: Folder on this machine for what the cache does not take; None when there is none,
            as on a cluster.
        part: What is wanted.
        signals: Where progress is told, or None.
    """

    location: Location
    cache: CacheFolder | None
    scratch: Path | None = None
    part: Part = "trace"
    signals: Signals | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a job.

    Attributes:
        was_cached: Nothing had to be parsed.
        is_kept: Trace and summary are in the cache now.
        text_bytes: Size of the file after decompression.
        peak_bytes: The most memory its process took, 0 when an earlier job took more.
        seconds: How long it took.
        problem: Why there is no trace, else None.
    """

    was_cached: bool = False
    is_kept: bool = False
    text_bytes: int = 0
    peak_bytes: int = 0
    seconds: float = 0.0
    problem: Problem | None = None


def ingest_file(job: Job, read_pieces: PieceReader = read_in_turn) -> Ingested:
    """Parse one file unless the cache has it, and keep trace and summary."""
    started_s = time.monotonic()
    peak_before = peak_memory_bytes()
    try:
        state = file_state(job.location)
        size = text_bytes(job.location, state)
        was_cached = cached_summary(job.location, job.cache) is not None
        is_kept = was_cached and cached_trace(job.location, job.cache) is not None
        if not is_kept:
            is_kept = _parse(job, read_pieces)
    except StorageError as error:
        return Ingested(problem=Problem(error.code, error.message, error.hint))
    except OpenError as error:
        return Ingested(problem=error.problem)
    peak = peak_memory_bytes()
    return Ingested(
        was_cached,
        is_kept,
        size,
        peak if peak > peak_before else 0,
        time.monotonic() - started_s,
    )


def _parse(job: Job, read_pieces: PieceReader) -> bool:
    """Parse and keep; True when the cache has everything."""
    report = job.signals.report if job.signals is not None else None
    trace = open_file(job.location, cache=job.cache, progress=report, read_pieces=read_pieces)
    keep_summary(trace, job.location, job.cache)
    wait_until_cached()
    if job.scratch is not None:
        _put(job, cached_trace(job.location, job.cache), TRACE_FOLDER, save_trace, trace)
        _put(job, cached_summary(job.location, job.cache), SUMMARY_FOLDER, save_summary, trace)
    return cached_summary(job.location, job.cache) is not None


def _put(
    job: Job,
    cached: Path | None,
    name: str,
    save: Callable[[Trace, Path], None],
    trace: Trace,
) -> None:
    """Save what the cache did not take, if it is what is wanted."""
    if cached is not None or job.scratch is None or name != job.part:
        return
    folder = job.scratch / name
    folder.mkdir()
    try:
        save(trace, folder)
    except OSError:  # no room there either: who waits parses it again
        shutil.rmtree(folder, ignore_errors=True)


def cached_summary(location: Location, cache: CacheFolder | None) -> Path | None:
    """The folder of a file's summary in the cache; None when it is not there.

    Raises:
        StorageError: the file cannot be read.
    """
    if cache is None:
        return None
    return cache.find(trace_key(location, file_state(location), SUMMARY_PART))


def read_summary(
    location: Location, cache: CacheFolder | None, state: FileState | None = None
) -> Trace | None:
    """The summary of a file (in ``state``, if that is known) from the cache; None when it has to
    be made.

    Raises:
        StorageError: the file cannot be read.
    """
    if cache is None:
        return None
    key = trace_key(location, state or file_state(location), SUMMARY_PART)
    folder = cache.find(key)
    try:
        return None if folder is None else load_summary(folder)
    except BrokenCacheError:
        cache.discard(key)
        return None


def keep_summary(trace: Trace, location: Location, cache: CacheFolder | None) -> None:
    """Put the summary of ``trace`` beside it into the cache."""
    if cache is None or cached_summary(location, cache) is not None:
        return
    key = trace_key(location, file_state(location), SUMMARY_PART)
    cache.store(key, lambda folder: save_summary(trace, folder))
