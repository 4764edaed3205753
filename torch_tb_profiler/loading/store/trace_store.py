"""The store of open traces: parsed in the background on request, retained while memory allows.

Nothing that runs in the background holds a reference to a store: when it is garbage collected its
traces are freed, readings stop and its threads end.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening.parsing import Parser, shared_parser
from torch_tb_profiler.loading.processes.resources import total_memory_bytes
from torch_tb_profiler.loading.store.derived_memory import measured_derived
from torch_tb_profiler.loading.store.entries import Entry, Key, queued_status
from torch_tb_profiler.loading.store.entry_loading import Absent, Result
from torch_tb_profiler.loading.store.open_traces import OpenTraces
from torch_tb_profiler.loading.store.opening_queue import OpeningQueue
from torch_tb_profiler.loading.store.reader_pool import ReaderPool
from torch_tb_profiler.loading.store.reading import read_entries
from torch_tb_profiler.loading.store.trace_requests import TraceRequest, TraceRequests
from torch_tb_profiler.loading.user_rules import RulesSource, find_rules
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

MIN_THREADS = 2
"""Files opened at once, even without worker processes: the second one fills the waits for I/O."""

RENEW_S = 1.0
"""A request that waits longer is repeated, so that it does not count as abandoned."""

RETRYABLE_CODES = frozenset({"unreachable"})
"""Problems that the file is not the cause of: it is retried without having changed."""

WantedTrace = tuple[SpanFile, Part]


class GatheredTrace(Struct, frozen=True):
    """One of the traces of a request.

    Attributes:
        file: Its file.
        trace: The trace, when it is open.
        status: Its status; ``error`` is why it is not open.
    """

    file: SpanFile
    trace: Trace | None
    status: SpanStatus

    @property
    def is_settled(self) -> bool:
        """Whether waiting longer changes nothing."""
        return self.trace is not None or self.status.state == "failed"


def default_memory_limit() -> int:
    """A quarter of this machine's memory, at most 8 GiB."""
    return min(total_memory_bytes() // 4, 8 << 30)


class TraceStore:
    """Traces by file. All methods are thread-safe; ``gather`` and ``wait`` block."""

    def __init__(
        self,
        *,
        cache: CacheFolder | None,
        memory_limit_bytes: int | None = None,
        parser: Parser | None = None,
        rules: RulesSource | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            cache: Where parsed traces are stored, or None.
            memory_limit_bytes: Memory for open traces; None for the default.
            parser: Opens files; None for the one that this process shares.
            rules: The user's rules for kernels, which may change; None finds them.
        """
        self._cache = cache
        self._rules = rules or find_rules()
        self._limit_bytes = memory_limit_bytes or default_memory_limit()
        self._parser = parser or shared_parser()
        self._threads = max(MIN_THREADS, self._parser.workers)
        self._changed = threading.Condition()
        self._requests = TraceRequests()
        self._open = OpenTraces(self._limit_bytes, self._requests)
        self._queue = OpeningQueue(self._open, self._requests)
        self._readings = 0
        self._readers = ReaderPool("trace-reader")
        end = weakref.finalize(
            self, _end, self._open.entries, self._queue.entries, self._parser, self._readers
        )
        end.atexit = False

    @property
    def files_at_once(self) -> int:
        """How many files are opened at once."""
        return self._threads

    @property
    def used_bytes(self) -> int:
        """Memory of the open traces, including derived values as last measured (:meth:`settle`)."""
        with self._changed:
            return self._open.used_bytes

    def request(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """Prefetch ``file``: start to open it if there is memory without closing traces that are
        needed; a changed file is opened again.

        An open trace also serves as its summary.
        """
        with self._changed:
            entry = self._wanted_entry(file, part)
            entry.is_prefetched = True
            self._open.use(entry)
            self._start_readings()
            return entry.status(file)

    def gather(self, wanted: Sequence[WantedTrace], timeout_s: float | None) -> list[GatheredTrace]:
        """Open the traces of one answer, the most important first, and wait for them.

        Args:
            wanted: Files and which part of them.
            timeout_s: How long to wait; None for as long as it takes. A repeated request keeps its
                rank.

        Returns:
            All of them in order: each open, or failed (``no_room`` if it does not fit into memory
                next to those before it), or, after the timeout, still queued or being parsed.
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        keys = [(file.location.url, part) for file, part in wanted]
        with self._changed:
            while True:
                trace_request = self._requests.register(keys)
                waiting = self._unsettled(wanted, trace_request)
                if not waiting:
                    return self._complete(wanted, trace_request)
                remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
                if remaining_s is not None and remaining_s <= 0:
                    return [self._gather_one(file, part, trace_request) for file, part in wanted]
                self._wait(waiting, RENEW_S if remaining_s is None else min(remaining_s, RENEW_S))

    def wait(
        self, files: Iterable[SpanFile], timeout_s: float | None, part: Part = "trace"
    ) -> None:
        """As :meth:`gather`, for a caller that reads the traces later."""
        self.gather([(file, part) for file in files], timeout_s)

    def trace(self, file: SpanFile, part: Part = "trace") -> Trace | None:
        """The trace of ``file`` or its summary if it is open."""
        with self._changed:
            entry = self._current(file, part)
            if entry is None:
                return None
            self._open.use(entry)
            entry.was_used = True
            return entry.trace

    def status(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """The status of ``file``; does not start anything."""
        with self._changed:
            entry = self._current(file, part)
            return self._queued_status(file) if entry is None else entry.status(file)

    def enforce_limit(self) -> None:
        """Measure the values derived from the open traces, and free what exceeds the limit."""
        with self._changed:
            entries_to_measure = [(entry, entry.trace) for entry in self._open.entries_to_measure()]
        counts = measured_derived(
            [(entry, trace) for entry, trace in entries_to_measure if trace is not None]
        )
        with self._changed:
            for entry, derived_count, derived_bytes in counts:
                self._open.set_derived_bytes(entry, derived_bytes, derived_count)
            self._open.shrink()

    def retain_only(self, files: Collection[SpanFile]) -> None:
        """Drop all entries that are not among ``files`` in their current state: deleted and changed
        files."""
        current = {file.location.url: file for file in files}
        with self._changed:
            for entry in list(self._open.entries.values()):
                if not entry.update_file(current.get(entry.file.location.url)):
                    self._drop(entry)
            self._start_readings()

    def close(self) -> None:
        """Stop reading and drop all entries."""
        with self._changed:
            self._requests.clear()
            for entry in list(self._open.entries.values()):
                self._drop(entry)
            self._readers.close()

    def _current(self, file: SpanFile, part: Part) -> Entry | None:
        """The entry of the file in its current state, by the user's current rules; an open trace
        also serves as summary, and so does one that failed where no summary can be in a cache."""
        url = file.location.url
        entry = self._matching((url, "trace"), file)
        if entry is not None and (
            part == "trace"
            or entry.trace is not None
            or (entry.state == "failed" and self._cache is None)
        ):
            return entry
        return self._matching((url, part), file)

    def _matching(self, key: Key, file: SpanFile) -> Entry | None:
        entry = self._open.entries.get(key)
        if entry is None or not entry.matches(file) or entry.rules != self._rules.current():
            return None
        return entry

    def _wanted_entry(self, file: SpanFile, part: Part) -> Entry:
        """The entry of ``file``; a missing one, or one whose retry is due, is queued."""
        entry = self._current(file, part)
        if entry is not None and not entry.is_retry_due:
            return entry
        backoff = None if entry is None else entry.backoff
        outdated = self._open.entries.get((file.location.url, part))
        if outdated is not None:
            self._drop(outdated)
        estimate_bytes = self._open.estimate_bytes(file, part)
        entry = Entry(file, part, estimate_bytes, self._rules.current(), backoff=backoff)
        entry.may_be_cached = part == "summary" and self._cache is not None
        self._open.entries[entry.key] = entry
        self._queue.add(entry)
        self._parser.announce(file.state.size_bytes)
        return entry

    def _unsettled(self, wanted: Sequence[WantedTrace], trace_request: TraceRequest) -> list[Entry]:
        """The entries to wait for; missing ones are queued."""
        entries = [
            self._wanted_entry(file, part)
            for file, part in wanted
            if (file.location.url, part) not in trace_request.left_out
        ]
        trace_request.unopened = 0
        self._start_readings()
        return [entry for entry in entries if not entry.is_settled]

    def _wait(self, waiting: list[Entry], timeout_s: float) -> None:
        """Wait until all of ``waiting`` are settled or no longer needed, or until the timeout."""
        deadline_s = time.monotonic() + timeout_s
        while waiting and (remaining_s := deadline_s - time.monotonic()) > 0:
            if waiting[-1].is_settled or not waiting[-1].is_wanted:
                waiting.pop()
            else:
                self._changed.wait(remaining_s)

    def _complete(
        self, wanted: Sequence[WantedTrace], trace_request: TraceRequest
    ) -> list[GatheredTrace]:
        gathered = [self._gather_one(file, part, trace_request) for file, part in wanted]
        self._requests.complete(trace_request)
        self._start_readings()
        return gathered

    def _gather_one(self, file: SpanFile, part: Part, trace_request: TraceRequest) -> GatheredTrace:
        entry = self._current(file, part)
        if (file.location.url, part) in trace_request.left_out:
            problem = _no_room(file, self._limit_bytes)
            return GatheredTrace(
                file, None, replace(self._queued_status(file), state="failed", error=problem)
            )
        if entry is None:
            return GatheredTrace(file, None, self._queued_status(file))
        self._open.use(entry)
        entry.was_used = entry.trace is not None
        return GatheredTrace(file, entry.trace, entry.status(file))

    def _queued_status(self, file: SpanFile) -> SpanStatus:
        return queued_status(file, self._rules.current())

    def _drop(self, entry: Entry) -> None:
        self._open.drop(entry)
        if self._queue.remove(entry):
            self._parser.announce(-entry.file.state.size_bytes)
        self._changed.notify_all()

    def _start_readings(self) -> None:
        """Open queued entries as long as threads and memory allow."""
        while self._readings < self._threads and (entries := self._queue.take(self._drop)):
            self._readings += 1
            for entry in entries:
                entry.state, entry.started_s = "parsing", time.monotonic()
            task = partial(read_entries, weakref.ref(self), self._parser, self._cache, entries)
            self._readers.submit(task)

    def store_results(self, results: Iterable[tuple[Entry, Result | Absent]]) -> None:
        """Store the results of entries that were read; None for one that is no longer needed."""
        with self._changed:
            for entry, result in results:
                self._open.end_opening(entry)
                if entry.is_wanted:
                    self._store_result(entry, result)
            self._start_readings()
            self._changed.notify_all()

    def _store_result(self, entry: Entry, result: Result | Absent) -> None:
        if isinstance(result, Problem):
            entry.state, entry.problem = "failed", result
            entry.backoff = _backoff(entry, result)
        elif isinstance(result, tuple) and self._open.retain(entry, *result):
            entry.state, entry.backoff = "ready", None
        elif result is not None:  # it takes more memory than expected, or has to be parsed
            entry.may_be_cached = False
            self._queue.add(entry)
            self._requests.reset_unopened()
            self._parser.announce(entry.file.state.size_bytes)

    def end_reading(self) -> None:
        """A thread has read all its entries."""
        with self._changed:
            self._readings -= 1
            self._start_readings()
            self._changed.notify_all()


def _end(
    entries: dict[Key, Entry], waiting: dict[Key, Entry], parser: Parser, readers: ReaderPool
) -> None:
    """Clean-up when a store was garbage collected: let readings stop."""
    for entry in entries.values():
        entry.is_wanted = False
    parser.announce(-sum(entry.file.state.size_bytes for entry in waiting.values()))
    readers.close()


def _backoff(entry: Entry, problem: Problem) -> Backoff | None:
    if problem.code not in RETRYABLE_CODES:
        return None
    backoff = entry.backoff or Backoff()
    backoff.failed(time.monotonic())
    return backoff


def _no_room(file: SpanFile, limit_bytes: int) -> Problem:
    return Problem(
        "no_room",
        f"{file.location.url} is not opened: the traces viewed together fill the "
        f"{limit_bytes / 1e6:,.3g} MB reserved for open traces.",
        "Select fewer workers, or use a machine with more memory.",
    )
