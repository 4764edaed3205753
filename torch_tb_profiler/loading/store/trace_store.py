"""The open traces: parsed in the background when somebody looks, kept while memory allows.

Nothing that runs in the background holds a store: when nobody holds it any more, its traces are
gone, readings stop and its threads end.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch_tb_profiler.loading.ingest.rank import Part
from torch_tb_profiler.loading.opening.parsing import Parser, shared_parser
from torch_tb_profiler.loading.opening.reading import Result, reading_result
from torch_tb_profiler.loading.processes.resources import total_memory_bytes
from torch_tb_profiler.loading.store.entries import Entry, Key, queued
from torch_tb_profiler.loading.store.kept_summaries import Absent, kept_summary
from torch_tb_profiler.loading.store.open_traces import OpenTraces
from torch_tb_profiler.loading.store.opening_queue import OpeningQueue
from torch_tb_profiler.loading.store.questions import Question, Questions
from torch_tb_profiler.loading.store.reader_pool import ReaderPool
from torch_tb_profiler.loading.store.trace_memory import derived_bytes_of
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

LEAST_THREADS = 2
"""Files opened at once, even without worker processes: the second fills the waits for I/O."""

SETTLED_AT_ONCE = 64
"""Summaries that are handed over together: each time, whoever waits for the others looks."""

RENEW_S = 1.0
"""Who waits longer repeats its question, so that it does not count as abandoned."""

TRIED_AGAIN = frozenset({"unreachable"})
"""Problems that the file is not to blame for: it is tried again without having changed."""

Wanted = tuple[SpanFile, Part]


@dataclass(frozen=True, slots=True)
class Gathered:
    """One of the traces that a question needs.

    Attributes:
        file: Where it is from.
        trace: It, when it is open.
        status: How far it is; its ``error`` says why it is not open.
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
    """Traces by file. All methods may be called from any thread; ``gather`` and ``wait`` block."""

    def __init__(
        self,
        *,
        cache: CacheFolder | None,
        memory_limit_bytes: int | None = None,
        parser: Parser | None = None,
    ) -> None:
        self._cache = cache
        self._limit_bytes = memory_limit_bytes or default_memory_limit()
        self._parser = parser or shared_parser()
        self._threads = max(LEAST_THREADS, self._parser.workers)
        self._changed = threading.Condition()
        self._questions = Questions()
        self._open = OpenTraces(self._limit_bytes, self._questions)
        self._queue = OpeningQueue(self._open, self._questions)
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
        """Memory that the open traces take, with what was derived from them when it was last
        counted (:meth:`settle`)."""
        with self._changed:
            return self._open.used_bytes

    def request(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """Start to open ``file`` unless that was done, when there is room without closing what
        somebody needs; a changed file is opened anew.

        A summary is not made of a trace that is open: that serves as well.
        """
        with self._changed:
            entry = self._wanted_entry(file, part)
            entry.is_ahead = True
            self._open.use(entry)
            self._begin()
            return entry.status(file)

    def gather(self, wanted: Sequence[Wanted], timeout_s: float | None) -> list[Gathered]:
        """Open what one answer needs, the most important first, and wait for it.

        Args:
            wanted: Files and what of them.
            timeout_s: How long to wait; None for as long as it takes. Who asks for the same again
                keeps its turn.

        Returns:
            All of them in order: each open, or failed (``no_room`` when it does not fit into
            memory beside those before it), or, when the time was up, still queued or parsed.
        """
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        keys = [(file.location.url, part) for file, part in wanted]
        with self._changed:
            while True:
                question = self._questions.ask(keys)
                waiting = self._unsettled(wanted, question)
                if not waiting:
                    return self._answered(wanted, question)
                left_s = None if until_s is None else until_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return [self._gathered(file, part, question) for file, part in wanted]
                self._wait(waiting, RENEW_S if left_s is None else min(left_s, RENEW_S))

    def wait(
        self, files: Iterable[SpanFile], timeout_s: float | None, part: Part = "trace"
    ) -> None:
        """As :meth:`gather`, for whoever looks at the traces later."""
        self.gather([(file, part) for file in files], timeout_s)

    def trace(self, file: SpanFile, part: Part = "trace") -> Trace | None:
        """The trace of ``file`` or its summary if it is open."""
        with self._changed:
            entry = self._current(file, part)
            if entry is None:
                return None
            self._open.use(entry)
            entry.was_taken = True
            return entry.trace

    def status(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """How far ``file`` is; does not start anything."""
        with self._changed:
            entry = self._current(file, part)
            return queued(file) if entry is None else entry.status(file)

    def settle(self) -> None:
        """Count what answers derived from the open traces, and let go what is too much."""
        with self._changed:
            grown = [(entry, entry.trace) for entry in self._open.grown()]
        counts = [
            (entry, trace.derived.count, derived_bytes_of(trace))
            for entry, trace in grown
            if trace is not None
        ]
        with self._changed:
            for entry, derived_count, derived_bytes in counts:
                self._open.count(entry, derived_bytes, derived_count)
            self._open.shrink()

    def keep_only(self, files: Collection[SpanFile]) -> None:
        """Forget what is not among ``files`` as they are now: deleted and changed files."""
        current = {file.location.url: file for file in files}
        with self._changed:
            for entry in list(self._open.entries.values()):
                if not entry.settle_on(current.get(entry.file.location.url)):
                    self._drop(entry)
            self._begin()

    def close(self) -> None:
        """Stop reading and forget everything."""
        with self._changed:
            self._questions.forget()
            for entry in list(self._open.entries.values()):
                self._drop(entry)
            self._readers.close()

    def _current(self, file: SpanFile, part: Part) -> Entry | None:
        """What there is of the file as it is now; for a summary an open trace is as good."""
        url = file.location.url
        entry = self._open.entries.get((url, "trace"))
        if entry is not None and entry.is_of(file) and (part == "trace" or entry.trace is not None):
            return entry
        entry = self._open.entries.get((url, part))
        return entry if entry is not None and entry.is_of(file) else None

    def _wanted_entry(self, file: SpanFile, part: Part) -> Entry:
        """What there is of ``file``; what is not there yet, or may be tried again, is queued."""
        entry = self._current(file, part)
        if entry is not None and not entry.is_due_again:
            return entry
        backoff = None if entry is None else entry.backoff
        outdated = self._open.entries.get((file.location.url, part))
        if outdated is not None:
            self._drop(outdated)
        entry = Entry(file, part, self._open.estimate_bytes(file, part), backoff=backoff)
        entry.may_be_kept = part == "summary" and self._cache is not None
        self._open.entries[entry.key] = entry
        self._queue.add(entry)
        self._parser.announce(file.state.size_bytes)
        return entry

    def _unsettled(self, wanted: Sequence[Wanted], question: Question) -> list[Entry]:
        """What has to be waited for; what is missing is queued."""
        entries = [
            self._wanted_entry(file, part)
            for file, part in wanted
            if (file.location.url, part) not in question.left_out
        ]
        question.unopened = 0
        self._begin()
        return [entry for entry in entries if not entry.is_settled]

    def _wait(self, waiting: list[Entry], timeout_s: float) -> None:
        """Wait until all of ``waiting`` are settled, or nobody wants them, or the time is up."""
        until_s = time.monotonic() + timeout_s
        while waiting and (left_s := until_s - time.monotonic()) > 0:
            if waiting[-1].is_settled or not waiting[-1].is_wanted:
                waiting.pop()
            else:
                self._changed.wait(left_s)

    def _answered(self, wanted: Sequence[Wanted], question: Question) -> list[Gathered]:
        gathered = [self._gathered(file, part, question) for file, part in wanted]
        self._questions.answered(question)
        self._begin()
        return gathered

    def _gathered(self, file: SpanFile, part: Part, question: Question) -> Gathered:
        entry = self._current(file, part)
        if (file.location.url, part) in question.left_out:
            problem = _no_room(file, self._limit_bytes)
            return Gathered(file, None, replace(queued(file), state="failed", error=problem))
        if entry is None:
            return Gathered(file, None, queued(file))
        self._open.use(entry)
        entry.was_taken = entry.trace is not None
        return Gathered(file, entry.trace, entry.status(file))

    def _drop(self, entry: Entry) -> None:
        self._open.drop(entry)
        if self._queue.remove(entry):
            self._parser.announce(-entry.file.state.size_bytes)
        self._changed.notify_all()

    def _begin(self) -> None:
        """Open what is queued, as long as threads and memory allow."""
        while self._readings < self._threads and (entries := self._queue.take(self._drop)):
            self._readings += 1
            for entry in entries:
                entry.state, entry.started_s = "parsing", time.monotonic()
            task = partial(_read, weakref.ref(self), self._parser, self._cache, entries)
            self._readers.submit(task)

    def _settle(self, results: Iterable[tuple[Entry, Result | Absent]]) -> None:
        """Entries were read: with what result, or None for one that nobody wants any more."""
        with self._changed:
            for entry, result in results:
                self._open.end_opening(entry)
                if entry.is_wanted:
                    self._settle_one(entry, result)
            self._begin()
            self._changed.notify_all()

    def _settle_one(self, entry: Entry, result: Result | Absent) -> None:
        if isinstance(result, Problem):
            entry.state, entry.problem = "failed", result
            entry.backoff = _backoff(entry, result)
        elif isinstance(result, tuple) and self._open.keep(entry, *result):
            entry.state, entry.backoff = "ready", None
        elif result is not None:  # it takes more room than was thought, or has to be made
            entry.may_be_kept = False
            self._queue.add(entry)
            self._questions.look_again()
            self._parser.announce(entry.file.state.size_bytes)

    def _end_reading(self) -> None:
        """A thread has read all that it was given."""
        with self._changed:
            self._readings -= 1
            self._begin()
            self._changed.notify_all()


def _read(
    store: weakref.ref[TraceStore],
    parser: Parser,
    cache: CacheFolder | None,
    entries: Sequence[Entry],
) -> None:
    """Open one file, or load several summaries, in a thread that does not hold the store."""
    for start in range(0, len(entries), SETTLED_AT_ONCE):
        results: list[tuple[Entry, Result | Absent]] = []
        for entry in entries[start : start + SETTLED_AT_ONCE]:
            if cache is not None and entry.may_be_kept:
                results.append((entry, kept_summary(cache, entry)))
            else:
                results.append((entry, reading_result(parser, cache, entry)))
        parser.announce(-sum(entry.file.state.size_bytes for entry, _ in results))
        alive = store()
        if alive is not None:
            alive._settle(results)
        del results, alive
    alive = store()
    if alive is not None:
        alive._end_reading()


def _end(
    entries: dict[Key, Entry], waiting: dict[Key, Entry], parser: Parser, readers: ReaderPool
) -> None:
    """What is left to do when nobody holds a store any more: let readings stop."""
    for entry in entries.values():
        entry.is_wanted = False
    parser.announce(-sum(entry.file.state.size_bytes for entry in waiting.values()))
    readers.close()


def _backoff(entry: Entry, problem: Problem) -> Backoff | None:
    if problem.code not in TRIED_AGAIN:
        return None
    backoff = entry.backoff or Backoff()
    backoff.failed(time.monotonic())
    return backoff


def _no_room(file: SpanFile, limit_bytes: int) -> Problem:
    return Problem(
        "no_room",
        f"{file.location.url} is not opened: the traces that are looked at together fill the "
        f"{limit_bytes / 1e6:,.3g} MB kept for open traces.",
        "Look at fewer workers at once, or on a machine with more memory.",
    )
