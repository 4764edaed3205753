"""Loaders with worker processes, seen from the process that consumes their batches."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder.clock import perf_ns
from torch_tb_profiler.recorder.loaders import worker_process
from torch_tb_profiler.recorder.loaders.loader_settings import is_iterable
from torch_tb_profiler.recorder.loaders.states import STATE_ATTRIBUTE, IteratorState
from torch_tb_profiler.recorder.options import BOOTSTRAP, VARIABLE
from torch_tb_profiler.recorder.torch_api.expectations import allows

if TYPE_CHECKING:
    from torch_tb_profiler.recorder.loaders.hooks import LoaderHooks


NOT_IMPORTABLE = (
    "A loader worker was spawned without the recorder's folder on its path: its work is not "
    "recorded."
)

_local = threading.local()
"""Per thread that starts workers: the handover for them."""


class WorkerLoop:
    """Replaces torch's worker loop; records the worker if there is a handover for it."""

    __module__ = "torch.utils.data._utils.worker"
    __name__ = __qualname__ = "_worker_loop"

    def __init__(self, original: Callable[..., Any], hooks: LoaderHooks) -> None:
        self.original = original
        self._hooks = hooks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the loop of the worker."""
        handover = getattr(_local, "handover", None)
        if handover is None:
            return self.original(*args, **kwargs)
        return worker_process.run(self.original, handover, *args, **kwargs)

    def __reduce__(self) -> Any:
        """Pickle for a spawned worker; as torch's own function if it could not import this one."""
        handover = getattr(_local, "handover", None)
        if handover is None:
            return "_worker_loop"
        if not _is_importable():
            self._hooks.session.report_missing("loader_stages", NOT_IMPORTABLE)
            return "_worker_loop"
        return worker_process.resume, (worker_process.as_dict(handover),)


class LoaderWorkers:
    """The worker processes of all loaders: their handover, which are alive, what they have
    ready."""

    def __init__(self, hooks: LoaderHooks) -> None:
        """Create without hooking anything."""
        self._hooks = hooks
        self._has_queues = False

    def start(self, replace: Callable[[Any, str, Callable[[Any], Any]], None]) -> None:
        """Hook the start of workers and the pinning of their batches.

        Args:
            replace: Replaces an attribute: owner, name, function from the original to the wrapper.
        """
        from torch.utils.data import dataloader  # noqa: PLC0415
        from torch.utils.data._utils import pin_memory, worker  # noqa: PLC0415

        session = self._hooks.session
        if not allows("loader queues", session):
            return
        self._has_queues = True
        several: Any = dataloader._MultiProcessingDataLoaderIter
        replace(several, "_reset", self._wrap_reset)
        if allows("loader workers", session):
            replace(worker, "_worker_loop", lambda original: WorkerLoop(original, self._hooks))
            replace(worker._ResumeIteration, "__init__", _wrap_resume)
        if allows("loader pinning", session):
            replace(pin_memory, "_pin_memory_loop", self._wrap_pin_loop)

    def hand_over(self, state: IteratorState) -> None:
        """Prepare the handover for the workers that this thread starts next."""
        _local.handover = worker_process.Handover(
            self._hooks.session.journal.path, state.loader.number, state.first_batch
        )

    def update_workers(self) -> None:
        """Pass the current worker processes to the session."""
        pids: dict[str, int] = {}
        for iterator, state in self._hooks.registry.live_iterators():
            if state.is_ended and not getattr(iterator, "_persistent_workers", False):
                continue
            number = state.loader.number
            for position, process in enumerate(getattr(iterator, "_workers", ())):
                loader = "loader" if number == 0 else f"loader {number}"
                if process.pid is not None:
                    pids[f"{loader} worker {position}"] = process.pid
        self._hooks.session.set_workers(pids)

    def read_queues(self, iterator: Any, state: IteratorState) -> None:
        """Store in ``state`` how many batches are ready, and the tasks of the workers."""
        if not state.delivered:
            self.update_workers()
            state.is_ended = False
        if not self._has_queues:
            return
        if not state.delivered:
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
        except NotImplementedError:  # macOS has no qsize
            state.ready = None
            return
        ready = queued + here
        state.ready = min(max(ready, 0), state.capacity)

    def batch_source(self, iterator: Any, state: IteratorState) -> tuple[int, int | None]:
        """Position of the delivered batch in its epoch, and the worker that produced it."""
        if not self._has_queues:
            return state.delivered, None
        position: int = iterator._rcvd_idx - 1
        if state.is_simple:
            task, state.task = state.task, None
            return position, None if task is None else task[0]
        tasks, state.tasks = state.tasks or {}, None
        if not iterator.__dict__.get("_in_order", True):
            completed = tasks.keys() - iterator._task_info.keys()
            position = min(completed, default=position)
        task = tasks.get(position)
        return position, None if task is None else task[0]

    def next_batch(self, iterator: Any, state: IteratorState) -> int:
        """The number after that of the last batch requested of the workers."""
        requested: int = iterator._send_idx if self._has_queues else state.delivered + 1
        return state.first_batch + requested

    def _wrap_reset(self, original: Callable[..., None]) -> Callable[..., None]:
        hooks = self._hooks

        @functools.wraps(original)
        def reset(self: Any, *args: Any, **kwargs: Any) -> None:
            state = self.__dict__.get(STATE_ATTRIBUTE)
            if state is not None and state.hooks is hooks and state.is_started:
                state.first_batch += getattr(self, "_send_idx", 0)
                state.delivered = 0
                _local.first_batch = state.first_batch
            try:
                original(self, *args, **kwargs)
            finally:
                _local.first_batch = None
            if state is not None:
                state.is_started = True

        return reset

    def _wrap_pin_loop(self, original: Callable[..., None]) -> Callable[..., None]:
        processes = self

        @functools.wraps(original)
        def pin_loop(in_queue: Any, *args: Any, **kwargs: Any) -> None:
            recorded_queue = _PinQueue(in_queue, processes._hooks)
            original(recorded_queue, *args, **kwargs)

        return pin_loop


class _PinQueue:
    """Wraps the queue of batches to pin: pinning one takes from its ``get`` until the next."""

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
        state = self._find_state()
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
            self._hooks.add_pinned(state.loader.number, row)

    def _find_state(self) -> IteratorState | None:
        if self._state is None:
            for iterator, state in self._hooks.registry.live_iterators():
                if iterator._worker_result_queue is self._queue:
                    self._state = state
        return self._state


def _wrap_resume(original: Callable[..., None]) -> Callable[..., None]:
    """Attach the number of its first batch to the message that starts an epoch."""

    @functools.wraps(original)
    def resume(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        first = getattr(_local, "first_batch", None)
        if first is not None:
            object.__setattr__(self, worker_process.FIRST_BATCH, first)

    return resume


def _is_importable() -> bool:
    """Whether a spawned process can import this package."""
    if VARIABLE not in os.environ:
        return True
    return BOOTSTRAP in os.environ.get("PYTHONPATH", "").split(os.pathsep)
