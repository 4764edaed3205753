"""The recording of one process: its journal, its parts, and the thread that ticks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVENTS, Part, StepRecord
from torch_tb_profiler.recorder.journal import Journal
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.own_process import header, worker_names

PARTS = (
    ("settings", "program_settings", "SettingsPart"),
    ("host_samples", "sampler", "Sampler"),
    ("window", "windows", "Windows"),
    ("timer", "timer", "StepTimer"),
    ("steps", "steps", "StepFinder"),
    ("data_loading", "loaders", "LoaderHooks"),
)
"""What is missing without a part, its module, its class, made with the session. Each hears before
those below: the window before the step finder that tells of steps."""

FLUSH_S = 1.0
IDLE_S = 0.25
"""How often the ticker looks up where nothing is sampled."""

_current: Session | None = None
_begin_lock = threading.Lock()


class Session:
    """What records this process.

    Attributes:
        options: What was asked for.
        journal: Where it is written.
        step: The number of the training step under way.
        phase: The phase that batches belong to now.
        pid: The process; a forked child has another, and is not recorded by this session.
    """

    def __init__(self, options: Options) -> None:
        """Record nothing yet."""
        self.options = options
        self.pid = os.getpid()
        self.step = 0
        self.phase = "train"
        self.journal = Journal(options.folder, worker_names()[0])
        self.parts: dict[str, Part] = {}
        self._heard: dict[str, list[tuple[str, Callable[..., None]]]] = {
            event: [] for event in EVENTS
        }
        self._workers: dict[str, int] = {}
        self._told: set[tuple[str, str]] = set()
        self._failed: set[str] = set()
        self._closing = threading.RLock()  # a signal may end the process in the middle of its end
        self._is_closed = False
        self._wake = threading.Event()
        self._started_ns = 0
        self._ticker: threading.Thread | None = None

    def start(self) -> None:
        """Begin to record; torch is imported."""
        self._started_ns = clock.unix_ns()
        for what, module, name in PARTS:
            self._guard(what, partial(self._add, what, module, name))
        self._ticker = threading.Thread(target=self._tick, name="torch-tb-profiler", daemon=True)
        self._ticker.start()

    def evidence(self) -> None:
        """The program does something worth a file: a step, a batch, a call of its model."""
        if self.journal.is_waiting:  # processes that a program starts learn their rank by now
            self.journal.open_now(header(self.options, self._started_ns), *worker_names())

    def miss(self, what: str, reason: str) -> None:
        """Something is not recorded, for a reason; told once."""
        if (what, reason) not in self._told:
            self._told.add((what, reason))
            self.journal.write({"kind": "missing", "what": what, "reason": reason})

    def workers(self) -> dict[str, int]:
        """The processes that load data now: key, ``"loader worker 0"``, and process id."""
        return dict(self._workers)

    def set_workers(self, workers: dict[str, int]) -> None:
        """These processes load data now."""
        self._workers = dict(workers)

    def batch_wanted(self, loader: int, time_ns: int) -> None:
        """As :meth:`Listener.batch_wanted`."""
        self._tell("batch_wanted", loader, time_ns)

    def batch_given(self, loader: int, time_ns: int, wait_ns: int, samples: int | None) -> None:
        """As :meth:`Listener.batch_given`."""
        self._tell("batch_given", loader, time_ns, wait_ns, samples)

    def loader_ended(self, loader: int, time_ns: int) -> None:
        """As :meth:`Listener.loader_ended`."""
        self._tell("loader_ended", loader, time_ns)

    def step_ended(self, step: StepRecord) -> None:
        """As :meth:`Listener.step_ended`."""
        self.evidence()
        self._tell("step_ended", step)

    def close(self, reason: str) -> None:
        """Stop every part and write the rest; only the first call does anything."""
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
        for event, heard in self._heard.items():
            call = getattr(part, event, None)
            if call is not None:
                heard.append((what, call))

    def _tell(self, event: str, *told: Any) -> None:
        for what, call in self._heard[event]:
            try:
                call(*told)
            except Exception as error:  # noqa: PERF203 - one part must not cost the others
                self._drop(what, error)

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._drop(what, error)

    def _drop(self, what: str, error: Exception) -> None:
        self._failed.add(what)
        for event, heard in self._heard.items():
            self._heard[event] = [each for each in heard if each[0] != what]
        self.miss(what, f"The recorder failed: {type(error).__name__}: {error}")

    def _tick(self) -> None:
        """Sample and flush until the session closes."""
        every_s = self.options.sample_every_ms / 1000
        pause_s = every_s or IDLE_S
        due_s = clock.perf_ns() / 1e9 + FLUSH_S
        sampler: Any = self.parts.get("host_samples") if every_s else None
        next_s = clock.perf_ns() / 1e9
        while True:
            if sampler is not None and "host_samples" not in self._failed:
                self._guard("host_samples", sampler.sample)
            now_s = clock.perf_ns() / 1e9
            if now_s >= due_s:
                for what, part in self.parts.items():
                    if what not in self._failed:
                        self._guard(what, part.flush)
                due_s = now_s + FLUSH_S
            next_s = max(next_s + pause_s, now_s)
            if self._wake.wait(next_s - now_s):
                return


def current() -> Session | None:
    """The session of this process; None where nothing is recorded, as in forked children."""
    session = _current
    return session if session is not None and session.pid == os.getpid() else None


def begin(options: Options) -> Session | None:
    """Record this process from now on; None where it is recorded already, or cannot be."""
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
    """End the recording of this process, if there is one."""
    global _current  # noqa: PLW0603
    session = current()
    if session is not None:
        session.close(reason)
        _current = None
