"""Data loaders of the program: what each batch waited for, and what was ready when it was asked.

The iterators of ``torch.utils.data`` are hooked, so every wrapper of them is seen too. The
processes that load are recorded by :mod:`.loader_worker`. What is measured: ``docs/record.md``.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder import loader_marks, loader_transforms
from torch_tb_profiler.recorder.clock import perf_ns, to_unix
from torch_tb_profiler.recorder.loader_marks import MARKS
from torch_tb_profiler.recorder.loader_processes import LoaderProcesses
from torch_tb_profiler.recorder.loader_states import KEY, IteratorState, LoaderBook, LoaderState
from torch_tb_profiler.recorder.loader_worker import work_block
from torch_tb_profiler.recorder.session import Session

WHAT = "data_loading"

COLUMNS = ("batch", "step", "start_ns", "wait_ns", "ready", "capacity", "samples", "worker")
"""The columns of a block ``batches``."""

PENDING = 2
"""Batches whose phase is not known yet: some programs take a batch before they use the last."""

_Row = tuple[int | None, ...]

_active: LoaderHooks | None = None


class _Nesting(threading.local):
    """How many loaders of this thread load at once, one inside the other."""

    depth = 0


class LoaderHooks:
    """The part of a session that sees data loaders."""

    def __init__(self, session: Session) -> None:
        """Nothing is hooked yet."""
        self.session = session
        self.pid = os.getpid()
        self.book = LoaderBook()
        self._nesting = _Nesting()
        self._asking: LoaderState | None = None
        self._has_evidence = False
        self._batches: deque[tuple[int, str, _Row]] = deque()
        self._work: deque[tuple[int, _Row]] = deque()
        self._flushing = threading.RLock()
        self._restore: list[Callable[[], None]] = []
        self._processes = LoaderProcesses(self)
        self._own_ns = 0
        self._calls = 0

    def start(self) -> None:
        """Hook the iterators of torch."""
        global _active  # noqa: PLW0603 - hooks are of a process
        from torch.utils.data import dataloader  # noqa: PLC0415

        if _active is not None:  # of the process that forked this one
            _active.unhook()
        base: Any = dataloader._BaseDataLoaderIter
        self._replace(base, "__init__", _initializer)
        self._replace(base, "__next__", _nexter)
        loader_marks.note_collate()
        loader_marks.note_single_process()
        self._processes.start(self._replace)
        _active = self

    def flush(self) -> None:
        """Write the batches that were given since the last time: by the ticker, and at the end."""
        with self._flushing:
            self._write()

    def _write(self) -> None:
        groups: dict[tuple[int, str], list[_Row]] = {}
        for loader, phase, row in _drained(self._batches):
            groups.setdefault((loader, phase), []).append(row)
        for (loader, phase), rows in groups.items():
            columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            columns["start_ns"] = list(map(to_unix, columns["start_ns"]))
            self.session.journal.write(
                {"kind": "batches", "loader": loader, "phase": phase, **columns}
            )
        made: dict[int, list[_Row]] = {}
        for loader, row in _drained(self._work):
            made.setdefault(loader, []).append((row[0], to_unix(row[1] or 0), *row[2:]))
        for loader, rows in made.items():
            self.session.journal.write(work_block(loader, None, rows))

    def stop(self, _reason: str) -> None:
        """Write the rest, and take the hooks back."""
        global _active  # noqa: PLW0603
        _active = None
        self.unhook()
        for loader in self.book.loaders:
            self._settle(loader, 0)
        self.flush()
        if self._calls:
            cost = {"kind": "cost", "what": "loader", "cpu_ns": self._own_ns, "calls": self._calls}
            self.session.journal.write(cost)

    def unhook(self) -> None:
        """The iterators of torch are as they were."""
        for restore in reversed(self._restore):
            restore()
        self._restore.clear()
        loader_marks.note_nothing()
        loader_transforms.forget_classes()

    def made(self, iterator: Any, loader: Any | None) -> IteratorState:
        """An iterator was made, or is seen for the first time."""
        state, is_new = self.book.register(self, iterator, loader)
        if is_new:
            self.session.journal.write(state.loader.settings)
        if not state.in_process:
            self.session.evidence()  # its processes are told where the journal is
            self._processes.hand_over(state)
        return state

    def pinned(self, loader: int, row: _Row) -> None:
        """A batch was copied into pinned memory, in the thread that does that."""
        self._work.append((loader, row))

    def wanted(self, iterator: Any) -> IteratorState:
        """The program asks for a batch."""
        entered_ns = perf_ns()
        state: IteratorState | None = iterator.__dict__.get(KEY)
        if state is None or state.hooks is not self:
            state = self.made(iterator, None)
        depth = self._nesting.depth
        self._nesting.depth = depth + 1
        told_ns = 0
        if depth:
            state.marks = (MARKS.fetch_ns, MARKS.collate_ns, MARKS.pin_ns)
        else:
            self._settle_before(state.loader)
            before_ns = perf_ns()
            self.session.batch_wanted(state.loader.number, before_ns)
            told_ns = perf_ns() - before_ns
        if state.transforms is not None:
            state.transforms.begin()
        else:
            self._processes.look(iterator, state)
        state.asked_ns = perf_ns()
        state.own_ns = state.asked_ns - entered_ns - told_ns
        return state

    def given(self, iterator: Any, state: IteratorState, batch: Any) -> None:
        """The program gets it."""
        given_ns = perf_ns()
        depth = self._nesting.depth - 1
        self._nesting.depth = depth
        wait_ns = given_ns - state.asked_ns
        loader = state.loader
        if state.in_process:
            place, worker = state.given, None
            number = loader.next_batch
            loader.next_batch += 1
        else:
            place, worker = self._processes.place(iterator, state)
            number = state.first_batch + place
            loader.next_batch = state.first_batch + iterator._send_idx
        state.given += 1
        samples = state.counter.count(place, batch)
        if state.in_process:
            self._loaded(iterator, state, number, samples)
        if depth:
            MARKS.fetch_ns, MARKS.collate_ns, MARKS.pin_ns = state.marks
        ready, capacity = state.ready, state.capacity or None
        step = self.session.step
        loader.pending.append(
            (number, step, state.asked_ns, wait_ns, ready, capacity, samples, worker)
        )
        if not self._has_evidence:
            self._has_evidence = True
            self.session.evidence()
        self._own_ns += perf_ns() - given_ns + state.own_ns
        self._calls += 1
        if not depth:
            self.session.batch_given(loader.number, given_ns, wait_ns, samples)

    def failed(self, state: IteratorState, error: BaseException) -> None:
        """There is none."""
        time_ns = perf_ns()
        depth = self._nesting.depth - 1
        self._nesting.depth = depth
        if state.transforms is not None:
            state.transforms.end()
        if depth:
            MARKS.fetch_ns, MARKS.collate_ns, MARKS.pin_ns = state.marks
        if isinstance(error, StopIteration):
            state.is_ended = True
            state.given = 0
            self._settle(state.loader, 0)
            self._processes.changed()
            if not depth:
                self.session.loader_ended(state.loader.number, time_ns)
        elif isinstance(error, Exception):
            kind = type(error).__name__ if type(error).__module__ == "builtins" else "an error"
            reason = f"Loader {state.loader.number} failed to give a batch: {kind}."
            self.session.miss(WHAT, reason)

    def _loaded(
        self, iterator: Any, state: IteratorState, number: int, samples: int | None
    ) -> None:
        """What a batch took that was made in the process itself."""
        transform_ns = state.transforms.end() if state.transforms is not None else None
        given_ns = state.asked_ns
        fetch_ns, collate_ns, pin_ns = MARKS.fetch_ns, MARKS.collate_ns, MARKS.pin_ns
        if not given_ns <= fetch_ns <= collate_ns <= pin_ns:
            return  # another version of torch reads other attributes
        is_pinned = iterator.__dict__.get("_pin_memory")
        self._work.append(
            (
                state.loader.number,
                (
                    number,
                    fetch_ns,
                    collate_ns - fetch_ns - (transform_ns or 0),
                    transform_ns,
                    pin_ns - collate_ns,
                    perf_ns() - pin_ns if is_pinned else None,
                    None,
                    samples,
                ),
            )
        )

    def _settle_before(self, asking: LoaderState) -> None:
        """The phase of batches that were given is known now, but for the last of who asks."""
        if len(asking.pending) >= PENDING:
            self._settle(asking, PENDING - 1)
        if asking is not self._asking:
            self._asking = asking
            for loader in self.book.loaders:
                if loader is not asking:
                    self._settle(loader, 0)

    def _settle(self, loader: LoaderState, kept: int) -> None:
        count = max(len(loader.pending) - kept, 0)
        for row in loader.pending[:count]:
            self._batches.append((loader.number, self.session.phase, row))
        del loader.pending[:count]

    def _replace(self, owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        """Put something into the place of an attribute, and remember to take it back."""
        before = getattr(owner, name)
        ours = made(before)
        setattr(owner, name, ours)

        def restore() -> None:
            if vars(owner).get(name) is ours:  # else a program wrapped it once more: it stays
                setattr(owner, name, before)

        self._restore.append(restore)


def _drained(rows: deque[Any]) -> list[Any]:
    return [rows.popleft() for _ in range(len(rows))]


def _hooks() -> LoaderHooks | None:
    """The hooks of this process; a forked child has none."""
    hooks = _active
    return hooks if hooks is not None and hooks.pid == os.getpid() else None


def _off(hooks: LoaderHooks, error: Exception) -> None:
    """What failed is not called again."""
    global _active  # noqa: PLW0603
    _active = None
    hooks.session.miss(WHAT, f"The recorder failed: {type(error).__name__}: {error}")


def _initializer(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def made(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        original(self, loader, *args, **kwargs)
        hooks = _hooks()
        if hooks is not None:
            try:
                hooks.made(self, loader)
            except Exception as error:
                _off(hooks, error)

    return made


def _nexter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def next_batch(self: Any) -> Any:
        hooks = _hooks()
        if hooks is None:
            return original(self)
        try:
            state = hooks.wanted(self)
        except Exception as error:
            _off(hooks, error)
            return original(self)
        try:
            batch = original(self)
        except BaseException as error:
            _told(hooks, hooks.failed, state, error)
            raise
        _told(hooks, hooks.given, self, state, batch)
        return batch

    return next_batch


def _told(hooks: LoaderHooks, call: Callable[..., None], *args: Any) -> None:
    try:
        call(*args)
    except Exception as error:
        _off(hooks, error)
