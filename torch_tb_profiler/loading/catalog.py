"""What a logdir holds, kept up to date: runs, workers and spans by name, with their states.

Nothing runs while nobody asks. A question that finds the last scan too old starts the next one
in the background and is answered from what is known; only the first answer may wait for it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from torch_tb_profiler.loading.places import RESCAN_S, Place, Silence, WatchedPlace
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.requests.errors import OpenError, UnknownError, unknown
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.skipped_files import MAX_LISTED, NOT_A_TRACE, SkippedFile

__all__ = ["Catalog", "Contents", "Place", "Silence"]

RETRY_UNKNOWN_S = 1.0
"""A name nobody knows may be new: scan again, but not for every such question."""

T = TypeVar("T")
Spans = dict[str, SpanFile]
Runs = dict[str, dict[str, Spans]]


@dataclass(frozen=True, slots=True)
class Contents:
    """What all places hold, each as it answered last.

    Attributes:
        runs: Run → worker → span → file, each in the order to show.
        notes: What was seen and left out, as sentences.
        left_out: What was seen and left out, as far as it is listed.
        left_out_counts: Reason → how many were left out.
        problem: Why there is nothing at all; None when there is something.
    """

    runs: Runs = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()
    left_out_counts: Mapping[str, int] = field(default_factory=dict)
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
    """Runs of one or more places, and the traces that are open."""

    def __init__(
        self,
        places: Sequence[Place],
        *,
        cache: CacheFolder | None,
        store: TraceStore | None = None,
        rescan_s: float = RESCAN_S,
    ) -> None:
        self.places = tuple(places)
        self.store = store if store is not None else TraceStore(cache=cache)
        self._contents = Contents()
        self._lock = threading.Lock()
        self._watched = [WatchedPlace(place, rescan_s, self._renew) for place in self.places]

    @property
    def discovering(self) -> bool:
        """True until the first scan of every place is over."""
        return not all(watched.was_scanned for watched in self._watched)

    @property
    def silences(self) -> list[Silence]:
        """The places that do not answer; of those that did before, the runs are still known."""
        return [silence for watched in self._watched if (silence := watched.silence)]

    def contents(self, wait_s: float | None = None) -> Contents:
        """What is known now; starts a scan of each place that is due.

        Args:
            wait_s: How long to wait for the first scans; None for as long as they take.
        """
        for watched in self._watched:
            if wait_s is None:
                watched.be_patient()
            watched.scan_if_due()
        _wait([(watched, 1) for watched in self._watched], wait_s)
        return self._contents

    def refresh(self) -> Contents:
        """Scan now, whenever the last scan was, and return what it found."""
        _wait([(watched, watched.scan()) for watched in self._watched], None)
        return self._contents

    def problem_of(self, place: Place) -> StorageError | None:
        """Why nothing is known of a place; None when something is."""
        return next(watched.problem for watched in self._watched if watched.place == place)

    def file(
        self,
        run: str | None,
        worker: str | None,
        span: str | None,
        *,
        wait_s: float | None = None,
    ) -> SpanFile:
        """The file of a run, worker and span; what is None or empty means the first there is.

        Args:
            run: Name of the run.
            worker: Name of the worker.
            span: Name of the span.
            wait_s: How long to wait for a scan; None for as long as it takes.

        Raises:
            UnknownError: there is none of that name.
            OpenError: the places hold nothing at all.
            NotReadyError: the first scan is not over when the time is up.
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

    def opened(self, name: str, wait_s: float | None = None) -> SpanFile:
        """The span of a file that was left out, which is taken from now on.

        Args:
            name: Its path, as it was listed; nothing else is opened.
            wait_s: How long to wait for a scan; None for as long as it takes.

        Raises:
            UnknownError: none of that name was left out, or it is gone.
            NotReadyError: the scan is not over when the time is up.
        """
        contents = self.contents(wait_s)
        by_path = {file.path: file for file in contents.files()}
        if name in by_path:
            return by_path[name]
        alone = len(self._watched) == 1
        for watched in self._watched:
            prefix = "" if alone else f"{watched.shown_name}/"
            if not name.startswith(prefix) or not watched.choose(name.removeprefix(prefix)):
                continue
            is_over = watched.wait(watched.scan(), wait_s)
            by_path = {file.path: file for file in self._contents.files()}
            if name in by_path:
                return by_path[name]
            if not is_over:
                raise NotReadyError(SpanStatus("", name, None, 0, "queued"))
        raise unknown("file", name, [each.name for each in contents.left_out if each.can_open])

    def statuses(self) -> list[tuple[str, str, SpanStatus]]:
        """Run, worker and status of every span known now."""
        contents = self.contents(0)
        return [(file.run, file.worker, self.store.status(file)) for file in contents.files()]

    def _run(self, run: str | None, wait_s: float | None) -> tuple[str, dict[str, Spans]]:
        contents = self.contents(wait_s)
        if run and run not in contents.runs:
            aged = [each for each in self._watched if each.silence is None]
            aged = [each for each in aged if each.age_s > RETRY_UNKNOWN_S and each.was_scanned]
            _wait([(each, each.scan()) for each in aged], wait_s)
            contents = self._contents
        if self.discovering and (not contents.runs or (run and run not in contents.runs)):
            raise NotReadyError(SpanStatus("", "", None, 0, "queued"))
        if not contents.runs:
            problem = contents.problem or StorageError("no_traces", "There is no trace.")
            raise OpenError.of(problem)
        return _pick("run", run, contents.runs)

    def _renew(self) -> None:
        """Join what the places hold; of each scan that ends, in its thread."""
        with self._lock:
            contents = _joined(self._watched)
            self.store.keep_only(contents.files())
            self._contents = contents


def _wait(scans: Iterable[tuple[WatchedPlace, int]], wait_s: float | None) -> None:
    until_s = None if wait_s is None else time.monotonic() + wait_s
    for watched, number in scans:
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        watched.wait(number, left_s)


def _pick(kind: str, name: str | None, known: Mapping[str, T]) -> tuple[str, T]:
    """The one of ``known`` that is called ``name``; for None and empty the one without a name (of a
    file ``.pt.trace.json``), else the first.
    """
    if not known:
        raise UnknownError(f"unknown_{kind}", f"There is no {kind}.")
    if not name:
        return ("", known[""]) if "" in known else next(iter(known.items()))
    if name not in known:
        raise unknown(kind, name, known)
    return name, known[name]


def _joined(watched: Sequence[WatchedPlace]) -> Contents:
    runs: Runs = {}
    notes: list[str] = []
    problem: StorageError | None = None
    unfinished: list[str] = []
    undecided = 0
    left_out: list[SkippedFile] = []
    counts: Counter[str] = Counter()
    alone = len(watched) == 1
    for each in watched:
        look, problem = each.look, each.problem or problem
        discovery = look.discovery
        if discovery is None:
            notes += [] if look.problem is None else [look.problem.message]
            continue
        notes.extend(discovery.skipped.sentences)
        unfinished.extend(discovery.unfinished)
        undecided += discovery.undecided
        counts += discovery.skipped.counts
        prefix = "" if alone else f"{each.shown_name}/"
        listed = discovery.skipped.listed
        left_out += [replace(one, name=f"{prefix}{one.name}") for one in listed]
        for file in discovery.files:
            shown = _shown(file, each.shown_name, runs, alone=alone)
            runs.setdefault(shown.run, {}).setdefault(shown.worker, {})[shown.span] = shown
    if unfinished:
        more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        notes.append(f"Being written, shown when done: {unfinished[0]}{more}.")
    if undecided:
        notes.append(f"Not looked into yet, shown if they are traces: {undecided} files.")
    left_out.sort(key=lambda one: one.reason == NOT_A_TRACE)
    return Contents(
        runs, tuple(notes), tuple(left_out[:MAX_LISTED]), counts, None if runs else problem
    )


def _shown(file: SpanFile, place: str, runs: Runs, *, alone: bool) -> SpanFile:
    """``file`` under a run name that tells its place from the others."""
    run = file.run if alone else f"{place}/{file.run}"
    while file.span in runs.get(run, {}).get(file.worker, {}):
        run += "+"
    return replace(file, run=run, path=file.path if alone else f"{place}/{file.path}")
