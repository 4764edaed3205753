"""Data loaders of the program: the wait of each batch, and how many batches were ready.

The iterators of ``torch.utils.data`` are hooked, which covers everything that wraps a loader.
Worker processes are recorded by :mod:`.worker_process`. What is measured: ``docs/record.md``.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder.clock import perf_ns, to_unix
from torch_tb_profiler.recorder.loaders import stage_times, transforms
from torch_tb_profiler.recorder.loaders.stage_times import STAGE_TIMES
from torch_tb_profiler.recorder.loaders.states import (
    STATE_ATTRIBUTE,
    IteratorState,
    LoaderRegistry,
    LoaderState,
)
from torch_tb_profiler.recorder.loaders.worker_process import work_block
from torch_tb_profiler.recorder.loaders.workers import LoaderWorkers
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.torch_api.expectations import allows

WHAT, STAGES = "data_loading", "loader_stages"
OTHER_ITERATOR = (
    "An iterator ({kind}) loads batches otherwise than torch's own does: when it fetches, collates "
    "and pins is not known."
)

COLUMNS = ("batch", "step", "start_ns", "wait_ns", "ready", "capacity", "samples", "worker")
"""Columns of a ``batches`` block."""

PENDING = 2
"""Batches whose phase is not known yet: some programs fetch a batch before they use the last."""

_Row = tuple[int | None, ...]

_active: LoaderHooks | None = None


class _Nesting(threading.local):
    """How many loaders are loading in this thread, one inside the other."""

    depth = 0


class LoaderHooks:
    """The part of a session that records data loaders."""

    def __init__(self, session: Session) -> None:
        """Create without hooking anything."""
        self.session = session
        self.pid = os.getpid()
        self.registry = LoaderRegistry()
        self._nesting = _Nesting()
        self._last_loader: LoaderState | None = None
        self._has_activity = False
        self._has_stages = False
        self._batches: deque[tuple[int, str, _Row]] = deque()
        self._work: deque[tuple[int, _Row]] = deque()
        self._flushing = threading.RLock()
        self._restore: list[Callable[[], None]] = []
        self._workers = LoaderWorkers(self)
        self._own_ns = 0
        self._calls = 0

    def start(self) -> None:
        """Hook torch's iterators."""
        global _active  # noqa: PLW0603 - hooks are of a process
        from torch.utils.data import dataloader  # noqa: PLC0415

        if _active is not None:  # inherited from the parent by a fork
            _active.unhook()
        _active = None
        if not allows("loader iterators", self.session):
            return
        base: Any = dataloader._BaseDataLoaderIter
        self._replace(base, "__init__", _wrap_init)
        self._replace(base, "__next__", _wrap_next)
        if allows("loader stages", self.session):
            stage_times.time_collate()
            stage_times.time_single_process()
            self._has_stages = True
        self._workers.start(self._replace)
        _active = self

    def flush(self) -> None:
        """Write the batches delivered since the last call."""
        with self._flushing:
            self._write()

    def _write(self) -> None:
        groups: dict[tuple[int, str], list[_Row]] = {}
        for loader, phase, row in _drain(self._batches):
            groups.setdefault((loader, phase), []).append(row)
        for (loader, phase), rows in groups.items():
            columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            columns["start_ns"] = list(map(to_unix, columns["start_ns"]))
            self.session.journal.write(
                {"kind": "batches", "loader": loader, "phase": phase, **columns}
            )
        work: dict[int, list[_Row]] = {}
        for loader, row in _drain(self._work):
            work.setdefault(loader, []).append((row[0], to_unix(row[1] or 0), *row[2:]))
        for loader, rows in work.items():
            self.session.journal.write(work_block(loader, None, rows))

    def stop(self, _reason: str) -> None:
        """Write the remaining batches and remove the hooks."""
        global _active  # noqa: PLW0603
        _active = None
        self.unhook()
        for loader in self.registry.loaders:
            self._assign_phase(loader, 0)
        self.flush()
        if self._calls:
            cost = {"kind": "cost", "what": "loader", "cpu_ns": self._own_ns, "calls": self._calls}
            self.session.journal.write(cost)

    def unhook(self) -> None:
        """Restore torch's iterators."""
        for restore in reversed(self._restore):
            restore()
        self._restore.clear()
        stage_times.restore_attributes()
        transforms.restore_classes()

    def register(self, iterator: Any, loader: Any | None) -> IteratorState:
        """The state of an iterator that was created, or is seen for the first time."""
        state, is_new = self.registry.register(self, iterator, loader)
        if is_new:
            self.session.journal.write(state.loader.settings)
        if not state.in_process:
            self.session.note_activity()  # the workers need the path of the journal
            self._workers.hand_over(state)
        return state

    def add_pinned(self, loader: int, row: _Row) -> None:
        """Record a batch copied into pinned memory; called in the pin thread."""
        self._work.append((loader, row))

    def before_next(self, iterator: Any) -> IteratorState:
        """Record that the program requests a batch."""
        entered_ns = perf_ns()
        state: IteratorState | None = iterator.__dict__.get(STATE_ATTRIBUTE)
        if state is None or state.hooks is not self:
            state = self.register(iterator, None)
        depth = self._nesting.depth
        self._nesting.depth = depth + 1
        notify_ns = 0
        if depth:
            state.marks = (STAGE_TIMES.fetch_ns, STAGE_TIMES.collate_ns, STAGE_TIMES.pin_ns)
        else:
            self._assign_earlier_phases(state.loader)
            before_ns = perf_ns()
            self.session.batch_requested(state.loader.number, before_ns)
            notify_ns = perf_ns() - before_ns
        if state.transforms is not None:
            state.transforms.begin()
        else:
            self._workers.read_queues(iterator, state)
        state.requested_ns = perf_ns()
        state.own_ns = state.requested_ns - entered_ns - notify_ns
        return state

    def after_next(self, iterator: Any, state: IteratorState, batch: Any) -> None:
        """Record that the batch was delivered."""
        delivered_ns = perf_ns()
        depth = self._nesting.depth - 1
        self._nesting.depth = depth
        wait_ns = delivered_ns - state.requested_ns
        loader = state.loader
        if state.in_process:
            position, worker = state.delivered, None
            number = loader.next_batch
            loader.next_batch += 1
        else:
            position, worker = self._workers.batch_source(iterator, state)
            number = state.first_batch + position
            loader.next_batch = self._workers.next_batch(iterator, state)
        state.delivered += 1
        samples = state.counter.count(position, batch)
        if state.in_process:
            self._record_work(iterator, state, number, samples)
        if depth:
            STAGE_TIMES.fetch_ns, STAGE_TIMES.collate_ns, STAGE_TIMES.pin_ns = state.marks
        ready, capacity = state.ready, state.capacity or None
        step = self.session.step
        loader.pending.append(
            (number, step, state.requested_ns, wait_ns, ready, capacity, samples, worker)
        )
        if not self._has_activity:
            self._has_activity = True
            self.session.note_activity()
        self._own_ns += perf_ns() - delivered_ns + state.own_ns
        self._calls += 1
        if not depth:
            self.session.batch_delivered(loader.number, delivered_ns, wait_ns, samples)

    def next_failed(self, state: IteratorState, error: BaseException) -> None:
        """Record that ``__next__`` raised: the end of the epoch, or an error."""
        time_ns = perf_ns()
        depth = self._nesting.depth - 1
        self._nesting.depth = depth
        if state.transforms is not None:
            state.transforms.end()
        if depth:
            STAGE_TIMES.fetch_ns, STAGE_TIMES.collate_ns, STAGE_TIMES.pin_ns = state.marks
        if isinstance(error, StopIteration):
            state.is_ended = True
            state.delivered = 0
            self._assign_phase(state.loader, 0)
            self._workers.update_workers()
            if not depth:
                self.session.loader_exhausted(state.loader.number, time_ns)
        elif isinstance(error, Exception):
            kind = type(error).__name__ if type(error).__module__ == "builtins" else "an error"
            reason = f"Loader {state.loader.number} failed to deliver a batch: {kind}."
            self.session.report_missing(WHAT, reason)

    def _record_work(
        self, iterator: Any, state: IteratorState, number: int, samples: int | None
    ) -> None:
        """Record the stages of a batch that was loaded in this process."""
        transform_ns = state.transforms.end() if state.transforms is not None else None
        requested_ns = state.requested_ns
        fetch_ns, collate_ns, pin_ns = (
            STAGE_TIMES.fetch_ns,
            STAGE_TIMES.collate_ns,
            STAGE_TIMES.pin_ns,
        )
        if not requested_ns <= fetch_ns <= collate_ns <= pin_ns:
            if self._has_stages:
                self._has_stages = False  # reported once; later batches may be recorded
                kind = type(iterator).__name__
                self.session.report_missing(STAGES, OTHER_ITERATOR.format(kind=kind))
            return
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

    def _assign_earlier_phases(self, requesting: LoaderState) -> None:
        """Assign the phase of delivered batches, except the last of the requesting loader."""
        if len(requesting.pending) >= PENDING:
            self._assign_phase(requesting, PENDING - 1)
        if requesting is not self._last_loader:
            self._last_loader = requesting
            for loader in self.registry.loaders:
                if loader is not requesting:
                    self._assign_phase(loader, 0)

    def _assign_phase(self, loader: LoaderState, remaining: int) -> None:
        count = max(len(loader.pending) - remaining, 0)
        for row in loader.pending[:count]:
            self._batches.append((loader.number, self.session.phase, row))
        del loader.pending[:count]

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Replace an attribute by a wrapper, to be undone by :meth:`unhook`."""
        before = getattr(owner, name)
        ours = wrap(before)
        setattr(owner, name, ours)

        def restore() -> None:
            if vars(owner).get(name) is ours:  # otherwise the program wrapped it again: leave it
                setattr(owner, name, before)

        self._restore.append(restore)


def _drain(rows: deque[Any]) -> list[Any]:
    return [rows.popleft() for _ in range(len(rows))]


def _hooks() -> LoaderHooks | None:
    """The active hooks of this process; None in a forked child."""
    hooks = _active
    return hooks if hooks is not None and hooks.pid == os.getpid() else None


def _disable(hooks: LoaderHooks, error: Exception) -> None:
    """Stop using hooks that failed."""
    global _active  # noqa: PLW0603
    _active = None
    hooks.session.report_missing(WHAT, f"The recorder failed: {type(error).__name__}: {error}")


def _wrap_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        original(self, loader, *args, **kwargs)
        hooks = _hooks()
        if hooks is not None:
            try:
                hooks.register(self, loader)
            except Exception as error:
                _disable(hooks, error)

    return init


def _wrap_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def next_batch(self: Any) -> Any:
        hooks = _hooks()
        if hooks is None:
            return original(self)
        try:
            state = hooks.before_next(self)
        except Exception as error:
            _disable(hooks, error)
            return original(self)
        try:
            batch = original(self)
        except BaseException as error:
            _call_guarded(hooks, hooks.next_failed, state, error)
            raise
        _call_guarded(hooks, hooks.after_next, self, state, batch)
        return batch

    return next_batch


def _call_guarded(hooks: LoaderHooks, call: Callable[..., None], *args: Any) -> None:
    try:
        call(*args)
    except Exception as error:
        _disable(hooks, error)
