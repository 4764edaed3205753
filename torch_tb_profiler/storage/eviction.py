"""Which entries of a cache go when it is full, and what an entry's times say.

What was used within the last hour stays, whatever the limit: a run that is being ingested or looked
at would else push itself out. What was ingested on purpose is pinned and stays for a week, so that
a run larger than the limit is there for the server that is started after it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

PROTECTED_S = 3600.0
"""What was used so recently stays."""

PIN_S = 7 * 86400.0
"""What was ingested stays for so long: over a weekend, and not for ever."""

SMALL_BYTES = 1 << 20

CLOCK_SKEW_S = 60.0
"""A time so far ahead is that of another machine's clock; one beyond says that a clock was set."""


@dataclass(frozen=True, slots=True)
class Usage:
    """An entry, or a temporary folder.

    Attributes:
        name: Of the folder: the key of an entry.
        used_s: When it was last used, in seconds since 1970, never in the future.
        size_bytes: Of its files.
    """

    name: str
    used_s: float
    size_bytes: int


def usage_of(folder: Path) -> Usage | None:
    """When a folder or file was last used, and its size; None when it is being removed."""
    try:
        used_s, size_bytes = _last_use_s(folder), 0
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as files:
                size_bytes = sum(file.stat(follow_symlinks=False).st_size for file in files)
        else:
            size_bytes = folder.lstat().st_size
        return Usage(folder.name, used_s, size_bytes)
    except OSError:
        return None


def _last_use_s(place: Path) -> float:
    """The time of the last use, in seconds since 1970.

    A time in the future was written before the clock was set back. It is set to now, so that its
    owner ages like the others; where that is not allowed it counts as long unused.

    Raises:
        OSError: the place is gone.
    """
    used_s, now_s = place.lstat().st_mtime, time.time()
    if used_s <= now_s + CLOCK_SKEW_S:
        return min(used_s, now_s)
    try:
        os.utime(place, (now_s, now_s))
    except OSError:
        return 0.0
    return now_s


def expendable(entries: Iterable[Usage], pinned: Collection[str]) -> list[Usage]:
    """Entries that may go, those first that shall go first: the longest unused.

    Small ones go last: the summaries of a run whose traces do not all fit are what its views
    need, and take hardly any room.
    """
    oldest_s = time.time() - PROTECTED_S
    free = [entry for entry in entries if entry.used_s < oldest_s and entry.name not in pinned]
    return sorted(free, key=lambda entry: (entry.size_bytes <= SMALL_BYTES, entry.used_s))
