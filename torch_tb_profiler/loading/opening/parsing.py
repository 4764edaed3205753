"""How a file is parsed on this machine: here, here with helpers, or in a worker process.

A small file is parsed where it is asked for: starting a process costs more. A large file that is
alone is read in pieces by all cores. Several files are parsed each in a process of its own, which
hands the tables over as Arrow files; if it dies, its file fails and nothing else.
"""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from dataclasses import replace
from pathlib import Path

from torch_tb_profiler.importers import PieceReader, read_in_turn
from torch_tb_profiler.loading.ingest.rank import (
    SUMMARY_FOLDER,
    TRACE_FOLDER,
    Ingested,
    Job,
    Part,
    ingest_file,
    keep_summary,
    load_summary,
    read_summary,
    save_summary,
)
from torch_tb_profiler.loading.opening.beside import with_beside
from torch_tb_profiler.loading.opening.measure import MemoryBudget, text_bytes
from torch_tb_profiler.loading.opening.open_file import (
    OpenedFile,
    Progress,
    cached_trace,
    first_state,
    open_in_state,
)
from torch_tb_profiler.loading.opening.pieces import AHEAD, MOST_HELPERS, read_with
from torch_tb_profiler.loading.processes.executors import LocalExecutor, WorkerDiedError
from torch_tb_profiler.loading.processes.resources import usable_cores
from torch_tb_profiler.loading.processes.signals import Signals
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
"""Text that one core reads while a process starts and hands over its tables."""

LARGE_BYTES = 64 << 20
"""Text from which reading in pieces pays."""

MOST_WORKERS = 16
"""More processes would wait for the disk and for whoever hands their tables on."""

POLL_S = 0.05


class Parser:
    """Parses files with up to ``workers`` cores; callable from many threads at once."""

    def __init__(self, workers: int | None = None, *, takes_part: bool = True) -> None:
        """Start nothing yet.

        Args:
            workers: Cores to use; None takes those this process may use.
            takes_part: Whether this process parses one of several files itself. A server does
                not: it has pages to answer meanwhile.
        """
        self.workers = workers or min(usable_cores(), MOST_WORKERS)
        self._own_turn = threading.Semaphore(1 if takes_part else 0)
        self._processes = LocalExecutor(max(1, self.workers - int(takes_part)))
        self._helpers = max(0, min(self.workers - 1, MOST_HELPERS))
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
    ) -> OpenedFile:
        """The trace of one file, with what stands beside it, or its summary; from the cache when it
        is there.

        Args:
            location: The file.
            known: What it was when it was found; None asks.
            cache: Where traces and summaries are kept, or None.
            part: Which of them is wanted.
            progress: Told how far the reading is.

        Raises:
            OpenError: the file cannot be read or holds no trace, or its worker died.
        """
        opened = self._open(location, known, cache=cache, part=part, progress=progress)
        if part == "summary":
            return opened
        return OpenedFile(with_beside(opened.trace, location), opened.state)

    def _open(
        self,
        location: Location,
        known: FileState | None,
        *,
        cache: CacheFolder | None,
        part: Part,
        progress: Progress | None,
    ) -> OpenedFile:
        try:
            state = first_state(location, known)
            job = Job(location, state, cache, part=part)
            if part == "summary":
                summary = read_summary(location, state, cache)
                if summary is not None:
                    return OpenedFile(summary, state)
            kept = cached_trace(location, state, cache)
            if kept is not None:
                self._check_room(job, kept)
                return self._here(job, progress)
            size = text_bytes(location, state)
            with self._budget.reading(size):
                if self._budget.is_short(size):  # the system ends the other process then, not us
                    return self._in_worker(job, progress)
                if self.workers > 1 and self._pays_a_process(size, state.size_bytes):
                    return self._beside(job, progress)
                return self._here(job, progress, is_large=size >= LARGE_BYTES)
        except StorageError as error:
            raise OpenError.of(error) from error

    def ingest(self, location: Location, known: FileState, cache: CacheFolder) -> Ingested:
        """Put the trace of one file and its summary into the cache; nothing stays open."""
        try:
            state = first_state(location, known)
            size = text_bytes(location, state)
        except StorageError as error:
            return Ingested(problem=Problem.of(error))
        job = Job(location, state, cache)
        with self._budget.reading(size):
            is_one_of_many = self.workers > 1 and self._pays_a_process(size, state.size_bytes)
            if is_one_of_many or self._budget.is_short(size):
                try:
                    done = self._processes.submit(ingest_file, job).result()
                except WorkerDiedError as error:
                    return Ingested(problem=_died(location, error).problem)
                self._budget.learn(done.text_bytes, done.peak_bytes)
                return done
            if size >= LARGE_BYTES and self._helpers:
                return ingest_file(job, self._reader())
            return ingest_file(job)

    def _reader(self) -> PieceReader:
        return read_with(self._pieces, self._helpers)

    def _pays_a_process(self, text: int, size_bytes: int) -> bool:
        """Whether so much else waits to be parsed that a process for this file alone pays."""
        others = max(0, self._waiting_bytes - size_bytes) * text // max(1, size_bytes)
        return others > max(text // 4, SMALL_BYTES - text)

    def close(self) -> None:
        """End the processes."""
        self._processes.shutdown(wait=False)
        self._pieces.shutdown(wait=False)

    def _beside(self, job: Job, progress: Progress | None) -> OpenedFile:
        """Parse one of several files: here when it is our turn, else in a process of its own."""
        if not self._own_turn.acquire(blocking=False):
            return self._in_worker(job, progress)
        try:
            return self._here(job, progress)
        finally:
            self._own_turn.release()

    def _here(self, job: Job, progress: Progress | None, *, is_large: bool = False) -> OpenedFile:
        reader = self._reader() if is_large and self._helpers else read_in_turn
        opened = open_in_state(
            job.location, job.state, cache=job.cache, progress=progress, read_pieces=reader
        )
        if job.part == "trace":
            return opened
        keep_summary(opened, job.location, job.cache)
        summary = read_summary(job.location, opened.state, job.cache)
        return OpenedFile(summary or _summarised(opened.trace), opened.state)

    def _in_worker(self, job: Job, progress: Progress | None) -> OpenedFile:
        with tempfile.TemporaryDirectory(prefix="torch_tb_profiler-") as folder:
            scratch = Path(folder)
            signals = Signals(scratch / "signals")
            signals.make()
            handed_job = replace(job, scratch=scratch, signals=signals)
            future = self._processes.submit(ingest_file, handed_job)
            try:
                done = self._awaited(future, signals, job.state.size_bytes, progress)
            except WorkerDiedError as error:
                raise _died(job.location, error) from error
            if done.problem is not None:
                raise OpenError.of(done.problem)
            self._budget.learn(done.text_bytes, done.peak_bytes)
            state = done.state or job.state
            if job.part == "trace":
                own = scratch / TRACE_FOLDER
                in_cache = cached_trace(job.location, state, job.cache)
                self._check_room(job, own if own.is_dir() else in_cache)
            handed = _handed_over(scratch, job.part)
        if handed is None and job.part == "summary":
            handed = read_summary(job.location, state, job.cache)
        if handed is not None:
            return OpenedFile(handed, state)
        # What the worker kept is in the cache; what nobody could keep is parsed again, here.
        return self._here(replace(job, state=state), progress)

    def _check_room(self, job: Job, tables: Path | None) -> None:
        """Refuse tables that do not fit into memory, also without workers that wait for tasks.

        Raises:
            OpenError: they do not.
        """
        usage = None if tables is None else usage_of(tables)
        if usage is not None:
            release = self._processes.rest
            self._budget.check_tables(job.location.url, usage.size_bytes, release)

    def _awaited(
        self,
        future: Future[Ingested],
        signals: Signals,
        size_bytes: int,
        progress: Progress | None,
    ) -> Ingested:
        while True:
            try:
                return future.result(POLL_S)
            except StillRunningError:
                if future.done():
                    raise
            try:
                if progress is not None:
                    progress(signals.done_bytes(), size_bytes)
            except BaseException:
                signals.stop()
                future.cancel()
                raise


def _died(location: Location, error: WorkerDiedError) -> OpenError:
    return OpenError(
        "worker_died",
        f"{location.url} was not parsed: its worker process died ({error}).",
        "If that was the system for lack of memory, close other programs or use fewer --workers.",
    )


def _handed_over(scratch: Path, part: Part) -> Trace | None:
    is_whole = part == "trace"
    name, read = (TRACE_FOLDER, load_trace) if is_whole else (SUMMARY_FOLDER, load_summary)
    if not (scratch / name).is_dir():
        return None
    try:
        return read_entry(scratch / name, name, read)
    except BrokenEntryError:
        return None


def _summarised(trace: Trace) -> Trace:
    """A summary that no cache could take."""
    with tempfile.TemporaryDirectory(prefix="torch_tb_profiler-") as folder:
        save_summary(trace, Path(folder))
        return load_summary(Path(folder))


@once
def shared_parser() -> Parser:
    """The parser of whoever chooses none."""
    return Parser()
