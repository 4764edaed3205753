"""The catalog of a logdir, kept up to date: runs, workers and spans by name, with their states.

Nothing runs without requests. A request that finds the last scan too old starts the next one in the
background and is answered from the known contents; only the first answer may wait for it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.importers import ReadOptions, RecordingPart
from torch_tb_profiler.loading.roots import RESCAN_S, Outage, TraceRoot, WatchedRoot
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.requests.errors import OpenError, UnknownError, unknown
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.names import DistinctNames
from torch_tb_profiler.storage.skipped_files import MAX_LISTED, NOT_A_TRACE, SkippedFile

__all__ = ["Catalog", "Contents", "Outage", "TraceRoot"]

RETRY_UNKNOWN_S = 1.0
"""An unknown name may be new: scan again, but not for every such request."""

T = TypeVar("T")
Spans = dict[str, SpanFile]
Runs = dict[str, dict[str, Spans]]


class Contents(Struct, frozen=True):
    """The contents of all roots, each as of its last successful scan.

    Attributes:
        runs: Run → worker → span → file, each in display order.
        notes: Sentences about skipped files.
        skipped: Skipped files, as far as they are listed.
        skipped_counts: Reason → number of skipped files.
        problem: Why there are no traces at all; None when there are some.
    """

    runs: Runs = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    skipped_counts: Mapping[str, int] = field(default_factory=dict)
    problem: StorageError | None = None

    def files(self) -> list[SpanFile]:
        """Every file, in order."""
        return [
            file
            for workers in self.runs.values()
            for spans in workers.values()
            for file in spans.values()
        ]


class Catalog:
    """The runs of one or more roots, and the open traces."""

    def __init__(
        self,
        roots: Sequence[TraceRoot],
        *,
        cache: CacheFolder | None,
        store: TraceStore | None = None,
        rescan_s: float = RESCAN_S,
    ) -> None:
        self.roots = tuple(roots)
        self.store = store if store is not None else TraceStore(cache=cache)
        self._contents = Contents()
        self._lock = threading.Lock()
        self._variants: dict[str, str] = {}
        self._watched = [WatchedRoot(root, rescan_s, self._merge) for root in self.roots]

    @property
    def discovering(self) -> bool:
        """True until the first scan of every root is complete."""
        return not all(watched.was_scanned for watched in self._watched)

    @property
    def outages(self) -> list[Outage]:
        """The roots that do not respond; runs that were discovered before remain known."""
        return [outage for watched in self._watched if (outage := watched.outage)]

    def contents(self, wait_s: float | None = None) -> Contents:
        """The contents as known now; starts a scan of each root that is due.

        Args:
            wait_s: How long to wait for the first scans; None for as long as they take.
        """
        for watched in self._watched:
            if wait_s is None:
                watched.wait_for_all()
            watched.scan_if_due()
        _wait([(watched, 1) for watched in self._watched], wait_s)
        return self._contents

    def refresh(self) -> Contents:
        """Scan now, whenever the last scan was, and return the contents."""
        _wait([(watched, watched.scan()) for watched in self._watched], None)
        return self._contents

    def problem_of(self, root: TraceRoot) -> StorageError | None:
        """Why nothing is known of a root; None when something is."""
        return next(watched.problem for watched in self._watched if watched.root == root)

    def file(
        self,
        run: str | None,
        worker: str | None,
        span: str | None,
        *,
        wait_s: float | None = None,
    ) -> SpanFile:
        """The file of a run, worker and span; None or empty selects the first one.

        Args:
            run: Name of the run.
            worker: Name of the worker.
            span: Name of the span.
            wait_s: How long to wait for a scan; None for as long as it takes.

        Raises:
            UnknownError: nothing has that name.
            OpenError: the roots hold no trace at all.
            NotReadyError: the first scan is not complete in time.
        """
        _, workers = self._run(run, wait_s)
        if not worker and "" not in workers:
            return next(iter(self.workers(run, span, wait_s=wait_s).values()))
        spans = _pick("worker", worker, workers)[1]
        return _pick("span", span, spans)[1]

    def workers(
        self, run: str | None, span: str | None, *, wait_s: float | None = None
    ) -> dict[str, SpanFile]:
        """Worker → file of a span, for every worker that has it.

        Raises:
            UnknownError, OpenError, NotReadyError: as :meth:`file`.
        """
        _, workers = self._run(run, wait_s)
        known = {name: None for spans in workers.values() for name in spans}
        chosen = _pick("span", span, known)[0]
        return {worker: spans[chosen] for worker, spans in workers.items() if chosen in spans}

    def open_skipped(self, name: str, wait_s: float | None = None) -> SpanFile:
        """The span of a skipped file, which counts as a trace from now on.

        Args:
            name: Its path as listed; only listed files can be opened.
            wait_s: How long to wait for a scan; None for as long as it takes.

        Raises:
            UnknownError: no skipped file has that name, or it no longer exists.
            NotReadyError: the scan is not complete in time.
        """
        contents = self.contents(wait_s)
        by_path = {file.path: file for file in contents.files()}
        if name in by_path:
            return by_path[name]
        is_single = len(self._watched) == 1
        for watched in self._watched:
            prefix = "" if is_single else f"{watched.shown_name}/"
            if not name.startswith(prefix) or not watched.select_file(name.removeprefix(prefix)):
                continue
            is_over = watched.wait(watched.scan(), wait_s)
            by_path = {file.path: file for file in self._contents.files()}
            if name in by_path:
                return by_path[name]
            if not is_over:
                raise NotReadyError(SpanStatus("", name, None, 0, "queued"))
        raise unknown("file", name, [each.name for each in contents.skipped if each.can_open])

    def read_part(self, file: SpanFile, part: RecordingPart | None) -> SpanFile:
        """Read only a part of a file from now on; None for all of it."""
        return self._read_with(file, part=part)

    def read_arguments(self, file: SpanFile, names: tuple[str, ...]) -> SpanFile:
        """Read these arguments of the slices of a file from now on, besides what columns model."""
        return self._read_with(file, arguments=names)

    def _read_with(self, file: SpanFile, **options: Any) -> SpanFile:
        url = file.location.url
        current = ReadOptions.from_variant(file.location.variant)
        with self._lock:
            self._variants[url] = replace(current, **options).variant
        self._merge()
        return next(each for each in self._contents.files() if each.location.url == url)

    def statuses(self) -> list[tuple[str, str, SpanStatus]]:
        """Run, worker and status of every span known now."""
        contents = self.contents(0)
        return [(file.run, file.worker, self.store.status(file)) for file in contents.files()]

    def _run(self, run: str | None, wait_s: float | None) -> tuple[str, dict[str, Spans]]:
        contents = self.contents(wait_s)
        if run and run not in contents.runs:
            aged = [each for each in self._watched if each.outage is None]
            aged = [each for each in aged if each.age_s > RETRY_UNKNOWN_S and each.was_scanned]
            _wait([(each, each.scan()) for each in aged], wait_s)
            contents = self._contents
        if self.discovering and (not contents.runs or (run and run not in contents.runs)):
            raise NotReadyError(SpanStatus("", "", None, 0, "queued"))
        if not contents.runs:
            problem = contents.problem or StorageError("no_traces", "There is no trace.")
            raise OpenError.of(problem)
        return _pick("run", run, contents.runs)

    def _merge(self) -> None:
        """Merge the contents of the roots; called after each scan, in its thread."""
        with self._lock:
            contents = _merged(self._watched, self._variants)
            self.store.retain_only(contents.files())
            self._contents = contents


def _wait(scans: Iterable[tuple[WatchedRoot, int]], wait_s: float | None) -> None:
    deadline_s = None if wait_s is None else time.monotonic() + wait_s
    for watched, number in scans:
        remaining_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
        watched.wait(number, remaining_s)


def _pick(kind: str, name: str | None, known: Mapping[str, T]) -> tuple[str, T]:
    """The element of ``known`` named ``name``; for None and empty the one with an empty name (a
    file ``.pt.trace.json``), else the first."""
    if not known:
        raise UnknownError(f"unknown_{kind}", f"There is no {kind}.")
    if not name:
        return ("", known[""]) if "" in known else next(iter(known.items()))
    if name not in known:
        raise unknown(kind, name, known)
    return name, known[name]


def _merged(watched: Sequence[WatchedRoot], variants: Mapping[str, str]) -> Contents:
    """The contents of all roots.

    Args:
        watched: The roots.
        variants: How some files are read, by their URL.
    """
    runs: Runs = {}
    notes: list[str] = []
    problem: StorageError | None = None
    unfinished: list[str] = []
    undecided = 0
    skipped: list[SkippedFile] = []
    counts: Counter[str] = Counter()
    is_single, distinct = len(watched) == 1, DistinctNames()
    for each in watched:
        result, problem = each.result, each.problem or problem
        discovery = result.discovery
        if discovery is None:
            notes += [] if result.problem is None else [result.problem.message]
            continue
        notes.extend(discovery.skipped.sentences)
        unfinished.extend(discovery.unfinished)
        undecided += discovery.undecided
        counts += discovery.skipped.counts
        prefix = "" if is_single else f"{each.shown_name}/"
        listed = discovery.skipped.listed
        skipped += [replace(one, name=f"{prefix}{one.name}") for one in listed]
        for file in discovery.files:
            shown = _shown(file, each.shown_name, runs, distinct, is_single=is_single)
            variant = variants.get(shown.location.url)
            if variant is not None:
                shown = replace(shown, location=replace(shown.location, variant=variant))
            runs.setdefault(shown.run, {}).setdefault(shown.worker, {})[shown.span] = shown
    if unfinished:
        more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        notes.append(f"Being written, shown when complete: {unfinished[0]}{more}.")
    if undecided:
        notes.append(f"Not inspected yet, shown if they are traces: {undecided} files.")
    skipped.sort(key=lambda one: one.reason == NOT_A_TRACE)
    return Contents(
        runs, tuple(notes), tuple(skipped[:MAX_LISTED]), counts, None if runs else problem
    )


def _shown(
    file: SpanFile, root: str, runs: Runs, distinct: DistinctNames, *, is_single: bool
) -> SpanFile:
    """``file`` under a run name that distinguishes its root from the others."""
    run = file.run if is_single else f"{root}/{file.run}"
    run = distinct.choose(
        run,
        (run, file.worker, file.span),
        lambda name: file.span in runs.get(name, {}).get(file.worker, {}),
    )
    return replace(file, run=run, path=file.path if is_single else f"{root}/{file.path}")
