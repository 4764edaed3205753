"""The cache folder: finished folders by key, safe for many processes, bounded in size.

An entry is written under ``tmp/``, sealed (``entry_manifest.py``) and renamed into place, so that a
reader sees all of it or nothing. If another process was first, the new copy is dropped. An entry
that is incomplete or cannot be read does not count: it is removed and created again. Nothing here
knows what an entry holds.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from torch_tb_profiler.storage.cache_location import LIMIT_VARIABLE, PRIVATE, default_max_bytes
from torch_tb_profiler.storage.entry_manifest import (
    BrokenEntryError,
    Sizes,
    read_entry,
    seal,
    verify_sizes,
)
from torch_tb_profiler.storage.eviction import (
    PIN_S,
    CleanResult,
    Usage,
    clean,
    skip_removal,
    usage_of,
)

_LOGGER = logging.getLogger(__name__)

SHARES_OF_TEXT = (0.25, 0.8)
"""Size of an entry relative to its JSON: a quarter for 350 MB, four fifths for 2 MB."""

STALE_TEMPORARY_S = 3600.0
"""An older temporary folder was left by a process that was killed."""

EVICT_AFTER = 0.1
"""Share of the size limit that a process stores between two evictions: a thousand ranks would
otherwise list all entries a thousand times."""

_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST})
"""Rename errors which mean that an entry existed; it may have been removed since."""

_KEY_NAME = re.compile(r"\w{40}", re.ASCII)
_TEMPORARY_NAME = re.compile(r"(\w{40}-)?[0-9a-f]{32}(\.tar\.gz)?", re.ASCII)
"""Names that a cache gives its files and folders. A user may choose a folder that already contains
``tmp`` or ``entries``, a home or ``/``: anything with another name is left alone."""

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_stored_bytes: dict[Path, int] = {}
"""Bytes that this process stored in a cache since its last eviction."""

T = TypeVar("T")


def cache_key(*parts: str) -> str:
    """One key for everything that determines an entry's content."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40]


class CacheFolder:
    """Finished folders under ``root`` by key. A folder that cannot be written caches nothing."""

    def __init__(self, root: Path, *, max_bytes: int | None = None) -> None:
        """Create nothing yet.

        Args:
            root: The cache folder; created on the first store. Entries are private to their writer
                unless the folder is writable for a group or all: then they have its permissions.
            max_bytes: The size that :meth:`evict` aims at; None takes :func:`default_max_bytes`.
        """
        self.root = root
        self.max_bytes = default_max_bytes() if max_bytes is None else max_bytes

    def _entry(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def has_local(self, key: str) -> bool:
        """Whether the local folder has something under ``key``; cheap, its content is not
        checked."""
        return os.path.isdir(self._entry(key))  # also true of a folder without read permission

    def holds(self, key: str) -> bool:
        """Whether an entry is cached under ``key``; nothing is downloaded for it."""
        return self._find_local(key) is not None

    def find(self, key: str) -> Path | None:
        """The folder cached under ``key``, marked as just used; None if there is none.

        Its files exist with their recorded sizes; :meth:`load` verifies every byte.
        """
        entry = self._find(key)
        return None if entry is None else entry[0]

    def _find(self, key: str) -> tuple[Path, Sizes] | None:
        """The folder cached under ``key`` and the sizes in its manifest, downloaded if need be."""
        return self._find_local(key)

    def _find_local(self, key: str) -> tuple[Path, Sizes] | None:
        """As :meth:`_find`, of the local folder only."""
        if not self.has_local(key):
            return None
        entry = self._entry(key)
        try:
            sizes = verify_sizes(entry, key)
        except (BrokenEntryError, OSError) as error:
            if self._log_broken(key, error):
                self._remove_local(key)
            return None
        try:
            os.utime(entry)
        except OSError:
            _LOGGER.debug("cannot mark %s as used", entry)
        return entry, sizes

    def load(self, key: str, read: Callable[[Path], T]) -> T | None:
        """The result of ``read`` for the folder cached under ``key``; None if there is none.

        An entry that is damaged, or that ``read`` fails on for any reason, is removed and counts as
        none.
        """
        entry = self._find(key)
        if entry is None:
            return None
        folder, sizes = entry
        try:
            return read_entry(folder, key, read, sizes)
        except BrokenEntryError as error:
            if self._log_broken(key, error):
                self.discard(key)
            return None

    def _log_broken(self, key: str, error: Exception) -> bool:
        """Log it, unless the entry is gone because another process emptied the cache."""
        if not os.path.isdir(self._entry(key)):
            return False
        _LOGGER.warning("a cache entry is broken and will be created again: %s", error)
        return True

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Let ``write`` fill a new folder and cache it under ``key``.

        Returns:
            False if it could not be stored: disk full, no permission. The reason is logged.
        """
        temporary = self.root / "tmp" / uuid.uuid4().hex
        entry = self._entry(key)
        try:
            self._make(temporary)
            write(temporary)
            seal(temporary, key)
            self._make(entry.parent)
            self._copy_mode(temporary)
            if not entry.exists():
                _rename(temporary, entry)
        except OSError as error:
            if os.path.isdir(entry):
                return True  # another process was first
            _LOGGER.warning("the parsed trace is not cached in %s: %s", self.root, error)
            return False
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._evict_if_due(key)
        return True

    def _make(self, folder: Path) -> None:
        """Create a folder of the cache and its parents.

        Raises:
            OSError: no space, no permission.
        """
        self.root.mkdir(PRIVATE, parents=True, exist_ok=True)
        mode = self._mode()
        missing = [folder]
        while not missing[-1].parent.exists():
            missing.append(missing[-1].parent)
        for path in reversed(missing):
            try:
                path.mkdir(PRIVATE)
            except FileExistsError:
                continue
            if mode != PRIVATE:
                path.chmod(mode)

    def _mode(self) -> int:
        """Permissions of folders: the root's if others may write there, else the owner's alone."""
        mode = stat.S_IMODE(self.root.stat().st_mode)
        return mode if mode & _WRITABLE_BY_OTHERS else PRIVATE

    def _copy_mode(self, folder: Path) -> None:
        """Give a new entry's files the permissions of the cache, whatever this process's umask."""
        mode = self._mode()
        if mode != PRIVATE:
            for file in folder.iterdir():
                file.chmod(mode & 0o666)

    def share(self, key: str) -> bool:
        """Make the local entry available to the other users of this cache; returns whether it is.

        Whoever can read the folder sees it; it is only protected from eviction, for a week.
        """
        if self.find(key) is None:
            return False
        pin = self._pin(key)
        try:
            self._make(pin.parent)
            pin.touch()
        except OSError as error:
            _LOGGER.debug("cannot pin %s: %s", key, error)
        return True

    def was_uploaded(self, key: str) -> bool:  # noqa: ARG002  # a folder sends nothing
        """Whether this object has uploaded the entry to a bucket; a folder never does."""
        return False

    def _pin(self, key: str) -> Path:
        return self.root / "pins" / key

    def _pinned(self) -> set[str]:
        """Keys of entries that were ingested within a week; older pins are removed."""
        oldest_s = time.time() - PIN_S
        pinned = set()
        for pin in _listed(self.root / "pins", "*", _KEY_NAME):
            usage = usage_of(pin)
            if usage is not None and usage.used_s < oldest_s:
                _delete(pin)
            elif usage is not None:
                pinned.add(pin.name)
        return pinned

    def _evict_if_due(self, key: str) -> None:
        """Evict after the first entry, and then whenever a tenth of the limit was stored here."""
        usage = usage_of(self._entry(key))
        stored = _stored_bytes.get(self.root, self.max_bytes) + (usage.size_bytes if usage else 0)
        if stored > self.max_bytes * EVICT_AFTER:
            self.evict()
            stored = 0
        _stored_bytes[self.root] = stored

    def discard(self, key: str) -> None:
        """Remove a broken entry."""
        self._remove_local(key)

    def _remove_local(self, key: str) -> bool:
        """Move an entry out of sight, then delete it; False if that is not allowed or it was
        gone."""
        doomed = self.root / "tmp" / uuid.uuid4().hex
        try:
            self._make(doomed.parent)
            os.rename(self._entry(key), doomed)
        except OSError as error:
            _LOGGER.debug("entry %s was not removed: %s", key, error)
            return False
        _delete(doomed)
        return True

    def evict(self) -> int:
        """Remove the longest unused entries until the rest fit, and the remains of killed writers.

        Returns:
            Bytes of the remaining entries: more than ``max_bytes`` if none of them may be removed.
        """
        return self._clean_local(self.max_bytes).remaining_bytes

    def clean(
        self,
        *,
        max_bytes: int | None = None,
        unused_since_s: float | None = None,
        is_dry_run: bool = False,
    ) -> CleanResult:
        """Remove entries that exceed a size or an age (:func:`storage.eviction.clean`), for all
        users of this cache; without limits nothing. A dry run removes nothing and returns what
        would be.

        Raises:
            StorageError: the bucket cannot be read.
        """
        is_dry = is_dry_run or (max_bytes is None and unused_since_s is None)
        return self._clean_local(max_bytes, unused_since_s, skip_removal if is_dry else None)

    @property
    def url(self) -> str:
        """Where the users who share it find it."""
        return str(self.root)

    def _clean_local(
        self,
        max_bytes: int | None,
        unused_since_s: float | None = None,
        remove: Callable[[str], bool] | None = None,
    ) -> CleanResult:
        cleaned = clean(
            self._usages(),
            self._pinned(),
            remove or self._remove_local,
            max_bytes=max_bytes,
            unused_since_s=unused_since_s,
        )
        if remove is None:
            self._clear_temporary()
        return cleaned

    def _usages(self) -> list[Usage]:
        usages = (usage_of(entry) for entry in _listed(self.root / "entries", "*/*", _KEY_NAME))
        return [usage for usage in usages if usage is not None]

    def _clear_temporary(self) -> None:
        oldest_s = time.time() - STALE_TEMPORARY_S
        for left_over in _listed(self.root / "tmp", "*", _TEMPORARY_NAME):
            usage = usage_of(left_over)
            if usage is not None and usage.used_s < oldest_s:
                _delete(left_over)

    def entry_bytes(self) -> dict[str, int]:
        """The size of each entry of the local folder, by key."""
        return {usage.name: usage.size_bytes for usage in self._usages()}

    def capacity_notes(self, text_bytes: int) -> list[str]:
        """Sentences for a user who is about to store traces of ``text_bytes`` of text."""
        least_gb, most_gb = (text_bytes * share / 1e9 for share in SHARES_OF_TEXT)
        if most_gb * 1e9 <= self.max_bytes:
            return []
        return [
            f"These traces will take {least_gb:.3g} to {most_gb:.3g} GB in the cache {self.root}, "
            f"whose limit is {self.max_bytes / 1e9:.3g} GB. All of them are retained for "
            f"{PIN_S / 86400:g} days; the least recently used entries are removed for them. "
            f"{LIMIT_VARIABLE} sets the limit."
        ]

    def limit_notes(self, before: Mapping[str, int]) -> list[str]:
        """Sentences about this cache's limit for a user who has stored many traces.

        Args:
            before: :meth:`entry_bytes` before they were stored.
        """
        size_bytes = self.evict()
        notes = []
        evicted = before.keys() - self.entry_bytes().keys()
        if evicted:
            evicted_gb = sum(before[key] for key in evicted) / 1e9
            notes.append(
                "The least recently used entries were removed to make room in the cache "
                f"{self.root}: {len(evicted)} of {evicted_gb:.3g} GB. "
                "Their traces are parsed again when they are opened."
            )
        if size_bytes <= self.max_bytes:
            return notes
        return [
            *notes,
            f"The cache {self.root} holds {size_bytes / 1e9:.3g} GB, more than its limit of "
            f"{self.max_bytes / 1e9:.3g} GB. Ingested traces stay for {PIN_S / 86400:g} days; "
            f"then the least recently used ones are removed. {LIMIT_VARIABLE} sets the limit.",
        ]


def _rename(folder: Path, entry: Path) -> None:
    """Make ``folder`` the entry, unless another process was first; its entry may be gone since.

    Raises:
        OSError: it cannot be renamed.
    """
    try:
        os.rename(folder, entry)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise


def _listed(folder: Path, pattern: str, name: re.Pattern[str]) -> list[Path]:
    """Paths in a folder with names that this cache uses; empty if the folder is being deleted."""
    try:
        return [path for path in folder.glob(pattern) if name.fullmatch(path.name)]
    except OSError:
        return []


def _delete(path: Path) -> None:
    """Delete a folder, or a file or link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink()
    except OSError as error:
        _LOGGER.debug("%s was not deleted: %s", path, error)
