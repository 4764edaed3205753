"""The open traces: parsed in the background when somebody looks, kept while memory allows.

Threads are daemons: whoever hosts this (TensorBoard) can end at any moment, however much is
left to parse.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace

import polars as pl

from torch_tb_profiler.loading.errors import OpenError, Problem
from torch_tb_profiler.loading.ingest import Part
from torch_tb_profiler.loading.parsing import Parser, shared_parser
from torch_tb_profiler.loading.resources import total_memory_bytes
from torch_tb_profiler.loading.status import SpanStatus, State, reading_status
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)

LEAST_THREADS = 2
"""Files opened at once, even without worker processes: the second fills the waits for I/O."""

KEEP_USED_S = 15.0
"""What was used so recently is never closed to make room: a view over many workers needs all of
them at once, and would else wait for ever while each pushes out another."""

STRING_OVERHEAD_BYTES = 57
"""What Python keeps beside the characters of one string, with the pointer to it."""


class _StoppedError(Exception):
    """Raised inside a reading that nobody wants any more."""


@dataclass(slots=True)
class _Entry:
    file: SpanFile
    part: Part
    state: State = "queued"
    wanted: bool = True
    used_s: float = 0.0
    started_s: float = 0.0
    read_s: float = 0.0
    done_bytes: int = 0
    trace: Trace | None = None
    memory_bytes: int = 0
    format: str | None = None
    problem: Problem | None = None
    finished: threading.Event = field(default_factory=threading.Event)


def memory_of(trace: Trace) -> int:
    """Bytes the tables and strings of a trace take, about."""
    values = (getattr(trace, part.name) for part in fields(trace))
    tables = sum(value.estimated_size() for value in values if isinstance(value, pl.DataFrame))
    return int(tables) + sum(len(text) + STRING_OVERHEAD_BYTES for text in trace.strings)


def default_memory_limit() -> int:
    """A quarter of this machine's memory, at most 8 GiB."""
    return min(total_memory_bytes() // 4, 8 << 30)


class TraceStore:
    """Traces by file. All methods may be called from any thread; none but ``wait`` blocks."""

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
        self._lock = threading.Lock()
        # Least recently used first.
        self._entries: OrderedDict[tuple[str, Part], _Entry] = OrderedDict()
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._started = 0
        self._used_bytes = 0

    @property
    def files_at_once(self) -> int:
        """How many files are opened at once."""
        return self._threads

    def request(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """Start to open ``file`` unless that was done; a changed file is opened anew.

        A summary is not made of a trace that is open: that serves as well.
        """
        with self._lock:
            entry = self._current(file, part)
            if entry is None:
                entry = self._add(file, part)
            self._use(entry)
            return _status(entry, file)

    def trace(self, file: SpanFile, part: Part = "trace") -> Trace | None:
        """The trace of ``file`` or its summary if it is open."""
        with self._lock:
            entry = self._current(file, part)
            if entry is None:
                return None
            self._use(entry)
            return entry.trace

    def status(self, file: SpanFile, part: Part = "trace") -> SpanStatus:
        """How far ``file`` is; does not start anything."""
        with self._lock:
            entry = self._current(file, part)
            if entry is None:
                return SpanStatus(
                    file.span, file.location.name, None, file.state.size_bytes, "queued"
                )
            return _status(entry, file)

    def wait(
        self, files: Iterable[SpanFile], timeout_s: float | None, part: Part = "trace"
    ) -> None:
        """Wait until each of ``files`` that was requested is ready or failed, or time is up."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        for file in files:
            with self._lock:
                entry = self._current(file, part)
            if entry is not None:
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                entry.finished.wait(left_s)

    def keep_only(self, files: Collection[SpanFile]) -> None:
        """Forget what is not among ``files`` as they are now: deleted and changed files."""
        current = {file.location.url: file.state for file in files}
        with self._lock:
            for key, entry in list(self._entries.items()):
                if current.get(key[0]) != entry.file.state:
                    self._drop(key)

    def close(self) -> None:
        """Stop reading and forget everything."""
        with self._lock:
            for key in list(self._entries):
                self._drop(key)
            for _ in range(self._started):
                self._waiting.put(None)
            self._started = 0

    def _current(self, file: SpanFile, part: Part) -> _Entry | None:
        """What there is of the file as it is now; for a summary an open trace is as good."""
        for key in dict.fromkeys(((file.location.url, "trace"), (file.location.url, part))):
            entry = self._entries.get(key)
            is_same = entry is not None and entry.file.state == file.state
            if entry is not None and is_same and (key[1] == part or entry.trace is not None):
                return entry
        return None

    def _use(self, entry: _Entry) -> None:
        entry.used_s = time.monotonic()
        self._entries.move_to_end((entry.file.location.url, entry.part))

    def _add(self, file: SpanFile, part: Part) -> _Entry:
        key = (file.location.url, part)
        if key in self._entries:
            self._drop(key)
        entry = self._entries[key] = _Entry(file, part)
        self._parser.announce(file.state.size_bytes)
        self._waiting.put(entry)
        if self._started < self._threads:
            self._started += 1
            name = f"trace-reader-{self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return entry

    def _drop(self, key: tuple[str, Part]) -> None:
        entry = self._entries.pop(key)
        self._used_bytes -= entry.memory_bytes
        entry.wanted = False
        entry.finished.set()

    def _work(self) -> None:
        while (entry := self._waiting.get()) is not None:
            if entry.wanted:
                self._open(entry)
            self._parser.announce(-entry.file.state.size_bytes)

    def _open(self, entry: _Entry) -> None:
        def progress(done_bytes: int, _size_bytes: int) -> None:
            if not entry.wanted:
                raise _StoppedError
            entry.done_bytes = done_bytes
            entry.read_s = time.monotonic() - entry.started_s

        entry.started_s = time.monotonic()
        entry.state = "parsing"
        url = entry.file.location.url
        try:
            trace = self._parser.open(
                entry.file.location,
                entry.file.state,
                cache=self._cache,
                part=entry.part,
                progress=progress,
            ).trace
            memory_bytes = memory_of(trace)
        except _StoppedError:
            return
        except OpenError as error:
            self._finish(entry, "failed", problem=error.problem)
        except MemoryError:
            hint = "Close other programs, or open the trace on a machine with more memory."
            problem = Problem("out_of_memory", f"{url} does not fit into memory.", hint)
            self._finish(entry, "failed", problem=problem)
        except Exception as error:
            _LOGGER.exception("opening %s failed", url)
            cause = f"{type(error).__name__}: {error}"[:300]
            hint = "This is a fault of torch-tb-profiler: please report it with the log."
            problem = Problem("internal", f"{url} could not be opened ({cause}).", hint)
            self._finish(entry, "failed", problem=problem)
        else:
            self._finish(entry, "ready", trace=trace, memory_bytes=memory_bytes)

    def _finish(
        self,
        entry: _Entry,
        state: State,
        *,
        trace: Trace | None = None,
        memory_bytes: int = 0,
        problem: Problem | None = None,
    ) -> None:
        with self._lock:
            entry.trace = trace
            entry.format = trace.meta.format if trace is not None else None
            entry.memory_bytes = memory_bytes
            entry.problem = problem
            entry.state = state
            if entry.wanted:
                self._used_bytes += memory_bytes
                self._make_room(entry)
        entry.finished.set()

    def _make_room(self, newest: _Entry) -> None:
        if self._used_bytes <= self._limit_bytes:
            return
        recently_s = time.monotonic() - KEEP_USED_S
        for key, entry in list(self._entries.items()):
            if entry.trace is not None and entry is not newest and entry.used_s < recently_s:
                self._drop(key)
                if self._used_bytes <= self._limit_bytes:
                    return


def _status(entry: _Entry, file: SpanFile) -> SpanStatus:
    name, size_bytes = file.location.name, file.state.size_bytes
    base = SpanStatus(file.span, name, entry.format, size_bytes, entry.state)
    if entry.state == "parsing":
        elapsed_s = time.monotonic() - entry.started_s
        return reading_status(base, entry.done_bytes, entry.read_s, elapsed_s)
    progress = 1.0 if entry.state == "ready" else 0.0
    return replace(base, progress=progress, error=entry.problem)
