"""``torch-tb-profiler scalars``: measures of steps for TensorBoard's scalars."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from torch_tb_profiler.cli.exits import DONE, INPUT_UNREADABLE, tell_error, tell_warning
from torch_tb_profiler.cli.tasks import cache_of, options_of, tell_failure
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.reports.scalars.files import folder_of, write_events
from torch_tb_profiler.reports.scalars.values import Told
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace


def run(arguments: Namespace) -> int:
    """Write the scalars of every worker found.

    Returns:
        0 when all are written, 2 for a run that is not there, 3 when a trace cannot be read, or the
        folder not be written; the others are written all the same.
    """
    code = DONE
    try:
        cache = cache_of(arguments)
        for path in arguments.paths:
            place = TraceRoot(
                path, options=options_of(arguments), follows_links=arguments.follow_links
            )
            catalog = Catalog([place], cache=cache)
            try:
                code = max(code, write_scalars(catalog, arguments.run, Path(arguments.output)))
            finally:
                catalog.store.close()
    except LoadingError as error:
        return tell_failure(error)
    except OSError as error:
        tell_error(f"{arguments.output} cannot be written: {error.strerror or error}")
        return INPUT_UNREADABLE
    return code


def write_scalars(
    catalog: Catalog, run_name: str | None, output: Path, say: Callable[[str], None] = print
) -> int:
    """Write the scalars of the workers of a place, and say what was written.

    Args:
        catalog: The place.
        run_name: The only run to write; None for all.
        output: The folder of TensorBoard.
        say: Told a line per file.

    Returns:
        The exit code.

    Raises:
        LoadingError: the place cannot be read, or has no such run.
        OSError: the folder cannot be written.
    """
    contents = catalog.contents()
    if contents.problem is not None:
        tell_error(contents.problem.message, Problem.of(contents.problem).hint)
        return INPUT_UNREADABLE
    files = [file for file in contents.files() if run_name in (None, file.run)]
    if not files:
        raise unknown("run", run_name or "", sorted(contents.runs))
    code = DONE
    missing: dict[tuple[str, str, str], int] = {}
    for (run, worker), own in groupby(files, key=lambda file: (file.run, file.worker)):
        told = Told()
        # The whole run first: its timer tells of steps that no profiler slowed.
        spans = sorted(own, key=lambda file: file.span != "default")
        for number, (file, trace) in enumerate(_opened(catalog, spans)):
            if trace is None:
                code = INPUT_UNREADABLE
                continue
            told.add(trace, number, file.recorded_s or file.state.modified_s or 0.0)
        _write(told, folder_of(output, run, worker), say)
        for tag, reason in told.reasons().items():
            missing[run, tag, reason] = missing.get((run, tag, reason), 0) + 1
    for (run, tag, reason), count in missing.items():
        workers = "1 worker" if count == 1 else f"{count} workers"
        tell_warning(f"{run}, {workers}: no {tag}: {reason.rstrip('.')}.")
    return code


def write_run(folder: str, output: str, say: Callable[[str], None]) -> int:
    """Write the scalars of a run that was just recorded; nothing is kept in the cache.

    Args:
        folder: Of the run.
        output: The folder of TensorBoard.
        say: Told what was written, a line each.

    Returns:
        The exit code; errors are told on stderr.
    """
    catalog = Catalog([TraceRoot(folder)], cache=None)
    try:
        return write_scalars(catalog, None, Path(output), say)
    except LoadingError as error:
        return tell_failure(error)
    except OSError as error:
        tell_error(f"{output} cannot be written: {error.strerror or error}")
        return INPUT_UNREADABLE
    finally:
        catalog.store.close()


def _opened(catalog: Catalog, files: list[SpanFile]) -> Iterator[tuple[SpanFile, Trace | None]]:
    """Each file with its trace; None, told of, for one that cannot be read."""
    for file in files:
        progress = Progress()
        try:
            (trace,) = when_ready(
                lambda wait_s, file=file: open_traces(catalog, [file], wait_s),  # type: ignore[misc]
                progress.show,
            )
        except LoadingError as error:
            tell_failure(error)
            yield file, None
        else:
            yield file, trace
        finally:
            progress.wipe()


def _write(told: Told, folder: Path, say: Callable[[str], None]) -> None:
    scalars = told.scalars()
    if not scalars:
        tell_warning(f"{folder}: nothing to write.")
        return
    path = write_events(folder, scalars)
    curves = len({scalar.tag for scalar in scalars})
    say(f"{path}: {len(scalars):,} values in {curves} curves")
