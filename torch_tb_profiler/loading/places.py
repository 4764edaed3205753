"""One place that is looked at: what it held when it last answered, and when it is asked again.

Each place is scanned in a thread of its own, so that one that does not answer delays no other. It
keeps what it held before, and is asked again after ever longer pauses (``storage.backoff``).
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from torch_tb_profiler.importers import ReadOptions, detect_format, trace_names
from torch_tb_profiler.storage.backoff import MAX_PAUSE_S, Backoff
from torch_tb_profiler.storage.discovery import (
    Discovery,
    DiscoveryOptions,
    discover,
    file_as_span,
    is_folder,
    no_traces_error,
)
from torch_tb_profiler.storage.environment import is_set
from torch_tb_profiler.storage.errors import StorageError, from_os_error
from torch_tb_profiler.storage.file_completeness import CompletenessTracker
from torch_tb_profiler.storage.format_detection import NAMES_ONLY_VARIABLE, FormatScanner
from torch_tb_profiler.storage.locations import Location, open_location, valid_text
from torch_tb_profiler.storage.secrets import public_url, without_secrets

_LOGGER = logging.getLogger(__name__)

RESCAN_S = 10.0
"""Least time between two scans."""

SCAN_SHARE = 20.0
"""A scan that took t seconds is not repeated for 20 t, so that scanning takes 5 % at most."""

UNFINISHED_S = 1.0
"""Least time between two scans while a trace is being written."""

FOLLOW_LINKS_VARIABLE = "TORCH_TB_PROFILER_FOLLOW_LINKS"
"""Set, links that lead out of any place are followed; TensorBoard knows no option of ours."""

MAX_CHOSEN = 1000
"""Files that may be opened by name beside those that are found, while the server lives."""

NO_ANSWER = frozenset({"unreachable", "internal"})
"""Codes of errors that say nothing about what the place holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """One thing to look at.

    Attributes:
        url: Path or URL of a folder or a file.
        label: A name for its runs, if any.
        options: What is wanted of its traces.
        follows_links: Whether links that lead out of it are followed.
    """

    url: str
    label: str | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    follows_links: bool = False

    @property
    def shown_url(self) -> str:
        """The URL without secrets."""
        return public_url(valid_text(self.url))


@dataclass(frozen=True, slots=True)
class Look:
    """What a place answered.

    Attributes:
        name: Its name, for its runs.
        discovery: What it holds.
        problem: Why that is nothing; None when it is something.
    """

    name: str = ""
    discovery: Discovery | None = None
    problem: StorageError | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """A place that does not answer. Times are those of ``time.monotonic``.

    Attributes:
        place: The place.
        problem: What the last try met.
        since_s: When the first try began that met no answer.
        next_try_s: When it is asked again; the past while it is being asked.
    """

    place: Place
    problem: StorageError
    since_s: float
    next_try_s: float


class WatchedPlace:
    """A place with what it held last; all methods may be called from any thread."""

    def __init__(self, place: Place, rescan_s: float, on_scanned: Callable[[], None]) -> None:
        """Start nothing yet.

        Args:
            place: The place.
            rescan_s: Least time between two scans.
            on_scanned: Called after each, in its thread.
        """
        self.place = place
        self.look = Look()
        self._rescan_s = rescan_s
        self._on_scanned = on_scanned
        self._finished = CompletenessTracker()
        self._heads = FormatScanner(detect_format)
        self._chosen: frozenset[str] = frozenset()
        self._location: Location | None = None
        self._backoff = Backoff()
        self._problem: StorageError | None = None
        self._changed = threading.Condition()
        self._is_scanning = False
        self._scan_again = False
        self._scans = 0
        self._next_scan_s = 0.0
        self._scan_ended_s = -math.inf

    @property
    def shown_name(self) -> str:
        """What tells it from other places."""
        return self.place.label or self.look.name

    @property
    def was_scanned(self) -> bool:
        """True when the first scan is over."""
        return self._scans > 0

    @property
    def age_s(self) -> float:
        """Seconds since the last scan ended."""
        return time.monotonic() - self._scan_ended_s

    @property
    def problem(self) -> StorageError | None:
        """Why nothing is known of it: it does not answer, or answers that there is nothing."""
        return self.look.problem if self._problem is None else self._problem

    @property
    def silence(self) -> Silence | None:
        """Since when it does not answer; None when it does."""
        problem, since_s = self._problem, self._backoff.since_s
        if problem is None or since_s is None:
            return None
        return Silence(self.place, problem, since_s, self._next_scan_s)

    def be_patient(self) -> None:
        """From now on a scan takes as long as it needs, rather than leave files for the next."""
        self._heads.waits_for_all = True

    def choose(self, name: str) -> bool:
        """From the next scan on take a file that was left out.

        Args:
            name: Its path from the logdir, as it was listed.

        Returns:
            Whether there is one; a file that was chosen before is.
        """
        discovery = self.look.discovery
        with self._changed:
            if name in self._chosen:
                return True
            if discovery is None or name not in discovery.skipped.openable:
                return False
            if len(self._chosen) < MAX_CHOSEN:
                self._chosen |= {name}
            return True

    def scan_if_due(self) -> None:
        """Start a scan when the pause after the last one is over."""
        with self._changed:
            if not self._is_scanning and time.monotonic() >= self._next_scan_s:
                self._start()

    def scan(self) -> int:
        """Start a scan now, or after the one that is running; its number, for :meth:`wait`."""
        with self._changed:
            if self._is_scanning:
                self._scan_again = True
                return self._scans + 2
            self._start()
            return self._scans + 1

    def wait(self, number: int, timeout_s: float | None) -> bool:
        """Wait for the end of a scan, or until the time is up; whether it ended."""
        # Ctrl-C ends a wait that has a limit; one without it goes on, once polars is loaded.
        limit_s = threading.TIMEOUT_MAX if timeout_s is None else timeout_s
        with self._changed:
            return self._changed.wait_for(lambda: self._scans >= number, limit_s)

    def _start(self) -> None:
        self._is_scanning = True
        threading.Thread(target=self._run, name="trace-discovery", daemon=True).start()

    def _run(self) -> None:
        is_wanted = True
        while is_wanted:
            began_s = time.monotonic()
            pause_s = self._scan(began_s)
            with self._changed:
                self._scan_ended_s = time.monotonic()
                self._next_scan_s = self._scan_ended_s + pause_s
            try:
                self._on_scanned()
            except Exception:
                _LOGGER.exception("what %s holds could not be shown", self.place.shown_url)
            with self._changed:
                self._scans += 1
                is_wanted, self._scan_again = self._scan_again, False
                self._is_scanning = is_wanted
                self._changed.notify_all()

    def _scan(self, began_s: float) -> float:
        """Look once; the pause until the next time, in seconds."""
        try:
            if self._location is None:
                self._location = _opened(self.place)
            self._finished.begin_scan()
            self._heads.begin_scan()
            discovery = self._discovered(self._location)
        except StorageError as error:
            problem = error
        except Exception as error:
            _LOGGER.exception("looking for traces in %s failed", self.place.shown_url)
            problem = _unexpected(self.place, error)
        else:
            nothing = None
            if not discovery.files:
                nothing = no_traces_error(self._location, trace_names(), discovery)
            self.look = Look(self._location.name, discovery, nothing)
            is_unfinished = bool(discovery.unfinished or discovery.undecided)
            return self._answered(began_s, is_unfinished=is_unfinished)
        self._location = None  # what goes wrong may lie in the client
        if problem.code in NO_ANSWER:
            self._problem = problem
            self._backoff.failed(time.monotonic(), began_s)
            return max(self._rescan_s_or_never, self._backoff.next_try_s - time.monotonic())
        self.look = Look(problem=problem)
        return min(self._answered(began_s), max(self._rescan_s, MAX_PAUSE_S))

    def _discovered(self, location: Location) -> Discovery:
        if location.filesystem is None and not is_folder(location):
            return Discovery(files=[file_as_span(location, trace_names())])
        looking = DiscoveryOptions(
            trace_names(),
            self._finished,
            None if is_set(NAMES_ONLY_VARIABLE) else self._heads,
            self._chosen,
            self.place.follows_links or is_set(FOLLOW_LINKS_VARIABLE),
            self._show_known,
        )
        return discover(location, looking)

    def _show_known(self, discovery: Discovery) -> None:
        """What is known before files are looked into is shown, unless it is less than before."""
        if discovery.files:
            self.look = Look("" if self._location is None else self._location.name, discovery)
            self._on_scanned()

    @property
    def _rescan_s_or_never(self) -> float:
        return math.inf if self._rescan_s == math.inf else 0.0

    def _answered(self, began_s: float, *, is_unfinished: bool = False) -> float:
        self._problem = None
        self._backoff.succeeded()
        rescan_s = self._rescan_s
        if is_unfinished and rescan_s < math.inf:
            rescan_s = min(UNFINISHED_S, rescan_s)
        return max(rescan_s, SCAN_SHARE * (time.monotonic() - began_s))


def _opened(place: Place) -> Location:
    try:
        return replace(open_location(place.url), variant=place.options.variant)
    except OSError as error:  # a relative path, and the current folder is gone
        raise from_os_error(error, place.shown_url) from error


def _unexpected(place: Place, error: Exception) -> StorageError:
    cause = " ".join(f"{type(error).__name__}: {without_secrets(str(error))}".split())
    message = f"{place.shown_url} could not be looked through ({cause[:300]})."
    hint = "The log has the details; please report them. It is tried again by itself."
    return StorageError("internal", message, hint)
