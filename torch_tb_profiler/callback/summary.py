"""What a training learns of its recording: verdict and points, computed in a process of its own, so
that neither memory nor a crash of the analysis is the training's."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError

from msgspec import Struct

from torch_tb_profiler.importers.recorder import WHOLE_RUN
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.processes.executors import LocalExecutor, WorkerDiedError
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.reports.scalars.tracked import RecordingVerdict, verdict_of
from torch_tb_profiler.reports.scalars.values import Scalar, ScalarSeries
from torch_tb_profiler.requests.errors import LoadingError, OpenError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.views.registry import DEFAULT_VIEW

TIME_LIMIT_S = 120.0
MAX_STEPS = 500
"""That are logged: a logger that is asked once a step must not hold up the end of a training."""


class RecordingSummary(Struct, frozen=True):
    """A recording of one worker.

    Attributes:
        verdict: The verdict on its last window, or on the steps if there is none.
        scalars: Points of at most :data:`MAX_STEPS` steps.
        steps: How many steps have points.
    """

    verdict: RecordingVerdict
    scalars: tuple[Scalar, ...]
    steps: int

    @property
    def shown_steps(self) -> int:
        """How many steps have points in ``scalars``."""
        return len({each.step for each in self.scalars})


def summarize_apart(folder: str, worker: str, limit_s: float = TIME_LIMIT_S) -> RecordingSummary:
    """:func:`summarize` in a process of its own.

    Args:
        folder: Folder of the recording.
        worker: Name of the worker.
        limit_s: Seconds that it may take.

    Raises:
        LoadingError: the recording cannot be read, or the process ended or took too long.
    """
    executor = LocalExecutor(1)
    answer: RecordingSummary | str
    try:
        answer = executor.submit(_summary_or_reason, folder, worker).result(limit_s)
    except FutureTimeoutError:
        answer = f"The analysis took more than {limit_s:g} s."
    except WorkerDiedError as error:
        answer = f"The process of the analysis ended: {error}."
    finally:
        executor.shutdown(wait=False)
    if isinstance(answer, str):
        raise OpenError("not_analyzed", answer)
    return answer


def summarize(folder: str, worker: str) -> RecordingSummary:
    """Open what was recorded of a worker.

    Raises:
        LoadingError: it cannot be read, or there is nothing.
    """
    try:
        cache = open_cache(None)
    except StorageError:
        cache = None
    catalog = Catalog([TraceRoot(folder)], cache=cache, store=TraceStore(cache=cache))
    try:
        files = [each for each in catalog.contents().files() if each.worker == worker]
        if not files:
            raise OpenError("no_recording", f"{folder} holds no recording of {worker}.")
        # The whole run first: its timer has steps that no profiler slowed.
        files.sort(key=lambda file: file.span != WHOLE_RUN)
        series = ScalarSeries()
        for number, file in enumerate(files):
            (trace,) = when_ready(
                lambda wait_s, file=file: open_traces(catalog, [file], wait_s),  # type: ignore[misc]
                _ignore,
            )
            series.add(trace, number, file.recorded_s or file.state.modified_s or 0.0)
        scalars = series.scalars()
        steps = sorted({each.step for each in scalars})
        shown = set(evenly(steps, MAX_STEPS))
        retained = tuple(each for each in scalars if each.step in shown)
        return RecordingSummary(_verdict(catalog, files[-1]), retained, len(steps))
    finally:
        catalog.store.close()


def window_verdict(folder: str, worker: str) -> RecordingVerdict:
    """The verdict on the last window of a worker that is still recorded. Nothing is cached, as the
    end of the recording changes the file.

    Raises:
        LoadingError: there is no window.
    """
    catalog = Catalog([TraceRoot(folder)], cache=None, store=TraceStore(cache=None))
    try:
        files = [each for each in catalog.contents().files() if each.worker == worker]
        windows = [each for each in files if each.span != WHOLE_RUN]
        if not windows:
            raise OpenError("no_recording", f"{folder} holds no window of {worker}.")
        return _verdict(catalog, windows[-1])
    finally:
        catalog.store.close()


def evenly(steps: Sequence[int], count: int) -> list[int]:
    """At most ``count`` of ``steps``, evenly spaced, the first and the last among them."""
    if len(steps) <= count:
        return list(steps)
    return [steps[round(at * (len(steps) - 1) / (count - 1))] for at in range(count)]


def _summary_or_reason(folder: str, worker: str) -> RecordingSummary | str:
    try:
        return summarize(folder, worker)
    except LoadingError as error:  # it cannot travel to another process
        return error.problem.message


def _verdict(catalog: Catalog, file: SpanFile) -> RecordingVerdict:
    request = ViewRequest(DEFAULT_VIEW, Subject(file.run, file.worker, file.span))
    try:
        result = when_ready(lambda wait_s: view_result(catalog, request, wait_s=wait_s), _ignore)
    except LoadingError as error:
        return RecordingVerdict(f"No verdict: {error.problem.message}")
    return verdict_of(result.view)


def _ignore(_status: SpanStatus) -> None:
    """A training shows its own progress."""
