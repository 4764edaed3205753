"""Which files are traces by what they begin with, whatever they are called.

Only files with an ending of a format are looked into, of each a head, and as many in one scan as a
budget allows: those that are likely traces first, the others in the next scans. What was told of a
file holds until it changes. This room does not know what a trace is: whoever knows the formats
tells (:data:`TellHead`).
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from torch_tb_profiler.storage.deadlines import ask
from torch_tb_profiler.storage.decompress import GZIP_MAGIC, UnpackLimitError, decompressed
from torch_tb_profiler.storage.locations import FileState, Location, can_read_ranges

_LOGGER = logging.getLogger(__name__)

HEAD_BYTES = 64 << 10
"""Unpacked text that is looked at: what profilers write before the events is shorter."""

MORE_BYTES = 1 << 20
"""Of a file on this machine whose head tells nothing, for instance because somebody's metadata
stands before the events."""

PACKED_SHARE = 4
"""Of a packed file so much less is unpacked: traces unpack to ten times their size."""

REMOTE_BYTES = 32 << 10
REMOTE_AT_ONCE = 16

UNREADABLE = "unreadable"
DAMAGED = "gzip_unreadable"
DAMAGED_TEXT = "is a gzip file that is damaged from its start."
NAMES_ONLY_VARIABLE = "TORCH_TB_PROFILER_NAMES_ONLY"
"""Set, files are found by their names only."""

LIKELY = re.compile(r"trace|profil|rank|tp-[0-9]|kineto", re.I)

FOREIGN_FOLDERS = frozenset(
    {".git", ".hg", ".venv", "__pycache__", "node_modules", "site-packages"}
)
"""Folders of tools, full of their own JSON: nothing in them is looked into."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a file is.

    Attributes:
        is_trace: Whether it is a trace.
        reason: Why not, for programs; empty for traces.
        text: What it is instead, to follow its name: ``"is an execution trace."``.
        rank: Of a trace its rank, where the head says it.
        world_size: How many ranks its job has, where the head says it.
        wants_more: A longer head might tell something else.
        format: Of a trace the name of its format.
    """

    is_trace: bool
    reason: str = ""
    text: str = ""
    rank: int | None = None
    world_size: int | None = None
    wants_more: bool = False
    format: str = ""


TellHead = Callable[[bytes, str, bool], Told]
"""(First bytes unpacked, base name, whether these are all) → what the file is."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one scan may spend on heads.

    Attributes:
        files: Files looked into.
        read_bytes: Bytes read and unpacked.
        seconds: Time.
    """

    files: int
    read_bytes: int
    seconds: float

    def of(self, is_patient: bool) -> Budget:
        """The budget for somebody who waits until all is known, or for all others."""
        if not is_patient:
            return self
        return Budget(PATIENCE * self.files, PATIENCE * self.read_bytes, PATIENCE_S)


PATIENCE = 40
PATIENCE_S = 60.0
LOCAL_BUDGET = Budget(20_000, 1 << 30, 1.5)
REMOTE_BUDGET = Budget(64, 64 * REMOTE_BYTES, 10.0)
"""Each costs a request: of a prefix full of other JSON a few at every look, until all are known."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that its ending lets be a trace.

    Attributes:
        key: Its path from the logdir.
        location: The file.
        state: Its size and version.
    """

    key: str
    location: Location
    state: FileState

    @property
    def is_foreign(self) -> bool:
        """Whether it lies in a folder of some tool."""
        return not FOREIGN_FOLDERS.isdisjoint(self.key.split("/")[:-1])


@dataclass(slots=True)
class _Kept:
    version: str
    told: Told


@dataclass(slots=True)
class Heads:
    """What was told of the files of one place. One scan at a time uses it.

    Attributes:
        tell: Says what a file is by its head.
        local: What a scan may spend on files of this machine.
        remote: What it may spend on others.
        is_patient: Whether somebody waits until all is known.
    """

    tell: TellHead
    local: Budget = LOCAL_BUDGET
    remote: Budget = REMOTE_BUDGET
    is_patient: bool = False
    _before: dict[str, _Kept] = field(default_factory=dict)
    _now: dict[str, _Kept] = field(default_factory=dict)

    def begin_scan(self) -> None:
        """Forget the files that the last scan did not meet."""
        self._before, self._now = self._now, {}

    def known(self, candidate: Candidate) -> Told | None:
        """What was told of a file, maybe before it changed; None when it was never looked into."""
        kept = self._now.get(candidate.key) or self._before.get(candidate.key)
        if kept is not None:
            self._now[candidate.key] = kept
        return None if kept is None else kept.told

    def unknown(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that are to be looked into, as they are now; the likeliest first."""
        fresh = [each for each in candidates if not each.is_foreign and not self._is_current(each)]
        return sorted(fresh, key=self._urgency)

    def look(self, candidates: Sequence[Candidate]) -> int:
        """Look into as many of them as the budget allows, in order.

        Returns:
            How many are left for the next time.
        """
        if not candidates:
            return 0
        filesystem = candidates[0].location.filesystem
        if filesystem is None:
            return self._look_here(candidates, self.local.of(self.is_patient))
        if can_read_ranges(filesystem) or not getattr(filesystem, "async_impl", False):
            return self._look_there(candidates, self.remote.of(self.is_patient))
        return 0  # a web server may send all of a file for a part of it

    def _is_current(self, candidate: Candidate) -> bool:
        kept = self._now.get(candidate.key)
        return kept is not None and kept.version == _version(candidate)

    def _urgency(self, candidate: Candidate) -> tuple[bool, bool, int]:
        kept = self._now.get(candidate.key)
        was_trace = kept is not None and kept.told.is_trace
        is_likely = LIKELY.search(candidate.location.name) is not None
        return not was_trace, not is_likely, -candidate.state.size_bytes

    def _look_here(self, candidates: Sequence[Candidate], budget: Budget) -> int:
        until_s = time.monotonic() + budget.seconds
        left_bytes = budget.read_bytes
        for number, candidate in enumerate(candidates):
            if number >= budget.files or left_bytes <= 0 or time.monotonic() > until_s:
                return len(candidates) - number
            for limit_bytes in (HEAD_BYTES, MORE_BYTES):
                try:
                    stored = _first_bytes(candidate.location.path, limit_bytes)
                    told, used_bytes = self._told(candidate, stored, limit_bytes)
                except OSError as error:
                    told, used_bytes = Told(False, UNREADABLE, f"cannot be read: {error}."), 0
                left_bytes -= used_bytes
                if not told.wants_more:
                    break
            self._keep(candidate, told)
        return 0

    def _look_there(self, candidates: Sequence[Candidate], budget: Budget) -> int:
        until_s = time.monotonic() + budget.seconds
        for number in range(0, len(candidates), REMOTE_AT_ONCE):
            if number >= budget.files or time.monotonic() > until_s:
                return len(candidates) - number
            some = candidates[number : number + REMOTE_AT_ONCE]
            paths = [each.location.path for each in some]
            ends = [min(REMOTE_BYTES, each.state.size_bytes) for each in some]
            store = some[0].location.filesystem
            try:
                heads = ask(store, "cat_ranges", paths, [0] * len(some), ends, on_error="return")
            except Exception as error:  # each client has its own; the listing holds all the same
                _LOGGER.debug("heads of %s were not read: %s", paths[0], type(error).__name__)
                return 0
            for candidate, head in zip(some, heads, strict=True):
                if isinstance(head, bytes):
                    self._keep(candidate, self._told(candidate, head, REMOTE_BYTES)[0])
        return 0

    def _told(self, candidate: Candidate, stored: bytes, limit_bytes: int) -> tuple[Told, int]:
        """What a file is, and how many bytes were read and unpacked for that."""
        is_whole = len(stored) >= candidate.state.size_bytes
        head = stored
        if stored.startswith(GZIP_MAGIC):
            packed = stored[: limit_bytes // PACKED_SHARE]
            head, is_damaged = _unpacked(packed, limit_bytes)
            if is_damaged and not head:
                return Told(False, DAMAGED, DAMAGED_TEXT), len(stored)
            is_whole = is_whole and len(packed) == len(stored) and len(head) < limit_bytes
        told = self.tell(head, candidate.location.name, is_whole)
        return told, len(stored) + len(head)

    def _keep(self, candidate: Candidate, told: Told) -> None:
        self._now[candidate.key] = _Kept(_version(candidate), told)


def _first_bytes(path: str, limit_bytes: int) -> bytes:
    """The first bytes of a file on this machine; of a pipe that came in its place, none."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb", buffering=0) as file:
        return file.read(limit_bytes) or b""


def _unpacked(stored: bytes, limit_bytes: int) -> tuple[bytes, bool]:
    """The first bytes of what the beginning of a gzip file unpacks to, and whether they end because
    it is no gzip or is cut."""
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
