"""Decide where a file is parsed: in this process, here with helpers, or in a worker process.

A small file is parsed in this process: starting a worker costs more. A large file alone is read in
pieces by all cores. Of several files each is parsed in a worker process, which passes the tables on
as Arrow files; if it dies, only its file fails.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from pathlib import Path

from msgspec.structs import replace

from torch_tb_profiler.importers import PieceReader, ReadOptions, read_sequentially
from torch_tb_profiler.knowledge.user_rules import NO_RULES, UserRules
from torch_tb_profiler.loading.ingest.job import (
    SUMMARY_FOLDER,
    TRACE_FOLDER,
    IngestResult,
    Job,
    Part,
    cache_summary,
    ingest_file,
    load_summary,
    provide_rules,
    read_summary,
    save_summary,
    with_rules,
)
from torch_tb_profiler.loading.opening.memory_budget import MemoryBudget, text_bytes
from torch_tb_profiler.loading.opening.open_file import (
    OpenedFile,
    Progress,
    cached_trace,
    lookup_state,
    open_trace_file,
)
from torch_tb_profiler.loading.opening.pieces import AHEAD, MAX_HELPERS, shared_reader
from torch_tb_profiler.loading.opening.stored_answers import StoredAnswers, stored_answers
from torch_tb_profiler.loading.processes.executors import LocalExecutor, WorkerDiedError
from torch_tb_profiler.loading.processes.progress_file import ProgressFile
from torch_tb_profiler.loading.processes.resources import usable_cores
from torch_tb_profiler.loading.processes.scratch import scratch_folder
from torch_tb_profiler.once import once
from torch_tb_profiler.requests.errors import OpenError, Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.entry_manifest import BrokenEntryError, read_entry
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.eviction import usage_of
from torch_tb_profiler.storage.locations import FileState, Location
from torch_tb_profiler.trace.cache import load_trace
from torch_tb_profiler.trace.model import Trace

SMALL_BYTES = 32 << 20
"""Text that one core reads while a process starts and passes its tables on."""

LARGE_BYTES = 64 << 20
"""Text from which reading in pieces pays."""

MAX_WORKERS = 16
"""More processes would wait for the disk and for the process that takes their tables."""

POLL_S = 0.05


class Parser:
    """Parses files with up to ``workers`` cores; thread-safe."""

    def __init__(self, workers: int | None = None, *, parses_in_process: bool = True) -> None:
        """Start nothing yet.

        Args:
            workers: Cores to use; None takes those this process may use.
            parses_in_process: Whether this process parses one of several files itself. A server
                does not: it has to answer requests meanwhile.
        """
        self.workers = workers or min(usable_cores(), MAX_WORKERS)
        self._own_turn = threading.Semaphore(1 if parses_in_process else 0)
        self._processes = LocalExecutor(max(1, self.workers - int(parses_in_process)))
        self._helpers = max(0, min(self.workers - 1, MAX_HELPERS))
        self._pieces = LocalExecutor(max(1, self._helpers), ahead=AHEAD)
        self._budget = MemoryBudget()
        self._lock = threading.Lock()
        self._waiting_bytes = 0

    def announce(self, size_bytes: int) -> None:
        """Count a file that waits to be parsed, or (negative) one that is done."""
        with self._lock:
            self._waiting_bytes += size_bytes

    def open(
        self,
        location: Location,
        known: FileState | None = None,
        *,
        cache: CacheFolder | None,
        part: Part = "trace",
        progress: Progress | None = None,
        rules: UserRules = NO_RULES,
    ) -> OpenedFile:
        """The trace of one file with its sidecars, or its summary; from the cache if it is there.

        Args:
            location: The file.
            known: Its state at discovery; None requests it.
            cache: Where traces and summaries are stored, or None.
            part: Which of them is needed.
            progress: Called with the progress of the reading.
            rules: The user's rules for its kernels.

        Raises:
            OpenError: the file cannot be read or holds no trace, or its worker died.
        """
        opened = self._open(location, known, cache=cache, part=part, progress=progress, rules=rules)
        if part == "summary":
            return opened
        joined = self._joined(opened.trace, location, cache)
        trace = with_rules(OpenedFile(joined, opened.state), rules).trace
        if not (trace.device_work.is_empty() and trace.stated.is_empty()):
            # Sidecars describe graphs and generated kernels.
            from torch_tb_profiler.loading.opening.sidecars import (  # noqa: PLC0415 - start-up
                add_sidecars,
            )

            with_sidecars = add_sidecars(trace, location)
            if with_sidecars is not trace:
                return OpenedFile(with_sidecars, opened.state)
        if joined is not opened.trace:
            return OpenedFile(trace, opened.state)
        if cache is not None:
            stored_answers.provide(trace, StoredAnswers(cache, location, opened.state, rules))
        return opened

    def _joined(self, trace: Trace, location: Location, cache: CacheFolder | None) -> Trace:
        """The trace with other recordings of its process, from its folder."""
        if not trace.operators.is_empty():
            from torch_tb_profiler.loading.opening.execution_traces import (  # noqa: PLC0415 - start-up
                join_execution_trace,
            )

            trace = join_execution_trace(trace, location)

        def open_other(other: Location) -> Trace:
            return self._open(
                other, None, cache=cache, part="trace", progress=None, rules=NO_RULES
            ).trace

        if not trace.device_work.is_empty():
            from torch_tb_profiler.loading.opening.other_recordings import (  # noqa: PLC0415
                join_other_recordings,
            )

            trace = join_other_recordings(trace, location, open_other)
        if trace.device_work.is_empty() and trace.memory.is_empty():
            return trace
        from torch_tb_profiler.loading.opening.memory_snapshots import (  # noqa: PLC0415
            join_memory_snapshot,
        )

        return join_memory_snapshot(trace, location, open_other)

    def _open(
        self,
        location: Location,
        known: FileState | None,
        *,
        cache: CacheFolder | None,
        part: Part,
        progress: Progress | None,
        rules: UserRules,
    ) -> OpenedFile:
        try:
            state = lookup_state(location, known)
            job = Job(location, state, cache, part=part, rules=rules)
            if part == "summary":
                summary = read_summary(location, state, cache, rules)
                if summary is not None:
                    return OpenedFile(summary, state)
            cached = cached_trace(location, state, cache)
            if cached is not None:
                self._check_memory(job, cached)
                return self._parse_here(job, progress)
            if ReadOptions.from_variant(location.variant).part is not None:
                # What is decoded is known after a look at the file, and limited then.
                return self._parse_here(job, progress, is_large=True)
            size = text_bytes(location, state)
            with self._budget.reading(size):
                if self._budget.exceeds_free_memory(size):
                    # If memory runs out, the system kills the worker and not this process.
                    return self._in_worker(job, progress)
                if self.workers > 1 and self._is_worth_a_process(size, state.size_bytes):
                    return self._parse_one_of_several(job, progress)
                return self._parse_here(job, progress, is_large=size >= LARGE_BYTES)
        except StorageError as error:
            raise OpenError.of(error) from error

    def ingest(
        self, location: Location, known: FileState, cache: CacheFolder, rules: UserRules = NO_RULES
    ) -> IngestResult:
        """Store the trace of one file and its summary in the cache; nothing stays open."""
        try:
            state = lookup_state(location, known)
            size = text_bytes(location, state)
        except StorageError as error:
            return IngestResult(problem=Problem.of(error))
        job = Job(location, state, cache, rules=rules)
        with self._budget.reading(size):
            is_one_of_many = self.workers > 1 and self._is_worth_a_process(size, state.size_bytes)
            if is_one_of_many or self._budget.exceeds_free_memory(size):
                try:
                    done = self._processes.submit(ingest_file, job).result()
                except WorkerDiedError as error:
                    return IngestResult(problem=_died(location, error).problem)
                self._budget.record_peak(done.text_bytes, done.peak_bytes)
                return done
            if size >= LARGE_BYTES and self._helpers:
                return ingest_file(job, self._reader())
            return ingest_file(job)

    def _reader(self) -> PieceReader:
        return shared_reader(self._pieces, self._helpers)

    def _is_worth_a_process(self, text: int, size_bytes: int) -> bool:
        """Whether enough other files wait to be parsed that a process for this file alone pays."""
        others = max(0, self._waiting_bytes - size_bytes) * text // max(1, size_bytes)
        return others > max(text // 4, SMALL_BYTES - text)

    def close(self) -> None:
        """End the processes."""
        self._processes.shutdown(wait=False)
        self._pieces.shutdown(wait=False)

    def _parse_one_of_several(self, job: Job, progress: Progress | None) -> OpenedFile:
        """Parse one of several files: in this process if it is free, else in a worker process."""
        if not self._own_turn.acquire(blocking=False):
            return self._in_worker(job, progress)
        try:
            return self._parse_here(job, progress)
        finally:
            self._own_turn.release()

    def _parse_here(
        self, job: Job, progress: Progress | None, *, is_large: bool = False
    ) -> OpenedFile:
        reader = self._reader() if is_large and self._helpers else read_sequentially
        opened = open_trace_file(
            job.location, job.state, cache=job.cache, progress=progress, read_pieces=reader
        )
        if job.part == "trace":
            return opened
        trace = with_rules(opened, job.rules).trace
        cache_summary(opened, job.location, job.cache, job.rules)
        summary = read_summary(job.location, opened.state, job.cache, job.rules)
        return OpenedFile(summary or _summarize(trace, job.rules), opened.state)

    def _in_worker(self, job: Job, progress: Progress | None) -> OpenedFile:
        with scratch_folder() as scratch:
            progress_file = ProgressFile(scratch / "signals")
            progress_file.make()
            handed_job = replace(job, scratch=scratch, progress_file=progress_file)
            future = self._processes.submit(ingest_file, handed_job)
            try:
                done = result_with_progress(future, progress_file, job.state.size_bytes, progress)
            except WorkerDiedError as error:
                raise _died(job.location, error) from error
            if done.problem is not None:
                raise OpenError.of(done.problem)
            self._budget.record_peak(done.text_bytes, done.peak_bytes)
            state = done.state or job.state
            if job.part == "trace":
                own = scratch / TRACE_FOLDER
                in_cache = cached_trace(job.location, state, job.cache)
                self._check_memory(job, own if own.is_dir() else in_cache)
            handed = _load_from_scratch(scratch, job)
        if handed is None and job.part == "summary":
            handed = read_summary(job.location, state, job.cache, job.rules)
        if handed is not None:
            return OpenedFile(handed, state)
        # The worker's result is in the cache; if it could not be stored, parse again here.
        return self._parse_here(replace(job, state=state), progress)

    def _check_memory(self, job: Job, tables: Path | None) -> None:
        """Refuse tables that do not fit into memory, even after idle workers have ended.

        Raises:
            OpenError: they do not.
        """
        usage = None if tables is None else usage_of(tables)
        if usage is not None:
            release = self._processes.retire_workers
            self._budget.check_tables(job.location.url, usage.size_bytes, release)


def result_with_progress(
    future: Future[IngestResult],
    progress_file: ProgressFile,
    size_bytes: int,
    progress: Progress | None,
) -> IngestResult:
    """The result of a worker process, whose progress is passed on until then.

    Raises:
        Exception: what the worker raised, or ``progress``, which stops the worker.
    """
    while True:
        try:
            return future.result(POLL_S)
        except StillRunningError:
            if future.done():  # since then, or with this error of its own
                return future.result()
        try:
            if progress is not None:
                progress(progress_file.done_bytes(), size_bytes)
        except BaseException:
            progress_file.stop()
            future.cancel()
            raise


def _died(location: Location, error: WorkerDiedError) -> OpenError:
    return OpenError(
        "worker_died",
        f"{location.url} was not parsed: its worker process died ({error}).",
        "If it ran out of memory, close other programs, use fewer --workers, or read a part of it: "
        "--only-us START:END or --only-steps N:M.",
    )


def _load_from_scratch(scratch: Path, job: Job) -> Trace | None:
    is_whole = job.part == "trace"
    name, read = (TRACE_FOLDER, load_trace) if is_whole else (SUMMARY_FOLDER, load_summary)
    if not (scratch / name).is_dir():
        return None
    try:
        handed = read_entry(scratch / name, name, read)
    except BrokenEntryError:
        return None
    if not is_whole:
        provide_rules(handed, job.rules)
    return handed


def _summarize(trace: Trace, rules: UserRules) -> Trace:
    """The summary of a trace that no cache could store."""
    with scratch_folder() as folder:
        save_summary(trace, folder)
        summary = load_summary(folder)
    provide_rules(summary, rules)
    return summary


@once
def shared_parser() -> Parser:
    """The default parser of this process."""
    return Parser()
