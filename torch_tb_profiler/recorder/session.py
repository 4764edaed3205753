"""The recording of one process: its journal, its parts, and the ticker thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVENTS, SessionPart, StepRecord
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.process_info import journal_header, worker_names
from torch_tb_profiler.recorder.run_folder.journal import JournalWriter

PARTS = (
    ("settings", "settings.program_settings", "SettingsRecorder"),
    ("host_samples", "samples.sampler", "Sampler"),
    ("window", "windows.controller", "Windows"),
    ("timer", "throughput.step_timer", "StepTimer"),
    ("steps", "steps.detector", "StepDetector"),
    ("data_loading", "loaders.hooks", "LoaderHooks"),
)
"""Name of what is missing without the part, its module, its class. Parts get events in this order:
the windows before the step detector that emits them."""

FLUSH_S, FIRST_FLUSH_S = 1.0, 0.1
"""Time between flushes, and between the first activity and the first flush. In between it doubles:
of a program that is killed early at least half is written."""

IDLE_S = 0.25
"""Period of the ticker if nothing is sampled."""

_current: Session | None = None
_begin_lock = threading.Lock()


class Session:
    """The recording of this process.

    Attributes:
        options: The options of the recording.
        journal: The journal it writes.
        step: Number of the current training step.
        phase: The phase that batches currently belong to.
        pid: The process id; a forked child has another one and is not recorded by this session.
    """

    def __init__(self, options: Options) -> None:
        """Create the session without starting it."""
        self.options = options
        self.pid = os.getpid()
        self.step = 0
        self.phase = "train"
        self.journal = JournalWriter(options.folder, worker_names()[0])
        self.parts: dict[str, SessionPart] = {}
        self._listeners: dict[str, list[tuple[str, Callable[..., None]]]] = {
            event: [] for event in EVENTS
        }
        self._workers: dict[str, int] = {}
        self._reported: set[tuple[str, str]] = set()
        self._failed: set[str] = set()
        self._closing = threading.RLock()  # a signal may arrive while the session is closing
        self._is_closed = False
        self._wake = threading.Event()
        self._flush_s, self._due_s = FLUSH_S, 0.0
        self._started_ns = 0
        self._ticker: threading.Thread | None = None

    def start(self) -> None:
        """Start recording; torch is imported."""
        self._started_ns = clock.unix_ns()
        self._due_s = clock.perf_ns() / 1e9 + FLUSH_S
        for what, module, name in PARTS:
            self._guard(what, partial(self._add, what, module, name))
        self._ticker = threading.Thread(target=self._tick, name="torch-tb-profiler", daemon=True)
        self._ticker.start()

    def note_activity(self) -> None:
        """Open the journal: the process took a step, loaded a batch or called a model."""
        if self.journal.can_open:  # only now do spawned processes know their rank
            self.journal.open(journal_header(self.options, self._started_ns), *worker_names())
            self._flush_s = FIRST_FLUSH_S
            self._due_s = clock.perf_ns() / 1e9 + self._flush_s

    def report_missing(self, what: str, reason: str) -> None:
        """Write, once, why something is not recorded.

        Args:
            what: Name of what is missing, as in :data:`PARTS`.
            reason: A sentence.
        """
        if (what, reason) not in self._reported:
            self._reported.add((what, reason))
            self.journal.write({"kind": "missing", "what": what, "reason": reason})

    def workers(self) -> dict[str, int]:
        """Process ids of the current loader workers, by name (``"loader worker 0"``)."""
        return dict(self._workers)

    def set_workers(self, workers: dict[str, int]) -> None:
        """Replace the current loader workers."""
        self._workers = dict(workers)

    def batch_requested(self, loader: int, time_ns: int) -> None:
        """See :meth:`EventListener.batch_requested`."""
        self._notify("batch_requested", loader, time_ns)

    def batch_delivered(self, loader: int, time_ns: int, wait_ns: int, samples: int | None) -> None:
        """See :meth:`EventListener.batch_delivered`."""
        self._notify("batch_delivered", loader, time_ns, wait_ns, samples)

    def loader_exhausted(self, loader: int, time_ns: int) -> None:
        """See :meth:`EventListener.loader_exhausted`."""
        self._notify("loader_exhausted", loader, time_ns)

    def step_ended(self, step: StepRecord) -> None:
        """See :meth:`EventListener.step_ended`."""
        self.note_activity()
        self._notify("step_ended", step)

    def close(self, reason: str) -> None:
        """Stop all parts and write the end; only the first call has an effect."""
        if os.getpid() != self.pid:
            return
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        self._wake.set()
        for what, part in reversed(self.parts.items()):
            self._guard(what, partial(part.stop, reason))
        self.journal.write({"kind": "end", "reason": reason, "time_ns": clock.unix_ns()})
        self.journal.close()

    def _add(self, what: str, module: str, name: str) -> None:
        part = getattr(import_module(f"torch_tb_profiler.recorder.{module}"), name)(self)
        part.start()
        self.parts[what] = part
        for event, listeners in self._listeners.items():
            call = getattr(part, event, None)
            if call is not None:
                listeners.append((what, call))

    def _notify(self, event: str, *arguments: Any) -> None:
        for what, call in self._listeners[event]:
            try:
                call(*arguments)
            except Exception as error:  # noqa: PERF203 - one part must not affect the others
                self._drop(what, error)

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._drop(what, error)

    def _drop(self, what: str, error: Exception) -> None:
        self._failed.add(what)
        for event, listeners in self._listeners.items():
            self._listeners[event] = [each for each in listeners if each[0] != what]
        self.report_missing(what, f"The recorder failed: {type(error).__name__}: {error}")

    def _tick(self) -> None:
        """Sample and flush until the session closes."""
        every_s = self.options.sample_every_ms / 1000
        pause_s = every_s or IDLE_S
        sampler: Any = self.parts.get("host_samples") if every_s else None
        next_s = clock.perf_ns() / 1e9
        while True:
            if sampler is not None and "host_samples" not in self._failed:
                self._guard("host_samples", sampler.sample)
            now_s = clock.perf_ns() / 1e9
            if now_s >= self._due_s:
                for what, part in self.parts.items():
                    if what not in self._failed:
                        self._guard(what, part.flush)
                self._due_s = now_s + self._flush_s
                self._flush_s = min(2 * self._flush_s, FLUSH_S)
            next_s = max(next_s + pause_s, now_s)
            if self._wake.wait(next_s - now_s):
                return


def current() -> Session | None:
    """The session of this process; None if it is not recorded (as in forked children)."""
    session = _current
    return session if session is not None and session.pid == os.getpid() else None


def begin(options: Options) -> Session | None:
    """Start recording this process; None if it is recorded already or cannot be recorded."""
    global _current  # noqa: PLW0603 - a process has one recording
    with _begin_lock:
        if current() is not None:
            return None
        try:
            session = Session(options)
            _current = session
            session.start()
        except Exception:
            return None
        return session


def end(reason: str) -> None:
    """End the recording of this process, if any."""
    global _current  # noqa: PLW0603
    session = current()
    if session is not None:
        session.close(reason)
        _current = None
