"""``torch-tb-profiler scalars``: step metrics as TensorBoard scalars."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from torch_tb_profiler.cli.exits import DONE, INPUT_UNREADABLE, print_error, print_warning
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.reports.scalars.files import folders_of, write_events
from torch_tb_profiler.reports.scalars.values import ScalarSeries
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace


def run(arguments: Namespace) -> int:
    """Write the scalars of every worker.

    Returns:
        0 if all are written, 2 for an unknown run, 3 if a trace cannot be read or the folder cannot
        be written; the others are written nevertheless.
    """
    code = DONE
    try:
        cache, rules = cache_of(arguments), checked_rules(arguments.rules)
        for path in arguments.paths:
            root = TraceRoot(
                path, options=read_options(arguments), follows_links=arguments.follow_links
            )
            catalog = Catalog([root], cache=cache, store=TraceStore(cache=cache, rules=rules))
            try:
                code = max(code, write_scalars(catalog, arguments.run, Path(arguments.output)))
            finally:
                catalog.store.close()
    except LoadingError as error:
        return print_failure(error)
    except OSError as error:
        print_error(f"{arguments.output} cannot be written: {error.strerror or error}")
        return INPUT_UNREADABLE
    return code


def write_scalars(
    catalog: Catalog, run_name: str | None, output: Path, print_line: Callable[[str], None] = print
) -> int:
    """Write the scalars of the workers in a catalog, and print what was written.

    Args:
        catalog: The traces.
        run_name: The only run to write; None for all.
        output: TensorBoard's logdir.
        print_line: Called with one line per file.

    Returns:
        The exit code.

    Raises:
        LoadingError: the traces cannot be read, or there is no such run.
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
    folders = folders_of(output, list(of_workers))
    for folder, ((run, _), own) in zip(folders, of_workers.items(), strict=True):
        series = ScalarSeries()
        # The whole run first: its timer has steps that no profiler slowed.
        spans = sorted(own, key=lambda file: file.span != "default")
        for number, (file, trace) in enumerate(_opened(catalog, spans)):
            if trace is None:
                code = INPUT_UNREADABLE
                continue
            series.add(trace, number, file.recorded_s or file.state.modified_s or 0.0)
        _write(series, folder, print_line)
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
        return write_scalars(catalog, None, Path(output), print_line)
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


def _write(series: ScalarSeries, folder: Path, print_line: Callable[[str], None]) -> None:
    scalars = series.scalars()
    if not scalars:
        print_warning(f"{folder}: nothing to write.")
        return
    path = write_events(folder, scalars)
    curves = len({scalar.tag for scalar in scalars})
    print_line(f"{path}: {len(scalars):,} values in {curves} curves")
