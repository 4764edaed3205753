"""``torch-tb-profiler scalars``: step metrics as scalars of TensorBoard, MLflow and W&B."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path

from torch_tb_profiler.cli.exits import DONE, INPUT_UNREADABLE, print_error, print_warning
from torch_tb_profiler.cli.scalar_targets import EventFiles, trackers_for
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.importers.recorder import WHOLE_RUN
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.reports.scalars.tracked import (
    RecordingVerdict,
    TrackedRun,
    Tracker,
    verdict_of,
)
from torch_tb_profiler.reports.scalars.values import ScalarSeries
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import DEFAULT_VIEW


def run(arguments: Namespace) -> int:
    """Write the scalars of every worker.

    Returns:
        0 if all are written, 2 for an unknown run or a tracker that fails, 3 if a trace cannot be
        read or the folder cannot be written; the others are written nevertheless.
    """
    code = DONE
    try:
        trackers = trackers_for(arguments)
        cache, rules = cache_of(arguments), checked_rules(arguments.rules)
        for path in arguments.paths:
            root = TraceRoot(
                path, options=read_options(arguments), follows_links=arguments.follow_links
            )
            catalog = Catalog([root], cache=cache, store=TraceStore(cache=cache, rules=rules))
            try:
                code = max(code, write_scalars(catalog, arguments.run, trackers))
            finally:
                catalog.store.close()
    except LoadingError as error:
        return print_failure(error)
    except OSError as error:
        print_error(f"{arguments.output} cannot be written: {error.strerror or error}")
        return INPUT_UNREADABLE
    return code


def write_scalars(
    catalog: Catalog,
    run_name: str | None,
    trackers: Sequence[Tracker],
    print_line: Callable[[str], None] = print,
) -> int:
    """Write the scalars of the workers in a catalog, and print what was written.

    Args:
        catalog: The traces.
        run_name: The only run to write; None for all.
        trackers: Where they are written.
        print_line: Called with one line per worker and tracker.

    Returns:
        The exit code.

    Raises:
        LoadingError: the traces cannot be read, there is no such run, or a tracker fails.
        OSError: the folder cannot be written.
    """
    contents = catalog.contents()
    if contents.problem is not None:
        print_error(contents.problem.message, Problem.of(contents.problem).hint)
        return INPUT_UNREADABLE
    files = [file for file in contents.files() if run_name in (None, file.run)]
    if not files:
        raise unknown("run", run_name or "", sorted(contents.runs))
    code = DONE
    missing: dict[tuple[str, str, str], int] = {}
    groups = groupby(files, key=lambda file: (file.run, file.worker))
    of_workers = {worker: list(own) for worker, own in groups}
    for tracker in trackers:
        tracker.expect(list(of_workers))
    for (run, worker), own in of_workers.items():
        series = ScalarSeries()
        # The whole run first: its timer has steps that no profiler slowed.
        spans = sorted(own, key=lambda file: file.span != WHOLE_RUN)
        for number, (file, trace) in enumerate(_opened(catalog, spans)):
            if trace is None:
                code = INPUT_UNREADABLE
                continue
            series.add(trace, number, file.recorded_s or file.state.modified_s or 0.0)
        if series.points:
            verdict = cache(partial(_verdict, catalog, spans[-1]))
            tracked = TrackedRun(run, worker, series.scalars(), verdict)
            _write(tracked, trackers, print_line)
        else:
            print_warning(f"{run}, {worker}: nothing to write.")
        for tag, reason in series.reasons().items():
            missing[run, tag, reason] = missing.get((run, tag, reason), 0) + 1
    for (run, tag, reason), count in missing.items():
        workers = "1 worker" if count == 1 else f"{count} workers"
        print_warning(f"{run}, {workers}: no {tag}: {reason.rstrip('.')}.")
    return code


def write_run(folder: str, output: str, print_line: Callable[[str], None]) -> int:
    """Write the scalars of a run that was just recorded, without using the cache.

    Args:
        folder: Folder of the run.
        output: TensorBoard's logdir.
        print_line: Called with one line per file.

    Returns:
        The exit code; errors are printed on stderr.
    """
    catalog = Catalog([TraceRoot(folder)], cache=None)
    try:
        return write_scalars(catalog, None, [EventFiles(Path(output))], print_line)
    except LoadingError as error:
        return print_failure(error)
    except OSError as error:
        print_error(f"{output} cannot be written: {error.strerror or error}")
        return INPUT_UNREADABLE
    finally:
        catalog.store.close()


def _opened(catalog: Catalog, files: list[SpanFile]) -> Iterator[tuple[SpanFile, Trace | None]]:
    """Each file with its trace; None for one that cannot be read, with an error on stderr."""
    for file in files:
        progress = Progress()
        try:
            (trace,) = when_ready(
                lambda wait_s, file=file: open_traces(catalog, [file], wait_s),  # type: ignore[misc]
                progress.show,
            )
        except LoadingError as error:
            print_failure(error)
            yield file, None
        else:
            yield file, trace
        finally:
            progress.wipe()


def _verdict(catalog: Catalog, file: SpanFile) -> RecordingVerdict:
    """The verdict on a recording, or why there is none."""
    request = ViewRequest(DEFAULT_VIEW, Subject(file.run, file.worker, file.span))
    progress = Progress()
    try:
        result = when_ready(
            lambda wait_s: view_result(catalog, request, wait_s=wait_s), progress.show
        )
    except LoadingError as error:
        return RecordingVerdict(f"No verdict: {error.problem.message}")
    finally:
        progress.wipe()
    return verdict_of(result.view)


def _write(
    tracked: TrackedRun, trackers: Sequence[Tracker], print_line: Callable[[str], None]
) -> None:
    curves = len({scalar.tag for scalar in tracked.scalars})
    for tracker in trackers:
        where = tracker.log(tracked)
        print_line(f"{where}: {len(tracked.scalars):,} values in {curves} curves")
