"""The work on one file as a function that runs in any process with access to file and cache."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from torch_tb_profiler.importers import PieceReader, read_sequentially
from torch_tb_profiler.knowledge.user_rules import NO_RULES, UserRules
from torch_tb_profiler.loading.opening.memory_budget import peak_memory_bytes, text_bytes
from torch_tb_profiler.loading.opening.open_file import (
    OpenedFile,
    cached_trace,
    lookup_state,
    open_trace_file,
    trace_key,
    wait_until_cached,
)
from torch_tb_profiler.loading.processes.progress_file import ProgressFile
from torch_tb_profiler.requests.errors import OpenError, Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.entry_manifest import seal
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import FileState, Location
from torch_tb_profiler.trace.cache import save_trace
from torch_tb_profiler.trace.model import Trace

Part = Literal["trace", "summary"]
"""What is needed of a file: the whole trace, or the summary that views of a whole run need."""

TRACE_FOLDER = "trace"
SUMMARY_FOLDER = "summary"
SUMMARY_VERSION = 34
"""Increase with every change of the content of a summary."""

SUMMARY_PART = f"/summary {SUMMARY_VERSION}"
"""Distinguishes the cache key of a summary from that of the trace."""


class Job(Struct, frozen=True):
    """One file to parse.

    Attributes:
        location: The file.
        state: Its state when it was discovered.
        cache: Where trace and summary are stored, or None.
        scratch: Local folder for results that the cache does not take; None if there is none, as on
            a cluster.
        part: What is needed.
        progress_file: Where progress is reported, or None.
        rules: The user's rules for kernels, which a summary follows.
    """

    location: Location
    state: FileState
    cache: CacheFolder | None
    scratch: Path | None = None
    part: Part = "trace"
    progress_file: ProgressFile | None = None
    rules: UserRules = NO_RULES


class IngestResult(Struct, frozen=True):
    """The result of a job.

    Attributes:
        was_cached: Nothing had to be parsed.
        is_cached: Trace and summary are in the cache now.
        is_shared: Other users of the cache can use them: they are in a bucket.
        was_sent: They were uploaded to the bucket by this job.
        state: State of the file that was parsed; None when there is no trace.
        text_bytes: Size of the file after decompression.
        peak_bytes: Peak memory of its process, 0 if an earlier job needed more.
        seconds: Duration of the job.
        problem: Why there is no trace, else None.
    """

    was_cached: bool = False
    is_cached: bool = False
    is_shared: bool = False
    was_uploaded: bool = False
    state: FileState | None = None
    text_bytes: int = 0
    peak_bytes: int = 0
    seconds: float = 0.0
    problem: Problem | None = None


def ingest_file(job: Job, read_pieces: PieceReader = read_sequentially) -> IngestResult:
    """Parse one file unless it is cached, and store trace and summary."""
    started_s = time.monotonic()
    peak_before = peak_memory_bytes()
    try:
        state = lookup_state(job.location, job.state)
        size = text_bytes(job.location, state)
        was_cached = _is_cached(job, state)
        if not was_cached:
            state = _parse(job, state, read_pieces)
    except StorageError as error:
        return IngestResult(problem=Problem.of(error))
    except OpenError as error:
        return IngestResult(problem=error.problem)
    is_shared, was_uploaded = _share(job, state)
    peak = peak_memory_bytes()
    return IngestResult(
        was_cached,
        is_cached=was_cached or _is_cached(job, state),
        is_shared=is_shared,
        was_uploaded=was_uploaded,
        state=state,
        text_bytes=size,
        peak_bytes=peak if peak > peak_before else 0,
        seconds=time.monotonic() - started_s,
    )


def _is_cached(job: Job, state: FileState) -> bool:
    """Whether the cache has both; nothing is downloaded from a bucket for it."""
    return job.cache is not None and all(map(job.cache.holds, _keys(job, state)))


def _share(job: Job, state: FileState) -> tuple[bool, bool]:
    """Whether other users can use trace and summary now, and whether something was uploaded for it.

    Only for jobs with that purpose: opening a file uses a scratch folder for the results.
    """
    if job.cache is None or job.scratch is not None:
        return False, False
    keys = _keys(job, state)
    shared = [job.cache.share(key) for key in keys]
    return all(shared), any(map(job.cache.was_uploaded, keys))


def _keys(job: Job, state: FileState) -> list[str]:
    """The cache keys of a file's summary and trace."""
    return [summary_key(job.location, state, job.rules), trace_key(job.location, state)]


def _parse(job: Job, state: FileState, read_pieces: PieceReader) -> FileState:
    """Parse and store; returns the state of the file that was read in the end."""
    report = job.progress_file.report if job.progress_file is not None else None
    opened = open_trace_file(
        job.location, state, cache=job.cache, progress=report, read_pieces=read_pieces
    )
    opened = with_rules(opened, job.rules)
    cache_summary(opened, job.location, job.cache, job.rules)
    wait_until_cached()
    if job.scratch is not None:
        cached = cached_trace(job.location, opened.state, job.cache)
        _put(job, cached, TRACE_FOLDER, save_trace, opened.trace)
        cached = cached_summary(job.location, opened.state, job.cache, job.rules)
        _put(job, cached, SUMMARY_FOLDER, save_summary, opened.trace)
    return opened.state


def _put(
    job: Job,
    cached: Path | None,
    name: str,
    save: Callable[[Trace, Path], None],
    trace: Trace,
) -> None:
    """Save what the cache did not take, if it is what is needed."""
    if cached is not None or job.scratch is None or name != job.part:
        return
    folder = job.scratch / name
    folder.mkdir()
    try:
        save(trace, folder)
        seal(folder, name)
    except OSError:  # no space there either: the waiting process parses the file again
        shutil.rmtree(folder, ignore_errors=True)


def summary_key(location: Location, state: FileState, rules: UserRules) -> str:
    """The cache key of a file's summary: it holds what follows from the user's rules."""
    own = f" rules {rules.digest}" if rules.digest else ""
    return trace_key(location, state, f"{SUMMARY_PART}{own}")


def cached_summary(
    location: Location, state: FileState, cache: CacheFolder | None, rules: UserRules
) -> Path | None:
    """The folder of a file's summary in the cache; None if it is not cached."""
    return None if cache is None else cache.find(summary_key(location, state, rules))


def read_summary(
    location: Location, state: FileState, cache: CacheFolder | None, rules: UserRules
) -> Trace | None:
    """The summary of a file from the cache; None if it has to be created."""
    if cache is None:
        return None
    summary = cache.load(summary_key(location, state, rules), load_summary)
    if summary is not None:
        provide_rules(summary, rules)
    return summary


def with_rules(opened: OpenedFile, rules: UserRules) -> OpenedFile:
    """A trace that was just opened, with the user's rules for its kernels."""
    provide_rules(opened.trace, rules)
    return opened


def provide_rules(trace: Trace, rules: UserRules) -> None:
    """Let a trace from which nothing was derived yet follow ``rules``; imported on demand."""
    if rules == NO_RULES:
        return
    from torch_tb_profiler.analysis.recording.user_rules import user_rules  # noqa: PLC0415

    user_rules.provide(trace, rules)


def cache_summary(
    opened: OpenedFile, location: Location, cache: CacheFolder | None, rules: UserRules
) -> None:
    """Store the summary of a trace in the cache, under the state that the trace belongs to."""
    if cache is None or cached_summary(location, opened.state, cache, rules) is not None:
        return
    key = summary_key(location, opened.state, rules)
    cache.store(key, lambda folder: save_summary(opened.trace, folder))


def save_summary(trace: Trace, folder: Path) -> None:
    """``summaries.save_summary``; its imports from ``analysis`` are loaded on demand."""
    from torch_tb_profiler.loading.ingest.summaries import save_summary as save  # noqa: PLC0415

    save(trace, folder)


def load_summary(folder: Path) -> Trace:
    """``summaries.load_summary``; imported on demand likewise."""
    from torch_tb_profiler.loading.ingest.summaries import load_summary as load  # noqa: PLC0415

    return load(folder)
