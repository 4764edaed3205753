"""``torch-tb-profiler ingest``: parse every trace into the cache, here or on a cluster."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack

from msgspec import Struct, field

from torch_tb_profiler.cli.exits import (
    DONE,
    INPUT_UNREADABLE,
    print_error,
    print_message,
    print_warning,
)
from torch_tb_profiler.cli.tasks import print_failure, read_options
from torch_tb_profiler.knowledge.user_rules import UserRules
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest.dask import dask_executor
from torch_tb_profiler.loading.ingest.job import IngestResult
from torch_tb_profiler.loading.ingest.ray import is_ray, ray_executor
from torch_tb_profiler.loading.ingest.run import (
    Submit,
    ingest_all,
    is_visible,
    on_executor,
    on_this_machine,
)
from torch_tb_profiler.loading.ingest.together import store_ingested_runs
from torch_tb_profiler.loading.opening.memory_budget import likely_text_bytes
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache

PROGRESS_LINES = 10
"""Number of progress lines if stderr is not a terminal."""


class _Tally(Struct):
    """Progress, as :class:`reports.progress.Progress` shows it, and results."""

    files: int
    total_bytes: int
    started_s: float = field(default_factory=time.monotonic)
    done: int = 0
    done_bytes: int = 0
    parsed_bytes: int = 0
    text_bytes: int = 0
    cached: int = 0
    failed: int = 0
    uncached: int = 0
    sent: int = 0
    unsent: int = 0

    def add(self, file: SpanFile, result: IngestResult) -> None:
        """Count a completed file."""
        self.done += 1
        self.done_bytes += file.state.size_bytes
        self.text_bytes += result.text_bytes
        self.cached += result.was_cached
        self.failed += result.problem is not None
        self.uncached += result.problem is None and not result.is_cached
        self.sent += result.was_uploaded
        self.unsent += result.is_cached and not result.is_shared
        if result.problem is None and not result.was_cached:
            self.parsed_bytes += result.text_bytes

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.started_s

    @property
    def file(self) -> str:
        """Number of completed traces, as text."""
        return f"{self.done} of {self.files} traces"

    @property
    def progress(self) -> float:
        """Completed fraction of the bytes."""
        return self.done_bytes / self.total_bytes if self.total_bytes else 1.0

    @property
    def mb_per_s(self) -> float | None:
        """Speed in decompressed text."""
        return self.text_bytes / 1e6 / self.seconds if self.seconds > 0 else None

    @property
    def eta_s(self) -> float | None:
        """Estimated seconds remaining."""
        return self.seconds * (1 / self.progress - 1) if self.progress > 0 else None

    @property
    def summary(self) -> str:
        """The result in one sentence."""
        ready = self.done - self.failed
        parts = [f"{ready} of {self.files} traces are ready"]
        if self.cached:
            parts.append(f"{self.cached} of them were cached before")
        if self.sent:
            parts.append(f"{self.sent} were uploaded to the bucket")
        if self.unsent:
            parts.append(f"{self.unsent} could not be uploaded")
        if self.failed:
            parts.append(f"{self.failed} failed")
        parsed = f"{self.parsed_bytes / 1e6:,.0f} MB parsed in {self.seconds:,.1f} s"
        return f"{', '.join(parts)}; {parsed} ({ready - self.cached} traces)."


def run(arguments: Namespace) -> int:
    """Parse every trace into the cache.

    Returns:
        0 if all are cached, 2 for bad usage (unknown run, no scheduler), 3 if a path or a trace
        cannot be read; the others are parsed nevertheless.
    """
    code = DONE
    try:
        cache = open_cache(arguments.cache_dir)
        rules = checked_rules(arguments.rules).current()
        files, problems = _discover(arguments)
        for problem in problems:
            print_error(problem.message, problem.hint)
            code = INPUT_UNREADABLE
        if not files:
            return code
        before = cache.entry_bytes()
        text_bytes = sum(likely_text_bytes(file.location, file.state) for file in files)
        for note in cache.capacity_notes(text_bytes):
            print_warning(note)
        with ExitStack() as stack:
            if arguments.scheduler:
                connect = ray_executor if is_ray(arguments.scheduler) else dask_executor
                executor = stack.enter_context(connect(arguments.scheduler))
                submit = on_executor(executor, cache, rules)
            else:
                submit = stack.enter_context(
                    on_this_machine(files, cache, arguments.workers, rules)
                )
            tally = _ingest(files, submit)
        store_ingested_runs(files, cache, rules)
    except StorageError as error:
        print_error(error.message, error.hint)
        return INPUT_UNREADABLE
    except LoadingError as error:
        return print_failure(error)
    print(tally.summary)
    for note in cache.limit_notes(before):
        print_warning(note)
    return max(code, _check_result(tally, files, cache, rules))


def _discover(arguments: Namespace) -> tuple[list[SpanFile], list[Problem]]:
    """All trace files under the paths, and the problems of paths without any.

    Raises:
        UnknownError: the requested run does not exist.
    """
    files: list[SpanFile] = []
    problems: list[Problem] = []
    runs: set[str] = set()
    options = read_options(arguments)
    for path in arguments.paths:
        root = TraceRoot(path, options=options, follows_links=arguments.follow_links)
        contents = Catalog([root], cache=None).contents()
        for note in contents.notes if contents.runs else ():
            print_warning(note)
        if contents.problem is not None:
            error = contents.problem
            problems.append(Problem.of(error))
        runs |= set(contents.runs)
        files += [file for file in contents.files() if arguments.run in (None, file.run)]
    if runs and not files:
        raise unknown("run", arguments.run, sorted(runs))
    return files, problems


def _ingest(files: Sequence[SpanFile], submit: Submit) -> _Tally:
    tally = _Tally(len(files), sum(file.state.size_bytes for file in files))
    bar, shows_bar = Progress(), sys.stderr.isatty()
    tenths = 0
    for file, result in ingest_all(files, submit):
        tally.add(file, result)
        if result.problem is not None:
            bar.wipe()
            print_error(result.problem.message, result.problem.hint)
        if shows_bar:
            bar.show(tally)
        elif tally.done * PROGRESS_LINES // tally.files > tenths and tally.done < tally.files:
            tenths = tally.done * PROGRESS_LINES // tally.files
            print_message(f"{tally.file}, {tally.progress:.0%}")
    bar.wipe()
    return tally


def _check_result(
    tally: _Tally, files: Sequence[SpanFile], cache: CacheFolder, rules: UserRules
) -> int:
    if tally.uncached:
        print_error(
            f"{tally.uncached} traces could not be cached: no space or no permission.",
            "Choose another folder with --cache-dir.",
        )
        return INPUT_UNREADABLE
    if tally.unsent:
        print_error(
            f"{tally.unsent} traces are in this machine's cache but not in the bucket.",
            "See the warnings above. Repeat the command; nothing is parsed again.",
        )
        return INPUT_UNREADABLE
    if tally.failed < tally.files and not any(is_visible(file, cache, rules) for file in files):
        print_error(
            "The workers' cache is not accessible from this machine.",
            "Choose a folder or a bucket that all of them share with --cache-dir.",
        )
        return INPUT_UNREADABLE
    return INPUT_UNREADABLE if tally.failed else DONE
