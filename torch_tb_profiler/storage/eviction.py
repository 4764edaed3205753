"""Which entries of a full cache are removed, and when an entry was used.

Entries used within the last hour stay, whatever the limit: a run that is being ingested or viewed
would otherwise evict itself. Ingested entries are pinned for a week, so that a run larger than the
limit is available to the server that is started after it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

PROTECTED_S = 3600.0
"""Entries used more recently than this stay."""

PIN_S = 7 * 86400.0
"""How long ingested entries stay: over a weekend, and not for ever."""

SMALL_BYTES = 1 << 20

CLOCK_SKEW_S = 60.0
"""A time less far ahead is due to another machine's clock; one beyond means that a clock was
set."""


class Usage(Struct, frozen=True):
    """An entry, or a temporary folder.

    Attributes:
        name: Name of the folder: the key of an entry.
        used_s: When it was last used, in seconds since 1970, never in the future.
        size_bytes: Size of its files.
    """

    name: str
    used_s: float
    size_bytes: int


class CleanResult(Struct, frozen=True):
    """What a cleaning removed and left.

    Attributes:
        remaining: Number of remaining entries.
        remaining_bytes: Their size.
        removed: Number of removed entries.
        removed_bytes: The size they had.
    """

    remaining: int
    remaining_bytes: int
    removed: int = 0
    removed_bytes: int = 0


def usage_of(folder: Path) -> Usage | None:
    """When a folder or file was last used, and its size; None if it is being removed."""
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


def _last_use_s(path: Path) -> float:
    """The time of the last use, in seconds since 1970.

    A time in the future was written before the clock was set back. It is set to now, so that the
    entry ages like the others; if that is not allowed it counts as long unused.

    Raises:
        OSError: the path no longer exists.
    """
    used_s, now_s = path.lstat().st_mtime, time.time()
    if used_s <= now_s + CLOCK_SKEW_S:
        return min(used_s, now_s)
    try:
        os.utime(path, (now_s, now_s))
    except OSError:
        return 0.0
    return now_s


def removable(entries: Iterable[Usage], pinned: Collection[str]) -> list[Usage]:
    """Entries that may be removed, the longest unused first.

    Small ones come last: the summaries of a run whose traces do not all fit are what its views
    need, and take hardly any space.
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
) -> CleanResult:
    """Remove entries that may be removed (:func:`removable`) and exceed an age or the size.

    Args:
        entries: All entries.
        pinned: Names of those that stay.
        remove: Removes the entry of a name; False if it could not.
        max_bytes: The longest unused are removed until the rest is this small; None for any size.
        unused_since_s: Entries last used before this time are removed, in seconds since 1970.
    """
    remaining_bytes = sum(entry.size_bytes for entry in entries)
    removed = removed_bytes = 0
    for entry in removable(entries, pinned):
        is_old = unused_since_s is not None and entry.used_s < unused_since_s
        is_too_much = max_bytes is not None and remaining_bytes > max_bytes
        if (is_old or is_too_much) and remove(entry.name):
            remaining_bytes -= entry.size_bytes
            removed_bytes += entry.size_bytes
            removed += 1
    return CleanResult(len(entries) - removed, remaining_bytes, removed, removed_bytes)


def skip_removal(_name: str) -> bool:
    """The ``remove`` argument of :func:`clean` for a dry run: it removes nothing."""
    return True
