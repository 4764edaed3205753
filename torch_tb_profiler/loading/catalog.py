"""What a logdir holds, kept up to date: runs, workers and spans by name, with their states.

Nothing runs while nobody asks. A question that finds the last scan too old starts the next one
in the background and is answered from what is known; only the first answer may wait for it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from torch_tb_profiler.loading.errors import OpenError, UnknownError, unknown
from torch_tb_profiler.loading.status import SpanStatus
from torch_tb_profiler.loading.trace_store import TraceStore
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import (
    Discovery,
    SpanFile,
    discover,
    is_folder,
    no_traces,
    single_file,
)
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.locations import Location, open_location
from torch_tb_profiler.storage.secrets import public_url

_LOGGER = logging.getLogger(__name__)

RESCAN_S = 10.0
"""Least time between two scans."""

SCAN_SHARE = 20.0
"""A scan that took t seconds is not repeated for 20 t, so that scanning takes 5 % at most."""

RETRY_UNKNOWN_S = 1.0
"""A name nobody knows may be new: scan again, but not for every such question."""

UNFINISHED_S = 1.0
"""Least time between two scans while a trace is being written."""

T = TypeVar("T")
Spans = dict[str, SpanFile]
Runs = dict[str, dict[str, Spans]]


@dataclass(frozen=True, slots=True)
class Place:
    """One thing to look at: path or URL of a folder or a file, and a name for its runs, if any."""

    url: str
    label: str | None = None

    @property
    def shown_url(self) -> str:
        """The URL without secrets."""
        return public_url(self.url)


@dataclass(frozen=True, slots=True)
class Contents:
    """The result of one scan of all places.

    Attributes:
        runs: Run → worker → span → file, each in the order to show.
        notes: What was seen and left out, as sentences.
        problem: Why there is nothing at all; None when there is something.
        is_unfinished: True when a trace is being written.
    """

    runs: Runs = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: StorageError | None = None
    is_unfinished: bool = False

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
        self._rescan_s = rescan_s
        self._contents = Contents()
        self._lock = threading.Lock()
        self._one_scan = threading.Lock()
        self._finished = FinishedFiles()
        self._scanning = False
        self._next_scan_s = 0.0
        self._scan_ended_s = 0.0
        self._scanned = threading.Event()

    @property
    def discovering(self) -> bool:
        """True until the first scan is over."""
        return not self._scanned.is_set()

    def contents(self, wait_s: float | None = None) -> Contents:
        """What is known now; starts a scan when that is due.

        Args:
            wait_s: How long to wait for the first scan; None for as long as it takes.
        """
        self._scan_if_due()
        self._scanned.wait(wait_s)
        return self._contents

    def refresh(self) -> Contents:
        """Scan now, whenever the last scan was, and return what it found."""
        self._scan()
        return self._contents

    def file(self, run: str | None, worker: str | None, span: str | None) -> SpanFile:
        """The file of a run, worker and span; what is None or empty means the first there is.

        Raises:
            UnknownError: there is none of that name.
            OpenError: the places hold nothing at all.
        """
        _, workers = self._run(run)
        if not worker and "" not in workers:
            return next(iter(self.workers(run, span).values()))
        spans = _pick("worker", worker, workers)[1]
        return _pick("span", span, spans)[1]

    def workers(self, run: str | None, span: str | None) -> dict[str, SpanFile]:
        """Worker → file of a span, for every worker that has it.

        Raises:
            UnknownError, OpenError: as :meth:`file`.
        """
        _, workers = self._run(run)
        known = {name: None for spans in workers.values() for name in spans}
        chosen = _pick("span", span, known)[0]
        return {worker: spans[chosen] for worker, spans in workers.items() if chosen in spans}

    def statuses(self) -> list[tuple[str, str, SpanStatus]]:
        """Run, worker and status of every span known now."""
        contents = self.contents(0)
        return [(file.run, file.worker, self.store.status(file)) for file in contents.files()]

    def _run(self, run: str | None) -> tuple[str, dict[str, Spans]]:
        contents = self.contents()
        if run and run not in contents.runs and self._scan_age_s() > RETRY_UNKNOWN_S:
            contents = self.refresh()
        if not contents.runs:
            problem = contents.problem or StorageError("no_traces", "There is no trace.")
            raise OpenError(problem.code, problem.message, problem.hint)
        return _pick("run", run, contents.runs)

    def _scan_age_s(self) -> float:
        return time.monotonic() - self._scan_ended_s

    def _scan_if_due(self) -> None:
        with self._lock:
            if self._scanning or time.monotonic() < self._next_scan_s:
                return
            self._scanning = True
        threading.Thread(target=self._scan, name="trace-discovery", daemon=True).start()

    def _scan(self) -> None:
        started_s = time.monotonic()
        try:
            with self._one_scan:
                contents = _scan_places(self.places, self._finished)
                self.store.keep_only(contents.files())
                self._contents = contents
        except Exception:
            _LOGGER.exception("looking for traces failed")
        finally:
            ended_s = time.monotonic()
            pause_s = max(self._pause_s(), SCAN_SHARE * (ended_s - started_s))
            with self._lock:
                self._scan_ended_s = ended_s
                self._next_scan_s = ended_s + pause_s
                self._scanning = False
            self._scanned.set()

    def _pause_s(self) -> float:
        if self._contents.is_unfinished and self._rescan_s < math.inf:
            return min(UNFINISHED_S, self._rescan_s)
        return self._rescan_s


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


def _scan_places(places: Sequence[Place], finished: FinishedFiles) -> Contents:
    finished.begin_scan()
    runs: Runs = {}
    notes: list[str] = []
    problem: StorageError | None = None
    unfinished: list[str] = []
    for place in places:
        try:
            location = open_location(place.url)
            found = _scan_place(location, finished)
        except StorageError as error:
            problem = error
            notes.append(error.message)
            continue
        notes.extend(found.left_out)
        unfinished.extend(found.unfinished)
        if not found.files:
            problem = no_traces(location, found)
        for file in found.files:
            shown = _shown(file, place.label or location.name, runs, alone=len(places) == 1)
            runs.setdefault(shown.run, {}).setdefault(shown.worker, {})[shown.span] = shown
    if unfinished:
        more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        notes.append(f"Being written, shown when done: {unfinished[0]}{more}.")
    return Contents(runs, tuple(notes), None if runs else problem, bool(unfinished))


def _scan_place(location: Location, finished: FinishedFiles) -> Discovery:
    if location.filesystem is not None or is_folder(location):
        return discover(location, finished)
    return Discovery(files=[single_file(location)])


def _shown(file: SpanFile, place: str, runs: Runs, *, alone: bool) -> SpanFile:
    """``file`` under a run name that tells its place from the others."""
    run = file.run if alone else f"{place}/{file.run}"
    while file.span in runs.get(run, {}).get(file.worker, {}):
        run += "+"
    return replace(file, run=run)
