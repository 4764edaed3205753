"""Detect whether a file is a trace, and of which format, from its first bytes.

Only files with an ending that some format declares are read, only a head of each, and per scan only
as many as a budget allows: likely traces first, the others in later scans. A detection holds until
the file changes. This package knows no format; the importers pass in the detector
(:data:`DetectFormat`).
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct, field

from torch_tb_profiler.storage.deadlines import request
from torch_tb_profiler.storage.decompress import GZIP_MAGIC, UnpackLimitError, decompressed
from torch_tb_profiler.storage.locations import FileState, Location, can_read_ranges

_LOGGER = logging.getLogger(__name__)

HEAD_BYTES = 64 << 10
"""Uncompressed bytes that are inspected; what profilers write before the events is shorter."""

LONG_HEAD_BYTES = 1 << 20
"""Read of a local file whose first :data:`HEAD_BYTES` were inconclusive, for instance because long
metadata precedes the events."""

GZIP_SHARE = 4
"""A gzip file is read this many times less: traces decompress to about ten times their size."""

REMOTE_BYTES = 32 << 10
REMOTE_AT_ONCE = 16

UNREADABLE = "unreadable"
DAMAGED = "gzip_unreadable"
DAMAGED_TEXT = "is a gzip file that is damaged from its start."
NAMES_ONLY_VARIABLE = "TORCH_TB_PROFILER_NAMES_ONLY"
"""If set, traces are recognized only by name."""

LIKELY = re.compile(r"trace|profil|rank|tp-[0-9]|kineto", re.I)

TOOL_FOLDERS = frozenset({".git", ".hg", ".venv", "__pycache__", "node_modules", "site-packages"})
"""Folders of tools, full of unrelated JSON: their files are not inspected."""


class FormatDetection(Struct, frozen=True):
    """What a file is.

    Attributes:
        is_trace: Whether it is a trace.
        reason: Stable code of why it is not a trace; empty for traces.
        text: What it is instead, to follow its name: ``"is an execution trace."``.
        rank: Rank of a trace, if the head states it.
        world_size: Number of ranks of its job, if the head states it.
        needs_more: A longer head may give another result.
        format: Name of a trace's format.
    """

    is_trace: bool
    reason: str = ""
    text: str = ""
    rank: int | None = None
    world_size: int | None = None
    needs_more: bool = False
    format: str = ""


DetectFormat = Callable[[bytes, str, bool], FormatDetection]
"""(First bytes, decompressed; base name; whether that is the whole file) → what the file is."""


class ScanBudget(Struct, frozen=True):
    """How much one scan may read.

    Attributes:
        files: Files inspected.
        read_bytes: Bytes read and decompressed.
        seconds: Time.
    """

    files: int
    read_bytes: int
    seconds: float

    def for_caller(self, waits_for_all: bool) -> ScanBudget:
        """The budget for a caller that waits until everything is known, or for all others."""
        if not waits_for_all:
            return self
        return ScanBudget(WAIT_FACTOR * self.files, WAIT_FACTOR * self.read_bytes, WAIT_S)


WAIT_FACTOR = 40
WAIT_S = 60.0
LOCAL_BUDGET = ScanBudget(20_000, 1 << 30, 1.5)
REMOTE_BUDGET = ScanBudget(64, 64 * REMOTE_BYTES, 10.0)
"""Each file costs a request: of a prefix full of unrelated JSON a few are inspected per scan, until
all are known."""


class Candidate(Struct, frozen=True):
    """A file whose ending allows it to be a trace.

    Attributes:
        key: Path relative to the logdir.
        location: The file.
        state: Its size and version.
    """

    key: str
    location: Location
    state: FileState

    @property
    def is_in_tool_folder(self) -> bool:
        """Whether it lies in a folder of some tool (:data:`TOOL_FOLDERS`)."""
        return not TOOL_FOLDERS.isdisjoint(self.key.split("/")[:-1])


class _CachedDetection(Struct):
    version: str
    detection: FormatDetection


class FormatScanner(Struct):
    """Detects formats of the files of one logdir and caches the results. Not for concurrent scans.

    Attributes:
        detect: Determines what a file is from its head.
        local: Budget of a scan for local files.
        remote: Budget of a scan for remote files.
        waits_for_all: Whether the caller waits until every file is known.
    """

    detect: DetectFormat
    local: ScanBudget = LOCAL_BUDGET
    remote: ScanBudget = REMOTE_BUDGET
    waits_for_all: bool = False
    _previous: dict[str, _CachedDetection] = field(default_factory=dict)
    _current: dict[str, _CachedDetection] = field(default_factory=dict)

    def begin_scan(self) -> None:
        """Drop the results of files that the previous scan did not see."""
        self._previous, self._current = self._current, {}

    def cached(self, candidate: Candidate) -> FormatDetection | None:
        """The last detection of a file, possibly before it changed; None if it was never
        inspected."""
        cached_entry = self._current.get(candidate.key) or self._previous.get(candidate.key)
        if cached_entry is not None:
            self._current[candidate.key] = cached_entry
        return None if cached_entry is None else cached_entry.detection

    def pending(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates to inspect, in their current state; likely traces first."""
        fresh = [
            each for each in candidates if not each.is_in_tool_folder and not self._is_current(each)
        ]
        return sorted(fresh, key=self._urgency)

    def scan(self, candidates: Sequence[Candidate]) -> int:
        """Inspect as many candidates as the budget allows, in order.

        Returns:
            How many remain for the next scan.
        """
        if not candidates:
            return 0
        filesystem = candidates[0].location.filesystem
        if filesystem is None:
            return self._scan_local(candidates, self.local.for_caller(self.waits_for_all))
        if can_read_ranges(filesystem) or not getattr(filesystem, "async_impl", False):
            return self._scan_remote(candidates, self.remote.for_caller(self.waits_for_all))
        return 0  # a plain web server may send the whole file for a range request

    def _is_current(self, candidate: Candidate) -> bool:
        cached_entry = self._current.get(candidate.key)
        return cached_entry is not None and cached_entry.version == _version(candidate)

    def _urgency(self, candidate: Candidate) -> tuple[bool, bool, int]:
        cached_entry = self._current.get(candidate.key)
        was_trace = cached_entry is not None and cached_entry.detection.is_trace
        is_likely = LIKELY.search(candidate.location.name) is not None
        return not was_trace, not is_likely, -candidate.state.size_bytes

    def _scan_local(self, candidates: Sequence[Candidate], budget: ScanBudget) -> int:
        deadline_s = time.monotonic() + budget.seconds
        remaining_bytes = budget.read_bytes
        for number, candidate in enumerate(candidates):
            if number >= budget.files or remaining_bytes <= 0 or time.monotonic() > deadline_s:
                return len(candidates) - number
            for limit_bytes in (HEAD_BYTES, LONG_HEAD_BYTES):
                try:
                    stored = _first_bytes(candidate.location.path, limit_bytes)
                    detection, used_bytes = self._detect(candidate, stored, limit_bytes)
                except OSError as error:
                    detection, used_bytes = (
                        FormatDetection(False, UNREADABLE, f"cannot be read: {error}."),
                        0,
                    )
                remaining_bytes -= used_bytes
                if not detection.needs_more:
                    break
            self._store(candidate, detection)
        return 0

    def _scan_remote(self, candidates: Sequence[Candidate], budget: ScanBudget) -> int:
        deadline_s = time.monotonic() + budget.seconds
        for number in range(0, len(candidates), REMOTE_AT_ONCE):
            if number >= budget.files or time.monotonic() > deadline_s:
                return len(candidates) - number
            some = candidates[number : number + REMOTE_AT_ONCE]
            paths = [each.location.path for each in some]
            ends = [min(REMOTE_BYTES, each.state.size_bytes) for each in some]
            store = some[0].location.filesystem
            try:
                heads = request(
                    store, "cat_ranges", paths, [0] * len(some), ends, on_error="return"
                )
            except Exception as error:  # clients share no base class; the listing is still valid
                _LOGGER.debug("heads of %s were not read: %s", paths[0], type(error).__name__)
                return 0
            for candidate, head in zip(some, heads, strict=True):
                if isinstance(head, bytes):
                    self._store(candidate, self._detect(candidate, head, REMOTE_BYTES)[0])
        return 0

    def _detect(
        self, candidate: Candidate, stored: bytes, limit_bytes: int
    ) -> tuple[FormatDetection, int]:
        """What a file is, and how many bytes were read and decompressed to know it."""
        is_whole = len(stored) >= candidate.state.size_bytes
        head = stored
        if stored.startswith(GZIP_MAGIC):
            packed = stored[: limit_bytes // GZIP_SHARE]
            head, is_damaged = _decompressed_head(packed, limit_bytes)
            if is_damaged and not head:
                return FormatDetection(False, DAMAGED, DAMAGED_TEXT), len(stored)
            is_whole = is_whole and len(packed) == len(stored) and len(head) < limit_bytes
        detection = self.detect(head, candidate.location.name, is_whole)
        return detection, len(stored) + len(head)

    def _store(self, candidate: Candidate, detection: FormatDetection) -> None:
        self._current[candidate.key] = _CachedDetection(_version(candidate), detection)


def _first_bytes(path: str, limit_bytes: int) -> bytes:
    """The first bytes of a local file; empty if a pipe has replaced it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb", buffering=0) as file:
        return file.read(limit_bytes) or b""


def _decompressed_head(stored: bytes, limit_bytes: int) -> tuple[bytes, bool]:
    """The first decompressed bytes of a gzip file's beginning, and whether they end because the
    data is not gzip or is truncated."""
    head = bytearray()
    issues: list[str] = []
    with suppress(UnpackLimitError):
        for piece in decompressed([stored], issues.append):
            head += piece
            if len(head) >= limit_bytes:
                break
    return bytes(head[:limit_bytes]), bool(issues)


def _version(candidate: Candidate) -> str:
    return f"{candidate.state.size_bytes} {candidate.state.version}"
