"""Writes the times of the session's steps to the journal, with the wait for data in each."""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

from torch_tb_profiler.recorder.clock import to_unix
from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.throughput.figures import SETTLED_STEPS, count_warmup_steps

COLUMNS = ("step", "start_ns", "end_ns", "reader_ns", "samples")
"""Columns of a ``steps`` block."""

MAX_WAITS = 4096
"""Limit for batches not assigned to a step yet; of more, the oldest are dropped."""

MAX_ROWS = 10_000
"""Steps per block."""

_Row = tuple[int, int, int, int | None, int | None]
_Item = TypeVar("_Item")
_Wait = tuple[int, int, int | None]


class StepTimer:
    """The part of a session that times steps.

    Steps and batches are appended in the thread in which they happen, which is atomic in Python;
    the ticker thread removes each of them once.
    """

    def __init__(self, session: Session) -> None:
        """Create without steps."""
        self._session = session
        self._steps: deque[tuple[str, str, _Row]] = deque()
        self._waits: deque[_Wait] = deque(maxlen=MAX_WAITS)
        self._has_waits = False
        self._first_ns = array("q")
        self._trained = 0
        self._warmup_steps: int | None = None
        self._windows: Any = session.parts.get("window")
        self._profiled: deque[list[int]] = deque()
        self._stretch: list[int] | None = None
        self._flushing = threading.RLock()

    def start(self) -> None:
        """Hooks nothing: the session passes the steps."""

    def flush(self) -> None:
        """Write the steps that ended since the last call."""
        with self._flushing:
            groups: dict[tuple[str, str], list[_Row]] = {}
            for phase, by, row in _drain(self._steps):
                if phase == TRAIN:
                    self._count(row)
                groups.setdefault((phase, by), []).append(row)
            for (phase, by), rows in groups.items():
                for at in range(0, len(rows), MAX_ROWS):
                    self._write(phase, by, rows[at : at + MAX_ROWS])
            self._write_profiled()
            self._write_warmup()

    def stop(self, _reason: str) -> None:
        """Write the remaining steps."""
        self.flush()

    def batch_delivered(
        self, _loader: int, time_ns: int, wait_ns: int, samples: int | None
    ) -> None:
        """The current step waited for a batch."""
        self._waits.append((time_ns - wait_ns, time_ns, samples))
        self._has_waits = True

    def step_ended(self, step: StepRecord) -> None:
        """Add the step with the batches delivered in it."""
        reader_ns = samples = batches = 0
        are_sized = True
        waits = self._waits
        while waits and waits[0][1] <= step.end_ns:
            requested_ns, given_ns, count = waits.popleft()
            if given_ns > step.start_ns:
                reader_ns += given_ns - max(requested_ns, step.start_ns)
                batches += 1
                samples += count or 0
                are_sized = are_sized and count is not None
        row = (
            step.number,
            step.start_ns,
            step.end_ns,
            reader_ns if self._has_waits else None,
            samples if batches and are_sized else None,
        )
        self._steps.append((step.phase, step.by, row))
        if self._windows is not None:
            self._note_profiler(step, self._windows.is_profiling)

    def _note_profiler(self, step: StepRecord, is_on: bool) -> None:
        """A profiler slows the steps at whose end it is running, and the one in which it stops."""
        if self._stretch is not None:
            self._stretch[1] = step.end_ns
        elif is_on:
            self._stretch = [step.start_ns, step.end_ns]
            self._profiled.append(self._stretch)
        if not is_on:
            self._stretch = None

    def _count(self, row: _Row) -> None:
        self._trained += 1
        if len(self._first_ns) < SETTLED_STEPS:
            self._first_ns.append(row[2] - row[1])

    def _write_profiled(self) -> None:
        """Write when a profiler slowed the steps; that also happens outside windows."""
        for stretch in [*_drain(self._profiled)]:
            if stretch is self._stretch:  # it may grow: write it again later
                self._profiled.append(stretch)
            block = {"start_ns": to_unix(stretch[0]), "end_ns": to_unix(stretch[1])}
            self._session.journal.write({"kind": "profiler", **block})

    def _write_warmup(self) -> None:
        """Write the number of warm-up steps whenever it changes."""
        if not self._trained:
            return
        warmup_steps = count_warmup_steps(self._first_ns)
        if warmup_steps != self._warmup_steps:
            self._warmup_steps = warmup_steps
            self._session.journal.write({"kind": "timer", "warmup_steps": warmup_steps})

    def _write(self, phase: str, by: str, rows: list[_Row]) -> None:
        columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        for name in ("start_ns", "end_ns"):
            columns[name] = [None if each is None else to_unix(each) for each in columns[name]]
        self._session.journal.write({"kind": "steps", "phase": phase, "by": by, **columns})


def _drain(steps: deque[_Item]) -> Iterator[_Item]:
    """Remove the current items; more may be appended meanwhile."""
    for _ in range(len(steps)):
        yield steps.popleft()
