"""A process that loads data, recorded: its batches go to the journal of its rank.

``torch``'s own loop of a worker runs as it is; its two queues are looked through, and fetchers note
when they collate (:mod:`.loader_marks`). So nothing of the program passes through a frame of ours
but its transforms, and those frames are taken out of tracebacks again.
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
from torch_tb_profiler.recorder.journal import append_to
from torch_tb_profiler.recorder.loader_marks import MARKS, note_collate
from torch_tb_profiler.recorder.loader_transforms import TransformClock

FLUSH_NS = 500_000_000
MAX_ROWS = 256
"""A worker that is killed loses so much."""

FIRST_BATCH = "torch_tb_profiler_first_batch"
"""What the message that starts the next epoch of a worker carries besides."""

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
"""The columns of a block ``work``."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Handover:
    """What a worker is told.

    Attributes:
        journal: Path of the journal.
        loader: Number of the loader.
        first_batch: Number of the first batch of this epoch.
    """

    journal: str
    loader: int
    first_batch: int


def work_block(
    loader: int, worker: int | None, rows: list[tuple[int | None, ...]]
) -> dict[str, Any]:
    """A block of the journal; ``rows`` hold the values of :data:`COLUMNS`."""
    columns = zip(*rows, strict=True)
    return {
        "kind": "work",
        "loader": loader,
        "worker": worker,
        "pid": os.getpid(),
        **dict(zip(COLUMNS, map(list, columns), strict=True)),
    }


class WorkerLog:
    """The batches of one worker."""

    def __init__(self, handover: Handover, worker: int, dataset: Any) -> None:
        """Nothing was made yet."""
        self._handover = handover
        self._worker = worker
        self._first = handover.first_batch
        self._transforms = TransformClock(dataset)
        self._rows: list[tuple[int | None, ...]] = []
        self._flushed_ns = perf_ns()
        self._batch: int | None = None
        self._start_ns = 0
        self._samples: int | None = None
        self._is_off = False

    def asked(self, message: Any) -> None:
        """A message of the main process arrived."""
        if not self._is_off:
            self._guard(self._asked, message)

    def made(self) -> None:
        """An answer is about to be sent."""
        if not self._is_off:
            self._guard(self._made)

    def flush(self) -> None:
        """Write what was gathered."""
        if self._rows:
            rows, self._rows = self._rows, []
            append_to(self._handover.journal, work_block(self._handover.loader, self._worker, rows))
        self._flushed_ns = perf_ns()

    def _asked(self, message: Any) -> None:
        if message is None:
            self.flush()
        elif isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], int):
            self._batch, index = message
            self._samples = len(index) if isinstance(index, list) and index[:1] != [None] else None
            self._transforms.begin()
            MARKS.collate_ns = 0
            self._start_ns = perf_ns()
        else:
            self._first = getattr(message, FIRST_BATCH, self._first)

    def _made(self) -> None:
        ended_ns = perf_ns()
        if self._batch is None:
            return
        transform_ns = self._transforms.end()
        batch, self._batch = self._batch, None
        collate_ns = MARKS.collate_ns
        if collate_ns < self._start_ns:  # it failed, or there is no more
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
        except Exception:  # the worker is the program's: it loads on
            self._is_off = True


class _Queue:
    """A queue of a worker, looked through."""

    def __init__(self, queue: Any, log: WorkerLog) -> None:
        self._queue = queue
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        message = self._queue.get(*args, **kwargs)
        self._log.asked(message)
        return message

    def put(self, message: Any, *args: Any, **kwargs: Any) -> Any:
        self._log.made()
        return self._queue.put(message, *args, **kwargs)


def run(original: Callable[..., Any], handover: Handover, *args: Any, **kwargs: Any) -> Any:
    """The loop of a worker, recorded as far as its arguments are those that are known."""
    session.end("a process that loads data")  # its batches belong to the journal of its rank
    log = None
    try:
        bound = inspect.signature(original).bind(*args, **kwargs)
        given = bound.arguments
        log = WorkerLog(handover, int(given["worker_id"]), given["dataset"])
        given["index_queue"] = _Queue(given["index_queue"], log)
        given["data_queue"] = _Queue(given["data_queue"], log)
        note_collate()
        _hide_frames()
        args, kwargs = bound.args, bound.kwargs
    except Exception:
        log = None
    try:
        return original(*args, **kwargs)
    finally:
        if log is not None:
            log.flush()


def resume(handover: dict[str, Any]) -> Callable[..., Any]:
    """The loop of a worker that was started as a new process."""
    from torch.utils.data._utils import worker  # noqa: PLC0415

    loop: Any = worker._worker_loop
    return functools.partial(run, getattr(loop, "original", loop), Handover(**handover))


def to_text(handover: Handover) -> dict[str, Any]:
    """What :func:`resume` reads."""
    return asdict(handover)


def _hide_frames() -> None:
    """What a failed transform tells the program shows the program's own frames only."""
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
