"""Recording inside a loader worker; its batches go to the journal of its rank.

torch's own worker loop runs unchanged with its two queues wrapped, and fetchers record when they
collate (:mod:`.stage_times`). Only transforms of the program are called through a frame of the
recorder, and those frames are removed from tracebacks.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from torch_tb_profiler.recorder import session
from torch_tb_profiler.recorder.clock import perf_ns, to_unix
from torch_tb_profiler.recorder.loaders.stage_times import STAGE_TIMES, time_collate
from torch_tb_profiler.recorder.loaders.transforms import TransformTimer
from torch_tb_profiler.recorder.run_folder.journal import append_to

FLUSH_NS = 500_000_000
MAX_ROWS = 256
"""Rows buffered before writing: a killed worker loses at most these."""

DATASET_HOLDER = "dataset_holder"
"""Parameter of the loop, since torch 2.14: a list of the dataset, which the loop empties. Before it
takes the dataset itself."""

FIRST_BATCH = "torch_tb_profiler_first_batch"
"""Attribute added to the message that starts the next epoch of a worker."""

COLUMNS = (
    "batch",
    "start_ns",
    "fetch_ns",
    "transform_ns",
    "collate_ns",
    "pin_ns",
    "transfer_ns",
    "samples",
)
"""Columns of a ``work`` block."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Handover:
    """What a worker gets from the training process.

    Attributes:
        journal: Path of the journal.
        loader: Index of the loader.
        first_batch: Number of the first batch of this epoch.
    """

    journal: str
    loader: int
    first_batch: int


def work_block(
    loader: int, worker: int | None, rows: list[tuple[int | None, ...]]
) -> dict[str, Any]:
    """A ``work`` block of the journal.

    Args:
        loader: Index of the loader.
        worker: Index of the worker; None for the training process.
        rows: Values of :data:`COLUMNS` per batch.
    """
    columns = zip(*rows, strict=True)
    return {
        "kind": "work",
        "loader": loader,
        "worker": worker,
        "pid": os.getpid(),
        **dict(zip(COLUMNS, map(list, columns), strict=True)),
    }


def report_failure(handover: Handover, error: Exception) -> None:
    """Write to the journal that a worker is not recorded."""
    reason = f"The recorder failed in a loader worker: {type(error).__name__}: {error}"
    append_to(handover.journal, {"kind": "missing", "what": "loader_stages", "reason": reason})


class WorkerLog:
    """The batches of one worker."""

    def __init__(self, handover: Handover, worker: int, dataset: Any) -> None:
        """Create an empty log for a worker and its dataset."""
        self._handover = handover
        self._worker = worker
        self._first = handover.first_batch
        self._transforms = TransformTimer(dataset)
        self._rows: list[tuple[int | None, ...]] = []
        self._flushed_ns = perf_ns()
        self._batch: int | None = None
        self._start_ns = 0
        self._samples: int | None = None
        self._is_off = False

    def request_received(self, message: Any) -> None:
        """A message of the training process arrived: the next task, or the next epoch."""
        if not self._is_off:
            self._guard(self._request_received, message)

    def result_ready(self) -> None:
        """A result is about to be sent."""
        if not self._is_off:
            self._guard(self._result_ready)

    def flush(self) -> None:
        """Write the buffered rows to the journal."""
        if self._rows:
            rows, self._rows = self._rows, []
            append_to(self._handover.journal, work_block(self._handover.loader, self._worker, rows))
        self._flushed_ns = perf_ns()

    def _request_received(self, message: Any) -> None:
        if message is None:
            self.flush()
        elif isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], int):
            self._batch, index = message
            self._samples = len(index) if isinstance(index, list) and index[:1] != [None] else None
            self._transforms.begin()
            STAGE_TIMES.collate_ns = 0
            self._start_ns = perf_ns()
        else:
            self._first = getattr(message, FIRST_BATCH, self._first)

    def _result_ready(self) -> None:
        ended_ns = perf_ns()
        if self._batch is None:
            return
        transform_ns = self._transforms.end()
        batch, self._batch = self._batch, None
        collate_ns = STAGE_TIMES.collate_ns
        if collate_ns < self._start_ns:  # fetching failed, or the dataset is exhausted
            return
        self._rows.append(
            (
                self._first + batch,
                to_unix(self._start_ns),
                collate_ns - self._start_ns - (transform_ns or 0),
                transform_ns,
                ended_ns - collate_ns,
                None,
                None,
                self._samples,
            )
        )
        if ended_ns - self._flushed_ns > FLUSH_NS or len(self._rows) >= MAX_ROWS:
            self.flush()

    def _guard(self, call: Callable[..., None], *args: Any) -> None:
        try:
            call(*args)
        except Exception as error:  # the worker continues unrecorded
            self._is_off = True
            report_failure(self._handover, error)


class _Queue:
    """Wraps a queue of a worker and passes its messages to the log."""

    def __init__(self, queue: Any, log: WorkerLog) -> None:
        self._queue = queue
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        message = self._queue.get(*args, **kwargs)
        self._log.request_received(message)
        return message

    def put(self, message: Any, *args: Any, **kwargs: Any) -> Any:
        self._log.result_ready()
        return self._queue.put(message, *args, **kwargs)


def run(original: Callable[..., Any], handover: Handover, *args: Any, **kwargs: Any) -> Any:
    """Run the loop of a worker, recorded if its arguments are the expected ones."""
    session.end("a process that loads data")  # a worker writes to the journal of its rank
    log = None
    try:
        bound = inspect.signature(original).bind(*args, **kwargs)
        delivered = bound.arguments
        holder = delivered.get(DATASET_HOLDER)  # the loop takes it out: keep no reference to it
        dataset = delivered["dataset"] if holder is None else holder[0]
        log = WorkerLog(handover, int(delivered["worker_id"]), dataset)
        del dataset
        delivered["index_queue"] = _Queue(delivered["index_queue"], log)
        delivered["data_queue"] = _Queue(delivered["data_queue"], log)
        time_collate()
        _hide_frames()
        args, kwargs = bound.args, bound.kwargs
    except Exception as error:
        log = None
        report_failure(handover, error)
    try:
        return original(*args, **kwargs)
    finally:
        if log is not None:
            log.flush()


def resume(handover: dict[str, Any]) -> Callable[..., Any]:
    """The recorded loop of a spawned worker; unpickled there."""
    from torch.utils.data._utils import worker  # noqa: PLC0415

    loop: Any = worker._worker_loop
    return functools.partial(run, getattr(loop, "original", loop), Handover(**handover))


def as_dict(handover: Handover) -> dict[str, Any]:
    """The handover as the argument of :func:`resume`."""
    return asdict(handover)


def _hide_frames() -> None:
    """Remove frames of the recorder from the tracebacks that a worker sends."""
    from torch.utils.data._utils import worker  # noqa: PLC0415

    real = worker.ExceptionWrapper

    @functools.wraps(real, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        traceback = sys.exc_info()[2]
        while traceback is not None:
            inner = traceback.tb_next
            while inner is not None and _is_ours(inner.tb_frame.f_code.co_filename):
                inner = inner.tb_next
            traceback.tb_next = inner
            traceback = inner
        return real(*args, **kwargs)

    worker.ExceptionWrapper = wrapped


def _is_ours(path: str) -> bool:
    return os.path.dirname(path) == _FOLDER
