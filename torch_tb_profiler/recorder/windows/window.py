"""A window of the profiler: its trace, and its state in the journal."""

from __future__ import annotations

import gzip
import mmap
import os
import re
import shutil

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.windows.profiler_run import ProfilerRun

TRACE_SUFFIX = ".pt.trace.json"
PARTIAL_SUFFIX = ".partial"
RECORDING, WRITTEN, LOST = "recording", "written", "lost"
DISCARDED_NAMES = (b"between steps", b"no step")
"""Names for a range that started as a step and was discarded; the longest one that fits is used."""


class RecordingWindow:
    """A window, from its start to the file of its trace.

    Attributes:
        trace: Name of its file.
        is_preview: Whether it is only written if nothing else was recorded.
        run: The profiler; None if it is the program's own.
        evaluations: Evaluation steps in it.
        is_final: Whether it was reported as written or lost.
        is_written: Whether it has a trace.
    """

    def __init__(
        self, session: Session, run: ProfilerRun | None = None, is_preview: bool = False
    ) -> None:
        """Start a window now."""
        self._session = session
        self.run = run
        self.is_preview = is_preview
        self.evaluations = 0
        self.is_final = self.is_written = False
        self._start_ns = clock.unix_ns()
        self._end_ns: int | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._discarded: set[str] = set()
        self._reason: str | None = None
        self.trace = _new_trace_name(session, self._start_ns // 1_000_000)
        if not is_preview and run is not None:
            self._write_state(RECORDING, None)

    @property
    def path(self) -> str:
        """Path of its trace, which may not exist yet."""
        return os.path.join(self._session.options.folder, self.trace)

    def add_step(self, step: int) -> None:
        """Add a training step that ended in it, or shortly after."""
        self._first = step if self._first is None else self._first
        self._last = step
        if self.is_written:
            self._write_state(WRITTEN, self._reason)

    def discard_range(self, name: str) -> None:
        """Mark the range of a name as not being a step."""
        self._discarded.add(name)

    def end(self, reason: str | None) -> None:
        """End it now; ``reason``: why it is incomplete, None if it is complete."""
        if self._end_ns is None:
            self._end_ns = clock.unix_ns()
            self._reason = reason

    def mark_lost(self, reason: str) -> None:
        """Report that it has no trace."""
        self.is_final = True
        self._end_ns = self._end_ns or clock.unix_ns()
        self._write_state(LOST, reason)

    def export(self) -> None:
        """Write its trace and report the result."""
        run, partial = self.run, self.path + PARTIAL_SUFFIX
        if self.is_final or run is None:
            return
        if run.external_output is not None:
            self.mark_lost(run.external_output)
            return
        try:
            os.makedirs(self._session.options.folder, exist_ok=True)
            run.export(partial)
            self.finalize()
        except Exception as error:
            text = getattr(error, "strerror", None) or error
            self.mark_lost(f"The trace could not be written: {text}.")

    def finalize(self) -> None:
        """Rename the written file to its final name and report it."""
        partial = self.path + PARTIAL_SUFFIX
        for name in self._discarded:
            _rename_ranges(partial, name.encode())
        os.replace(partial, self.path)
        self.is_final = self.is_written = True
        self._write_state(WRITTEN, self._reason)

    def copy(self, path: str) -> None:
        """Copy a trace that the program has exported.

        Raises:
            OSError: it cannot be read or copied.
        """
        partial = self.path + PARTIAL_SUFFIX
        os.makedirs(self._session.options.folder, exist_ok=True)
        if path.endswith(".gz"):
            with gzip.open(path) as source, open(partial, "wb") as target:
                shutil.copyfileobj(source, target)
        else:
            shutil.copyfile(path, partial)
        self.finalize()

    def _write_state(self, state: str, reason: str | None) -> None:
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


def _new_trace_name(session: Session, unix_ms: int) -> str:
    while True:
        name = f"{session.journal.worker}.{unix_ms}{TRACE_SUFFIX}"
        path = os.path.join(session.options.folder, name)
        if not os.path.exists(path) and not os.path.exists(path + PARTIAL_SUFFIX):
            return name
        unix_ms += 1


def _rename_ranges(path: str, name: bytes) -> None:
    """Rename, in place, ranges of a discarded step: all of that name that started before the last
    host range, and that range too if it is the only one (the step itself may come later)."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as text:
        ranges = [
            (float(match[2]), b"gpu" in match[0], match.start(1))
            for match in re.finditer(
                rb'"name": "(' + re.escape(name) + rb')"[^{}]*?"ts": ([\d.]+)', text
            )
        ]
        host = sorted(ts for ts, is_gpu, _ in ranges if not is_gpu)
        until = host[-1] if len(host) > 1 else float("inf")
        to = next((each for each in DISCARDED_NAMES if len(each) <= len(name)), b"")
        for ts, _, at in ranges:
            if ts < until:
                text[at : at + len(name)] = to.ljust(len(name))
