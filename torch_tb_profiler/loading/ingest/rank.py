"""The work on one rank's file as one function: may run in any process that sees file and cache."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch_tb_profiler.importers import PieceReader, read_in_turn
from torch_tb_profiler.loading.opening.measure import peak_memory_bytes, text_bytes
from torch_tb_profiler.loading.opening.open_file import (
    OpenedFile,
    cached_trace,
    first_state,
    open_in_state,
    trace_key,
    wait_until_cached,
)
from torch_tb_profiler.loading.processes.signals import Signals
from torch_tb_profiler.requests.errors import OpenError, Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.entry_manifest import seal
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import FileState, Location
from torch_tb_profiler.trace.cache import save_trace
from torch_tb_profiler.trace.model import Trace

Part = Literal["trace", "summary"]
"""What is wanted of a file: all of it, or what views of a whole run need."""

TRACE_FOLDER = "trace"
SUMMARY_FOLDER = "summary"
SUMMARY_VERSION = 9
"""Raise with every change of what a summary holds."""

SUMMARY_PART = f"/summary {SUMMARY_VERSION}"
"""What tells its key in the cache from that of the trace."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to parse.

    Attributes:
        location: The file.
        state: What it was when it was found.
        cache: Where trace and summary are kept, or None.
        scratch: Folder on this machine for what the cache does not take; None when there is none,
            as on a cluster.
        part: What is wanted.
        signals: Where progress is told, or None.
    """

    location: Location
    state: FileState
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
        is_shared: Whoever else uses the cache finds them: a bucket has them.
        was_sent: They were put into the bucket for it.
        state: What the file was that they were made from; None when there is no trace.
        text_bytes: Size of the file after decompression.
        peak_bytes: The most memory its process took, 0 when an earlier job took more.
        seconds: How long it took.
        problem: Why there is no trace, else None.
    """

    was_cached: bool = False
    is_kept: bool = False
    is_shared: bool = False
    was_sent: bool = False
    state: FileState | None = None
    text_bytes: int = 0
    peak_bytes: int = 0
    seconds: float = 0.0
    problem: Problem | None = None


def ingest_file(job: Job, read_pieces: PieceReader = read_in_turn) -> Ingested:
    """Parse one file unless the cache has it, and keep trace and summary."""
    started_s = time.monotonic()
    peak_before = peak_memory_bytes()
    try:
        state = first_state(job.location, job.state)
        size = text_bytes(job.location, state)
        was_cached = _is_kept(job, state)
        if not was_cached:
            state = _parse(job, state, read_pieces)
    except StorageError as error:
        return Ingested(problem=Problem.of(error))
    except OpenError as error:
        return Ingested(problem=error.problem)
    is_shared, was_sent = _share(job, state)
    peak = peak_memory_bytes()
    return Ingested(
        was_cached,
        is_kept=was_cached or _is_kept(job, state),
        is_shared=is_shared,
        was_sent=was_sent,
        state=state,
        text_bytes=size,
        peak_bytes=peak if peak > peak_before else 0,
        seconds=time.monotonic() - started_s,
    )


def _is_kept(job: Job, state: FileState) -> bool:
    """Whether the cache has both; nothing is fetched from a bucket to know it."""
    return job.cache is not None and all(map(job.cache.holds, _keys(job.location, state)))


def _share(job: Job, state: FileState) -> tuple[bool, bool]:
    """Whether others find trace and summary now, and whether something was sent for it.

    Only where that is the purpose: who opens a file has a folder for what is handed over.
    """
    if job.cache is None or job.scratch is not None:
        return False, False
    keys = _keys(job.location, state)
    shared = [job.cache.share(key) for key in keys]
    return all(shared), any(map(job.cache.was_sent, keys))


def _keys(location: Location, state: FileState) -> list[str]:
    """The keys of what the cache keeps of a file."""
    return [summary_key(location, state), trace_key(location, state)]


def _parse(job: Job, state: FileState, read_pieces: PieceReader) -> FileState:
    """Parse and keep; returns what the file was that was read in the end."""
    report = job.signals.report if job.signals is not None else None
    opened = open_in_state(
        job.location, state, cache=job.cache, progress=report, read_pieces=read_pieces
    )
    keep_summary(opened, job.location, job.cache)
    wait_until_cached()
    if job.scratch is not None:
        kept = cached_trace(job.location, opened.state, job.cache)
        _put(job, kept, TRACE_FOLDER, save_trace, opened.trace)
        kept = cached_summary(job.location, opened.state, job.cache)
        _put(job, kept, SUMMARY_FOLDER, save_summary, opened.trace)
    return opened.state


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
        seal(folder, name)
    except OSError:  # no room there either: who waits parses it again
        shutil.rmtree(folder, ignore_errors=True)


def summary_key(location: Location, state: FileState) -> str:
    """The key of a file's summary in the cache."""
    return trace_key(location, state, SUMMARY_PART)


def cached_summary(location: Location, state: FileState, cache: CacheFolder | None) -> Path | None:
    """The folder of a file's summary in the cache; None when it is not there."""
    return None if cache is None else cache.find(summary_key(location, state))


def read_summary(location: Location, state: FileState, cache: CacheFolder | None) -> Trace | None:
    """The summary of a file from the cache; None when it has to be made."""
    if cache is None:
        return None
    return cache.load(summary_key(location, state), load_summary)


def keep_summary(opened: OpenedFile, location: Location, cache: CacheFolder | None) -> None:
    """Put the summary of a trace into the cache, under the state that the trace belongs to."""
    if cache is None or cached_summary(location, opened.state, cache) is not None:
        return
    key = summary_key(location, opened.state)
    cache.store(key, lambda folder: save_summary(opened.trace, folder))


def save_summary(trace: Trace, folder: Path) -> None:
    """``summaries.save_summary``; the analysis behind it is imported when it is needed."""
    from torch_tb_profiler.loading.ingest.summaries import save_summary as save  # noqa: PLC0415

    save(trace, folder)


def load_summary(folder: Path) -> Trace:
    """``summaries.load_summary``, likewise."""
    from torch_tb_profiler.loading.ingest.summaries import load_summary as load  # noqa: PLC0415

    return load(folder)
