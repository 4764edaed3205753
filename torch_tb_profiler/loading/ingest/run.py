"""Parse all files of a logdir into the cache, on this machine or on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager

from torch_tb_profiler.knowledge.user_rules import UserRules
from torch_tb_profiler.loading.ingest.job import IngestResult, Job, ingest_file, summary_key
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.processes.executors import WorkerDiedError
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile

Submit = Callable[[SpanFile], "Future[IngestResult]"]

_DIED = (
    "WorkerDiedError",
    "KilledWorker",
    "BrokenProcessPool",
    "WorkerCrashedError",
    "OutOfMemoryError",
    "NodeDiedError",
)
"""Names of executors' errors for a task whose process ended."""

_LOST = (
    "SchedulerLostError",
    "FutureCancelledError",
    "FuturesCancelledError",
    "RaySystemError",
    "LocalRayletDiedError",
)
"""The same for tasks that an executor dropped because it lost its scheduler."""


def ingest_all(
    files: Sequence[SpanFile], submit: Submit
) -> Iterator[tuple[SpanFile, IngestResult]]:
    """Ingest ``files`` and yield them in order of completion. Failures are returned, not raised."""
    futures = {submit(file): file for file in files}
    try:
        for future in as_completed(futures):
            file = futures.pop(future)
            yield file, _result(file, future)
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def on_this_machine(
    files: Sequence[SpanFile], cache: CacheFolder, workers: int | None, rules: UserRules
) -> Iterator[Submit]:
    """Parse with the cores of this machine, as many files at once as memory allows.

    All files are parsed in worker processes: this one reports progress.
    """
    parser = Parser(workers, parses_in_process=False)
    parser.announce(sum(file.state.size_bytes for file in files))

    def parse(file: SpanFile) -> IngestResult:
        try:
            return parser.ingest(file.location, file.state, cache, rules)
        finally:
            parser.announce(-file.state.size_bytes)

    pool = ThreadPoolExecutor(parser.workers, thread_name_prefix="ingest")
    try:
        yield lambda file: pool.submit(parse, file)
    finally:
        parser.close()
        pool.shutdown(cancel_futures=True)


def on_executor(executor: Executor, cache: CacheFolder, rules: UserRules) -> Submit:
    """Parse on ``executor``, whose workers must have access to the files and the cache."""
    return lambda file: executor.submit(
        ingest_file, Job(file.location, file.state, cache, rules=rules)
    )


def is_visible(file: SpanFile, cache: CacheFolder, rules: UserRules) -> bool:
    """Whether the summary of ``file`` is in the cache as this machine sees it."""
    return cache.holds(summary_key(file.location, file.state, rules))


def _result(file: SpanFile, future: Future[IngestResult]) -> IngestResult:
    try:
        return future.result()
    except Exception as error:
        name = type(error).__name__
        url = file.location.url
        if isinstance(error, WorkerDiedError) or name in _DIED:
            message = f"{url} was not parsed: its worker process died ({error})."
            hint = "If it ran out of memory, give each worker more."
            return IngestResult(problem=Problem("worker_died", message[:600], hint))
        if name in _LOST:
            message = f"{url} was not parsed: the scheduler no longer responds."
            hint = "Start it again and repeat the command: files already parsed are cached."
            return IngestResult(problem=Problem("scheduler_lost", message[:600], hint))
        message = f"{url} could not be parsed ({name}: {error})."
        hint = "Do the workers have the same version of torch-tb-profiler, and see the same files?"
        return IngestResult(problem=Problem("worker_failed", message[:600], hint))
