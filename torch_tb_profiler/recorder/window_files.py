"""A window of the profiler: its trace, and what the journal tells of it."""

from __future__ import annotations

import gzip
import mmap
import os
import re
import shutil

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.profiler_run import ProfilerRun
from torch_tb_profiler.recorder.session import Session

ENDING = ".pt.trace.json"
PARTIAL = ".partial"
RECORDING, WRITTEN, LOST = "recording", "written", "lost"
NO_STEPS = (b"between steps", b"no step")
"""What a range is called that began as a step and was none; the longest that fits."""


class Window:
    """A window, from its first moment to its file.

    Attributes:
        trace: The name of its file.
        is_preview: Whether it is kept only where nothing better was recorded.
        run: The profiler; None for one of the program.
        evaluations: Steps of evaluations in it.
        is_settled: Whether its fate was told.
        is_written: Whether it has a trace.
    """

    def __init__(
        self, session: Session, run: ProfilerRun | None = None, is_preview: bool = False
    ) -> None:
        """A window that begins now."""
        self._session = session
        self.run = run
        self.is_preview = is_preview
        self.evaluations = 0
        self.is_settled = self.is_written = False
        self._start_ns = clock.unix_ns()
        self._end_ns: int | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._no_steps: set[str] = set()
        self._reason: str | None = None
        self.trace = _unused_name(session, self._start_ns // 1_000_000)
        if not is_preview and run is not None:
            self._tell(RECORDING, None)

    @property
    def path(self) -> str:
        """Where its trace lies, or will."""
        return os.path.join(self._session.options.folder, self.trace)

    def saw(self, step: int) -> None:
        """A training step ended in it, or soon after."""
        self._first = step if self._first is None else self._first
        self._last = step
        if self.is_written:
            self._tell(WRITTEN, self._reason)

    def given_up(self, name: str) -> None:
        """The range of that name turned out to be no step."""
        self._no_steps.add(name)

    def end(self, reason: str | None) -> None:
        """It ends now, for a reason unless it is complete."""
        if self._end_ns is None:
            self._end_ns = clock.unix_ns()
            self._reason = reason

    def lose(self, reason: str) -> None:
        """There is no trace of it."""
        self.is_settled = True
        self._end_ns = self._end_ns or clock.unix_ns()
        self._tell(LOST, reason)

    def export(self) -> None:
        """Write its trace, and tell how that went."""
        run, partial = self.run, self.path + PARTIAL
        if self.is_settled or run is None:
            return
        if run.elsewhere is not None:
            self.lose(run.elsewhere)
            return
        try:
            os.makedirs(self._session.options.folder, exist_ok=True)
            run.export(partial)
            self.settle()
        except Exception as error:
            text = getattr(error, "strerror", None) or error
            self.lose(f"The trace could not be written: {text}.")

    def settle(self) -> None:
        """Give the written file its name."""
        partial = self.path + PARTIAL
        for name in self._no_steps:
            _rename_ranges(partial, name.encode())
        os.replace(partial, self.path)
        self.is_settled = self.is_written = True
        self._tell(WRITTEN, self._reason)

    def copy(self, path: str) -> None:
        """Take over a trace that the program has exported.

        Raises:
            OSError: it cannot be read, or not be copied.
        """
        partial = self.path + PARTIAL
        os.makedirs(self._session.options.folder, exist_ok=True)
        if path.endswith(".gz"):
            with gzip.open(path) as source, open(partial, "wb") as target:
                shutil.copyfileobj(source, target)
        else:
            shutil.copyfile(path, partial)
        self.settle()

    def _tell(self, state: str, reason: str | None) -> None:
        self._session.journal.write(
            {
                "kind": "window",
                "state": state,
                "trace": self.trace,
                "first_step": self._first,
                "last_step": self._last,
                "start_ns": self._start_ns,
                "end_ns": self._end_ns,
                "reason": reason,
                "preview": self.is_preview,
            }
        )


def _unused_name(session: Session, unix_ms: int) -> str:
    while True:
        name = f"{session.journal.worker}.{unix_ms}{ENDING}"
        path = os.path.join(session.options.folder, name)
        if not os.path.exists(path) and not os.path.exists(path + PARTIAL):
            return name
        unix_ms += 1


def _rename_ranges(path: str, name: bytes) -> None:
    """Call ranges of a step something else, in place, where they were none: all of that name that
    began before the last one of the host, and that one too unless the step came later."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as text:
        found = [
            (float(match[2]), b"gpu" in match[0], match.start(1))
            for match in re.finditer(
                rb'"name": "(' + re.escape(name) + rb')"[^{}]*?"ts": ([\d.]+)', text
            )
        ]
        host = sorted(ts for ts, is_gpu, _ in found if not is_gpu)
        until = host[-1] if len(host) > 1 else float("inf")
        to = next((each for each in NO_STEPS if len(each) <= len(name)), b"")
        for ts, _, at in found:
            if ts < until:
                text[at : at + len(name)] = to.ljust(len(name))
