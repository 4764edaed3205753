"""Which entries of a cache go when it is full, and what an entry's times say.

What was used within the last hour stays, whatever the limit: a run that is being ingested or looked
at would else push itself out. What was ingested on purpose is pinned and stays for a week, so that
a run larger than the limit is there for the server that is started after it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
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


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a cleaning left, and what it took.

    Attributes:
        kept: Entries that are there.
        kept_bytes: Their size.
        removed: Entries that are gone.
        removed_bytes: The size they had.
    """

    kept: int
    kept_bytes: int
    removed: int = 0
    removed_bytes: int = 0


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


def clean(
    entries: Sequence[Usage],
    pinned: Collection[str],
    remove: Callable[[str], bool],
    *,
    max_bytes: int | None = None,
    unused_since_s: float | None = None,
) -> Cleaned:
    """Remove what may go (:func:`expendable`) and is too old or too much.

    Args:
        entries: All of them.
        pinned: Names of those that stay.
        remove: Removes the entry of a name; False when it could not.
        max_bytes: The longest unused go until the rest is as small; None for any size.
        unused_since_s: What was last used before that time goes, in seconds since 1970.
    """
    kept_bytes = sum(entry.size_bytes for entry in entries)
    removed = removed_bytes = 0
    for entry in expendable(entries, pinned):
        is_old = unused_since_s is not None and entry.used_s < unused_since_s
        is_too_much = max_bytes is not None and kept_bytes > max_bytes
        if (is_old or is_too_much) and remove(entry.name):
            kept_bytes -= entry.size_bytes
            removed_bytes += entry.size_bytes
            removed += 1
    return Cleaned(len(entries) - removed, kept_bytes, removed, removed_bytes)


def would_go(_name: str) -> bool:
    """What :func:`clean` is given for a trial: it removes nothing."""
    return True
