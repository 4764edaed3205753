"""Roots: the folders and files that a user opens, scanned for traces in the background.

Each root is scanned in a thread of its own, so that one that does not respond delays no other. It
keeps its last contents, and is tried again after growing pauses (``storage.backoff``).
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

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
"""Minimum time between two scans."""

SCAN_SHARE = 20.0
"""A scan that took t seconds is not repeated for 20 t, so that scanning takes 5 % at most."""

UNFINISHED_S = 1.0
"""Minimum time between two scans while a trace is being written."""

FOLLOW_LINKS_VARIABLE = "TORCH_TB_PROFILER_FOLLOW_LINKS"
"""If set, links that lead out of any root are followed; TensorBoard has no option for it."""

MAX_SELECTED = 1000
"""Maximum number of skipped files that can be opened by name while the server runs."""

UNAVAILABLE_CODES = frozenset({"unreachable", "internal"})
"""Error codes that say nothing about the contents of a root."""


class TraceRoot(Struct, frozen=True):
    """A folder or file that is searched for traces.

    Attributes:
        url: Path or URL of a folder or a file.
        label: A name for its runs, if any.
        options: How its traces are read.
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


class ScanResult(Struct, frozen=True):
    """The result of a scan.

    Attributes:
        name: Name of the root, for its runs.
        discovery: The traces and skipped files.
        problem: Why there is no trace; None when there is one.
    """

    name: str = ""
    discovery: Discovery | None = None
    problem: StorageError | None = None


class Outage(Struct, frozen=True):
    """A root that does not respond. Times are those of ``time.monotonic``.

    Attributes:
        root: The root.
        problem: The error of the last attempt.
        since_s: Start of the first attempt without an answer.
        next_try_s: Time of the next attempt; in the past while it runs.
    """

    root: TraceRoot
    problem: StorageError
    since_s: float
    next_try_s: float


class WatchedRoot:
    """A root with the result of its last scan; all methods are thread-safe."""

    def __init__(self, root: TraceRoot, rescan_s: float, on_scanned: Callable[[], None]) -> None:
        """Start nothing yet.

        Args:
            root: The root.
            rescan_s: Minimum time between two scans.
            on_scanned: Called after each scan, in its thread.
        """
        self.root = root
        self.result = ScanResult()
        self._rescan_s = rescan_s
        self._on_scanned = on_scanned
        self._completeness = CompletenessTracker()
        self._scanner = FormatScanner(detect_format)
        self._selected: frozenset[str] = frozenset()
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
        """The name that distinguishes it from other roots."""
        return self.root.label or self.result.name

    @property
    def was_scanned(self) -> bool:
        """True when the first scan is complete."""
        return self._scans > 0

    @property
    def age_s(self) -> float:
        """Seconds since the last scan ended."""
        return time.monotonic() - self._scan_ended_s

    @property
    def problem(self) -> StorageError | None:
        """Why nothing is known of it: it does not respond, or has no trace."""
        return self.result.problem if self._problem is None else self._problem

    @property
    def outage(self) -> Outage | None:
        """Since when it does not respond; None when it does."""
        problem, since_s = self._problem, self._backoff.since_s
        if problem is None or since_s is None:
            return None
        return Outage(self.root, problem, since_s, self._next_scan_s)

    def wait_for_all(self) -> None:
        """From now on a scan inspects all files, rather than leave some for the next."""
        self._scanner.waits_for_all = True

    def select_file(self, name: str) -> bool:
        """From the next scan on treat a skipped file as a trace.

        Args:
            name: Its path relative to the logdir, as listed.

        Returns:
            Whether the file is known; true for a file that was selected before.
        """
        discovery = self.result.discovery
        with self._changed:
            if name in self._selected:
                return True
            if discovery is None or name not in discovery.skipped.openable:
                return False
            if len(self._selected) < MAX_SELECTED:
                self._selected |= {name}
            return True

    def scan_if_due(self) -> None:
        """Start a scan when the pause after the last one has passed."""
        with self._changed:
            if not self._is_scanning and time.monotonic() >= self._next_scan_s:
                self._start()

    def scan(self) -> int:
        """Start a scan now, or after the running one; returns its number for :meth:`wait`."""
        with self._changed:
            if self._is_scanning:
                self._scan_again = True
                return self._scans + 2
            self._start()
            return self._scans + 1

    def wait(self, number: int, timeout_s: float | None) -> bool:
        """Wait for the end of a scan, or until the timeout; returns whether it ended."""
        # Ctrl-C interrupts a wait with a limit; one without does not end, once polars is loaded.
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
                _LOGGER.exception("the contents of %s could not be shown", self.root.shown_url)
            with self._changed:
                self._scans += 1
                is_wanted, self._scan_again = self._scan_again, False
                self._is_scanning = is_wanted
                self._changed.notify_all()

    def _scan(self, began_s: float) -> float:
        """Scan once; returns the pause until the next scan, in seconds."""
        try:
            if self._location is None:
                self._location = _open_location(self.root)
            self._completeness.begin_scan()
            self._scanner.begin_scan()
            discovery = self._discover(self._location)
        except StorageError as error:
            problem = error
        except Exception as error:
            _LOGGER.exception("scanning %s for traces failed", self.root.shown_url)
            problem = _unexpected_error(self.root, error)
        else:
            nothing = None
            if not discovery.files:
                nothing = no_traces_error(self._location, trace_names(), discovery)
            self.result = ScanResult(self._location.name, discovery, nothing)
            is_unfinished = bool(discovery.unfinished or discovery.undecided)
            return self._record_success(began_s, is_unfinished=is_unfinished)
        self._location = None  # the client itself may be broken: connect again
        if problem.code in UNAVAILABLE_CODES:
            self._problem = problem
            self._backoff.failed(time.monotonic(), began_s)
            return max(self._rescan_s_or_never, self._backoff.next_try_s - time.monotonic())
        self.result = ScanResult(problem=problem)
        return min(self._record_success(began_s), max(self._rescan_s, MAX_PAUSE_S))

    def _discover(self, location: Location) -> Discovery:
        if location.filesystem is None and not is_folder(location):
            return Discovery(files=[file_as_span(location, trace_names())])
        looking = DiscoveryOptions(
            trace_names(),
            self._completeness,
            None if is_set(NAMES_ONLY_VARIABLE) else self._scanner,
            self._selected,
            self.root.follows_links or is_set(FOLLOW_LINKS_VARIABLE),
            self._publish_partial,
        )
        return discover(location, looking)

    def _publish_partial(self, discovery: Discovery) -> None:
        """Publish the result before file content is inspected, unless it has no trace."""
        if discovery.files:
            self.result = ScanResult(
                "" if self._location is None else self._location.name, discovery
            )
            self._on_scanned()

    @property
    def _rescan_s_or_never(self) -> float:
        return math.inf if self._rescan_s == math.inf else 0.0

    def _record_success(self, began_s: float, *, is_unfinished: bool = False) -> float:
        self._problem = None
        self._backoff.succeeded()
        rescan_s = self._rescan_s
        if is_unfinished and rescan_s < math.inf:
            rescan_s = min(UNFINISHED_S, rescan_s)
        return max(rescan_s, SCAN_SHARE * (time.monotonic() - began_s))


def _open_location(root: TraceRoot) -> Location:
    try:
        return replace(open_location(root.url), variant=root.options.variant)
    except OSError as error:  # a relative path, and the current folder no longer exists
        raise from_os_error(error, root.shown_url) from error


def _unexpected_error(root: TraceRoot, error: Exception) -> StorageError:
    cause = " ".join(f"{type(error).__name__}: {without_secrets(str(error))}".split())
    message = f"{root.shown_url} could not be scanned ({cause[:300]})."
    hint = "The log has the details; please report them. The scan is retried automatically."
    return StorageError("internal", message, hint)
