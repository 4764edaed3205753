"""The open traces: parsed in the background when somebody looks, kept while memory allows.

Threads are daemons: whoever hosts this (TensorBoard) can end at any moment, however much is
left to parse.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace

import polars as pl

from torch_tb_profiler.loading.errors import OpenError, Problem
from torch_tb_profiler.loading.opening import open_file
from torch_tb_profiler.loading.status import SpanStatus, State, reading_status
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)

THREADS = 2
"""Files parsed at once. Python runs one at a time anyway; the second fills the waits for I/O."""

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
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 8 << 30
    return min(total // 4, 8 << 30)


class TraceStore:
    """Traces by file. All methods may be called from any thread; none but ``wait`` blocks."""

    def __init__(
        self,
        *,
        cache: CacheFolder | None,
        memory_limit_bytes: int | None = None,
        threads: int = THREADS,
    ) -> None:
        self._cache = cache
        self._limit_bytes = memory_limit_bytes or default_memory_limit()
        self._threads = threads
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # least recently used first
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._started = 0

    def request(self, file: SpanFile) -> SpanStatus:
        """Start to open ``file`` unless that was done; a changed file is opened anew."""
        with self._lock:
            entry = self._entries.get(file.location.url)
            if entry is None or entry.file.state != file.state:
                entry = self._add(file)
            self._use(entry)
            return _status(entry, file)

    def trace(self, file: SpanFile) -> Trace | None:
        """The trace of ``file`` if it is open."""
        with self._lock:
            entry = self._entries.get(file.location.url)
            if entry is None or entry.file.state != file.state:
                return None
            self._use(entry)
            return entry.trace

    def status(self, file: SpanFile) -> SpanStatus:
        """How far ``file`` is; does not start anything."""
        with self._lock:
            entry = self._entries.get(file.location.url)
            if entry is None or entry.file.state != file.state:
                return SpanStatus(
                    file.span, file.location.name, None, file.state.size_bytes, "queued"
                )
            return _status(entry, file)

    def wait(self, files: Iterable[SpanFile], timeout_s: float | None) -> None:
        """Wait until each of ``files`` that was requested is ready or failed, or time is up."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        for file in files:
            with self._lock:
                entry = self._entries.get(file.location.url)
            if entry is not None:
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                entry.finished.wait(left_s)

    def keep_only(self, files: Collection[SpanFile]) -> None:
        """Forget what is not among ``files`` as they are now: deleted and changed files."""
        current = {file.location.url: file.state for file in files}
        with self._lock:
            for url, entry in list(self._entries.items()):
                if current.get(url) != entry.file.state:
                    self._drop(url)

    def close(self) -> None:
        """Stop reading and forget everything."""
        with self._lock:
            for url in list(self._entries):
                self._drop(url)
            for _ in range(self._started):
                self._waiting.put(None)
            self._started = 0

    def _use(self, entry: _Entry) -> None:
        entry.used_s = time.monotonic()
        self._entries.move_to_end(entry.file.location.url)

    def _add(self, file: SpanFile) -> _Entry:
        url = file.location.url
        if url in self._entries:
            self._drop(url)
        entry = self._entries[url] = _Entry(file)
        self._waiting.put(entry)
        if self._started < self._threads:
            self._started += 1
            name = f"trace-reader-{self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return entry

    def _drop(self, url: str) -> None:
        entry = self._entries.pop(url)
        entry.wanted = False
        entry.finished.set()

    def _work(self) -> None:
        while (entry := self._waiting.get()) is not None:
            if entry.wanted:
                self._open(entry)

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
            trace = open_file(entry.file.location, cache=self._cache, progress=progress)
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
                self._make_room(entry)
        entry.finished.set()

    def _make_room(self, newest: _Entry) -> None:
        recently_s = time.monotonic() - KEEP_USED_S
        used_bytes = sum(entry.memory_bytes for entry in self._entries.values())
        for url, entry in list(self._entries.items()):
            if used_bytes <= self._limit_bytes:
                break
            if entry.trace is not None and entry is not newest and entry.used_s < recently_s:
                used_bytes -= entry.memory_bytes
                self._drop(url)


def _status(entry: _Entry, file: SpanFile) -> SpanStatus:
    name, size_bytes = file.location.name, file.state.size_bytes
    base = SpanStatus(file.span, name, entry.format, size_bytes, entry.state)
    if entry.state == "parsing":
        elapsed_s = time.monotonic() - entry.started_s
        return reading_status(base, entry.done_bytes, entry.read_s, elapsed_s)
    progress = 1.0 if entry.state == "ready" else 0.0
    return replace(base, progress=progress, error=entry.problem)
