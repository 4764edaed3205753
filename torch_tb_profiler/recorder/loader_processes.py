"""Loaders with workers, seen from the process that takes their batches."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder import loader_worker
from torch_tb_profiler.recorder.clock import perf_ns
from torch_tb_profiler.recorder.loader_settings import is_iterable
from torch_tb_profiler.recorder.loader_states import KEY, IteratorState
from torch_tb_profiler.recorder.options import VARIABLE

if TYPE_CHECKING:
    from torch_tb_profiler.recorder.loaders import LoaderHooks

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")

NOT_IMPORTABLE = (
    "A process that loads data was started anew, without the folder of the recorder on its path: "
    "its work is not recorded."
)

_local = threading.local()
"""In the thread that starts processes: what they are told."""


class WorkerLoop:
    """The loop of a worker, which is recorded where somebody handed something over."""

    __module__ = "torch.utils.data._utils.worker"
    __name__ = __qualname__ = "_worker_loop"

    def __init__(self, original: Callable[..., Any], hooks: LoaderHooks) -> None:
        self.original = original
        self._hooks = hooks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the loop."""
        handover = getattr(_local, "handover", None)
        if handover is None:
            return self.original(*args, **kwargs)
        return loader_worker.run(self.original, handover, *args, **kwargs)

    def __reduce__(self) -> Any:
        """For a process that is not forked; by its name where that could not import this."""
        handover = getattr(_local, "handover", None)
        if handover is None:
            return "_worker_loop"
        if not _is_importable():
            self._hooks.session.miss("data_loading", NOT_IMPORTABLE)
            return "_worker_loop"
        return loader_worker.resume, (loader_worker.to_text(handover),)


class LoaderProcesses:
    """The workers of loaders: what they are told, which live, and what they have ready."""

    def __init__(self, hooks: LoaderHooks) -> None:
        """Nothing is hooked yet."""
        self._hooks = hooks

    def start(self, replace: Callable[[Any, str, Callable[[Any], Any]], None]) -> None:
        """Hook what starts workers and what pins their batches; ``replace`` puts hooks in."""
        from torch.utils.data import dataloader  # noqa: PLC0415
        from torch.utils.data._utils import pin_memory, worker  # noqa: PLC0415

        several: Any = dataloader._MultiProcessingDataLoaderIter
        replace(worker, "_worker_loop", lambda original: WorkerLoop(original, self._hooks))
        replace(several, "_reset", self._resetter)
        replace(worker._ResumeIteration, "__init__", _carrier)
        replace(pin_memory, "_pin_memory_loop", self._pinner)

    def hand_over(self, state: IteratorState) -> None:
        """The workers that this thread starts next are those of an iterator."""
        _local.handover = loader_worker.Handover(
            self._hooks.session.journal.path, state.loader.number, state.first_batch
        )

    def changed(self) -> None:
        """Tell the session which processes load data now."""
        found: dict[str, int] = {}
        for iterator, state in self._hooks.book.living():
            if state.is_ended and not getattr(iterator, "_persistent_workers", False):
                continue
            number = state.loader.number
            for place, process in enumerate(getattr(iterator, "_workers", ())):
                of = "loader" if number == 0 else f"loader {number}"
                if process.pid is not None:
                    found[f"{of} worker {place}"] = process.pid
        self._hooks.session.set_workers(found)

    def look(self, iterator: Any, state: IteratorState) -> None:
        """What is ready now."""
        if not state.given:
            self.changed()
            state.is_ended = False
            is_in_order = iterator.__dict__.get("_in_order", True)
            state.is_simple = is_in_order and not is_iterable(iterator)
            state.capacity = iterator._prefetch_factor * iterator._num_workers
        tasks = iterator._task_info
        if state.is_simple:
            state.task = tasks.get(iterator._rcvd_idx)
            here = len(tasks) - iterator._tasks_outstanding
        else:
            state.tasks = dict(tasks)
            here = sum(len(task) > 1 for task in tasks.values())
        try:
            queued = iterator._data_queue.qsize()
            if iterator._data_queue is not iterator._worker_result_queue:
                queued += iterator._worker_result_queue.qsize()
        except NotImplementedError:  # macOS does not count
            state.ready = None
            return
        ready = queued + here
        state.ready = min(max(ready, 0), state.capacity)

    def place(self, iterator: Any, state: IteratorState) -> tuple[int, int | None]:
        """The place of the batch that was given, in its epoch, and who made it."""
        place: int = iterator._rcvd_idx - 1
        if state.is_simple:
            task, state.task = state.task, None
            return place, None if task is None else task[0]
        tasks, state.tasks = state.tasks or {}, None
        if not iterator.__dict__.get("_in_order", True):
            gone = tasks.keys() - iterator._task_info.keys()
            place = min(gone, default=place)
        task = tasks.get(place)
        return place, None if task is None else task[0]

    def _resetter(self, original: Callable[..., None]) -> Callable[..., None]:
        hooks = self._hooks

        @functools.wraps(original)
        def reset(self: Any, *args: Any, **kwargs: Any) -> None:
            state = self.__dict__.get(KEY)
            if state is not None and state.hooks is hooks and state.is_started:
                state.first_batch += getattr(self, "_send_idx", 0)
                state.given = 0
                _local.first_batch = state.first_batch
            try:
                original(self, *args, **kwargs)
            finally:
                _local.first_batch = None
            if state is not None:
                state.is_started = True

        return reset

    def _pinner(self, original: Callable[..., None]) -> Callable[..., None]:
        processes = self

        @functools.wraps(original)
        def pin_loop(in_queue: Any, *args: Any, **kwargs: Any) -> None:
            looked_through = _PinQueue(in_queue, processes._hooks)
            original(looked_through, *args, **kwargs)

        return pin_loop


class _PinQueue:
    """The queue of batches to pin: from one being taken until the next is asked for, it is."""

    def __init__(self, queue: Any, hooks: LoaderHooks) -> None:
        self._queue = queue
        self._hooks = hooks
        self._state: IteratorState | None = None
        self._batch: int | None = None
        self._taken_ns = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        self._done()
        message = self._queue.get(*args, **kwargs)
        if isinstance(message, tuple) and message and isinstance(message[0], int):
            self._batch, self._taken_ns = message[0], perf_ns()
        return message

    def _done(self) -> None:
        batch, self._batch = self._batch, None
        if batch is None:
            return
        ended_ns = perf_ns()
        state = self._find()
        if state is not None:
            taken_ns = self._taken_ns
            row = (
                state.first_batch + batch,
                taken_ns,
                None,
                None,
                None,
                ended_ns - taken_ns,
                None,
                None,
            )
            self._hooks.pinned(state.loader.number, row)

    def _find(self) -> IteratorState | None:
        if self._state is None:
            for iterator, state in self._hooks.book.living():
                if iterator._worker_result_queue is self._queue:
                    self._state = state
        return self._state


def _carrier(original: Callable[..., None]) -> Callable[..., None]:
    """The message that starts an epoch carries the number of its first batch."""

    @functools.wraps(original)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        first = getattr(_local, "first_batch", None)
        if first is not None:
            object.__setattr__(self, loader_worker.FIRST_BATCH, first)

    return made


def _is_importable() -> bool:
    """Whether a new process finds this package: as this one did, or by the recorder's folder."""
    if VARIABLE not in os.environ:
        return True
    return BOOTSTRAP in os.environ.get("PYTHONPATH", "").split(os.pathsep)
