"""The cache folder: finished folders by key, safe for many processes, bounded in size.

An entry is written under ``tmp/``, sealed (``entry_manifest.py``) and renamed into place, so that a
reader sees all of it or nothing. Whoever comes second throws its own copy away. An entry that is
not whole, or that cannot be read, is no entry: it is removed and made again. Nothing here knows
what an entry holds.
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

from torch_tb_profiler.storage.cache_places import LIMIT_VARIABLE, PRIVATE, default_max_bytes
from torch_tb_profiler.storage.entry_manifest import (
    BrokenEntryError,
    Sizes,
    check_sizes,
    read_entry,
    seal,
)
from torch_tb_profiler.storage.eviction import PIN_S, Cleaned, Usage, clean, usage_of, would_go

_LOGGER = logging.getLogger(__name__)

SHARES_OF_TEXT = (0.25, 0.8)
"""What an entry takes of its JSON: a quarter of 350 MB, four fifths of 2 MB."""

STALE_TEMPORARY_S = 3600.0
"""A temporary folder older than this was left by a process that was killed."""

EVICT_AFTER = 0.1
"""Part of the size that a process stores between two looks at all entries: a thousand ranks would
else be looked at a thousand times."""

_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST})
"""Errors of a renaming that say that there was an entry, which may be gone since."""

_KEY_NAME = re.compile(r"\w{40}", re.ASCII)
_TEMPORARY_NAME = re.compile(r"(\w{40}-)?[0-9a-f]{32}(\.tar\.gz)?", re.ASCII)
"""What a cache gives its places. Somebody may name a folder that holds ``tmp`` or ``entries`` of
others, a home or ``/``: what has another name is not touched."""

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_stored_bytes: dict[Path, int] = {}
"""Bytes this process stored in a cache since it last looked at all of its entries."""

T = TypeVar("T")


def cache_key(*parts: str) -> str:
    """One key for everything that decides what an entry holds."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40]


class CacheFolder:
    """Finished folders under ``root`` by key. A folder that cannot be written caches nothing."""

    def __init__(self, root: Path, *, max_bytes: int | None = None) -> None:
        """Make nothing yet.

        Args:
            root: The cache; made when something is stored. Entries are for their writer only,
                unless it lets a group or all write: then they have its rights.
            max_bytes: The size that :meth:`evict` aims at; None takes :func:`default_max_bytes`.
        """
        self.root = root
        self.max_bytes = default_max_bytes() if max_bytes is None else max_bytes

    def _entry(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def is_here(self, key: str) -> bool:
        """Whether something lies under ``key`` in the folder of this machine; cheap, and no look
        at what it is."""
        return os.path.isdir(self._entry(key))  # of a folder that may not be read as well

    def holds(self, key: str) -> bool:
        """Whether an entry is kept under ``key``; nothing is fetched to know it."""
        return self._find_here(key) is not None

    def find(self, key: str) -> Path | None:
        """The folder kept under ``key``, marked as just used; None when there is none.

        Its files are there and as long as they were; :meth:`load` looks at every byte.
        """
        entry = self._find(key)
        return None if entry is None else entry[0]

    def _find(self, key: str) -> tuple[Path, Sizes] | None:
        """The folder kept under ``key`` and what its seal says, fetched if need be."""
        return self._find_here(key)

    def _find_here(self, key: str) -> tuple[Path, Sizes] | None:
        """The same of what lies in the folder of this machine."""
        if not self.is_here(key):
            return None
        entry = self._entry(key)
        try:
            sizes = check_sizes(entry, key)
        except (BrokenEntryError, OSError) as error:
            if self._tell_broken(key, error):
                self._remove_here(key)
            return None
        try:
            os.utime(entry)
        except OSError:
            _LOGGER.debug("cannot mark %s as used", entry)
        return entry, sizes

    def load(self, key: str, read: Callable[[Path], T]) -> T | None:
        """What ``read`` makes of the folder kept under ``key``.

        Returns:
            None when there is none. One that was damaged, or that ``read`` fails on for whatever
            reason, is removed, and is none either.
        """
        entry = self._find(key)
        if entry is None:
            return None
        folder, sizes = entry
        try:
            return read_entry(folder, key, read, sizes)
        except BrokenEntryError as error:
            if self._tell_broken(key, error):
                self.discard(key)
            return None

    def _tell_broken(self, key: str, error: Exception) -> bool:
        """Log it, unless the entry is gone because somebody emptied the cache meanwhile."""
        if not os.path.isdir(self._entry(key)):
            return False
        _LOGGER.warning("a cache entry is broken and will be made again: %s", error)
        return True

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Let ``write`` fill a new folder and keep it under ``key``.

        Returns:
            False when it could not be kept: disk full, no permission. The reason is logged.
        """
        temporary = self.root / "tmp" / uuid.uuid4().hex
        entry = self._entry(key)
        try:
            self._make(temporary)
            write(temporary)
            seal(temporary, key)
            self._make(entry.parent)
            self._lend(temporary)
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
        """Make a folder of the cache, and those above it.

        Raises:
            OSError: no room, no permission.
        """
        self.root.mkdir(PRIVATE, parents=True, exist_ok=True)
        mode = self._mode()
        missing = [folder]
        while not missing[-1].parent.exists():
            missing.append(missing[-1].parent)
        for place in reversed(missing):
            try:
                place.mkdir(PRIVATE)
            except FileExistsError:
                continue
            if mode != PRIVATE:
                place.chmod(mode)

    def _mode(self) -> int:
        """The rights of folders: the root's if others may write there, else the writer's alone."""
        mode = stat.S_IMODE(self.root.stat().st_mode)
        return mode if mode & _WRITABLE_BY_OTHERS else PRIVATE

    def _lend(self, folder: Path) -> None:
        """Let those read a new entry who may use the cache, whatever this process's umask."""
        mode = self._mode()
        if mode != PRIVATE:
            for file in folder.iterdir():
                file.chmod(mode & 0o666)

    def share(self, key: str) -> bool:
        """Make sure that whoever else uses this cache finds the entry that is here.

        In a folder that is for all who see it, it is only kept from eviction, for a week.

        Returns:
            True when others find it.
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

    def was_sent(self, key: str) -> bool:  # noqa: ARG002  # a folder sends nothing
        """Whether this object has put the entry into a bucket; a folder never does."""
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
        """Look at all entries for the first and after every tenth of the size stored here."""
        usage = usage_of(self._entry(key))
        stored = _stored_bytes.get(self.root, self.max_bytes) + (usage.size_bytes if usage else 0)
        if stored > self.max_bytes * EVICT_AFTER:
            self.evict()
            stored = 0
        _stored_bytes[self.root] = stored

    def discard(self, key: str) -> None:
        """Remove a broken entry."""
        self._remove_here(key)

    def _remove_here(self, key: str) -> bool:
        """Take an entry out of sight at once, then delete its files; False if that is not allowed
        or it was gone."""
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
        """Remove the longest unused entries until the rest fit, and what killed writers left.

        Returns:
            Bytes of the entries that stay: more than ``max_bytes`` when none of them may go.
        """
        return self._clean_here(self.max_bytes).kept_bytes

    def clean(
        self,
        *,
        max_bytes: int | None = None,
        unused_since_s: float | None = None,
        is_trial: bool = False,
    ) -> Cleaned:
        """Remove what is too much or too old, as :func:`storage.eviction.clean`, for all who use
        this cache; without limits nothing. A trial removes nothing and tells what would go.

        Raises:
            StorageError: the bucket cannot be read.
        """
        is_look = is_trial or (max_bytes is None and unused_since_s is None)
        return self._clean_here(max_bytes, unused_since_s, would_go if is_look else None)

    @property
    def url(self) -> str:
        """Where those who share it find it."""
        return str(self.root)

    def _clean_here(
        self,
        max_bytes: int | None,
        unused_since_s: float | None = None,
        instead: Callable[[str], bool] | None = None,
    ) -> Cleaned:
        cleaned = clean(
            self._usages(),
            self._pinned(),
            instead or self._remove_here,
            max_bytes=max_bytes,
            unused_since_s=unused_since_s,
        )
        if instead is None:
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
        """The size of each entry of the folder on this machine, by key."""
        return {usage.name: usage.size_bytes for usage in self._usages()}

    def room_notes(self, text_bytes: int) -> list[str]:
        """What whoever is about to store traces of so much text should know: sentences."""
        least_gb, most_gb = (text_bytes * share / 1e9 for share in SHARES_OF_TEXT)
        if most_gb * 1e9 <= self.max_bytes:
            return []
        return [
            f"These traces will take {least_gb:.3g} to {most_gb:.3g} GB in the cache {self.root}, "
            f"whose limit is {self.max_bytes / 1e9:.3g} GB. All of them are kept for "
            f"{PIN_S / 86400:g} days; what was not used for longest goes for them. "
            f"{LIMIT_VARIABLE} sets the limit."
        ]

    def limit_notes(self, before: Mapping[str, int]) -> list[str]:
        """What whoever has stored a lot should know of this cache's limit: sentences.

        Args:
            before: :meth:`entry_bytes` before it was stored.
        """
        size_bytes = self.evict()
        notes = []
        gone = before.keys() - self.entry_bytes().keys()
        if gone:
            notes.append(
                f"{len(gone)} entries ({sum(before[key] for key in gone) / 1e9:.3g} GB) that were "
                f"not used for longest went out of the cache {self.root}, to make room. What they "
                "were made of is parsed again when somebody looks."
            )
        if size_bytes <= self.max_bytes:
            return notes
        return [
            *notes,
            f"The cache {self.root} holds {size_bytes / 1e9:.3g} GB, more than its limit of "
            f"{self.max_bytes / 1e9:.3g} GB. What was ingested stays for {PIN_S / 86400:g} days; "
            f"then the longest unused goes. {LIMIT_VARIABLE} sets the limit.",
        ]


def _rename(folder: Path, entry: Path) -> None:
    """Make ``folder`` the entry, unless another process was first, whose entry may be gone since.

    Raises:
        OSError: it cannot be renamed.
    """
    try:
        os.rename(folder, entry)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise


def _listed(folder: Path, pattern: str, name: re.Pattern[str]) -> list[Path]:
    """What is in a folder under names of ours; nothing where somebody deletes it meanwhile."""
    try:
        return [place for place in folder.glob(pattern) if name.fullmatch(place.name)]
    except OSError:
        return []


def _delete(place: Path) -> None:
    """Delete a folder, or a file or link."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
        return
    try:
        place.unlink()
    except OSError as error:
        _LOGGER.debug("%s was not deleted: %s", place, error)
