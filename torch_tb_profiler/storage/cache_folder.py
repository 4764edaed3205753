"""The cache folder: finished folders by key, safe for many processes, bounded in size.

An entry is written under ``tmp/`` and renamed into place, so that a reader sees all of it or
nothing. Whoever comes second throws its own copy away. Nothing here knows what an entry holds.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

_LOGGER = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 8 << 30
"""Parsed traces take about a quarter of their JSON: room for some 30 GB of traces."""

STALE_TEMPORARY_S = 3600.0
"""A temporary folder older than this was left by a process that was killed."""


CACHE_VARIABLE = "TORCH_TB_PROFILER_CACHE_DIR"

EVICT_AFTER = 0.1
"""Part of the size that a process stores between two looks at all entries: a thousand ranks would
else be looked at a thousand times."""

SMALL_BYTES = 1 << 20

_stored_bytes: dict[Path, int] = {}
"""Bytes this process stored in a cache since it last looked at all of its entries."""


def default_cache_folder() -> Path:
    """``$TORCH_TB_PROFILER_CACHE_DIR``, else this user's cache folder on this platform."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else user_cache_folder()


def user_cache_folder() -> Path:
    """This user's cache folder on this platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)) / "torch_tb_profiler"


def cache_key(*parts: str) -> str:
    """One key for everything that decides what an entry holds."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40]


class CacheFolder:
    """Finished folders under ``root`` by key. A folder that cannot be written caches nothing."""

    def __init__(self, root: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.root = root
        self.max_bytes = max_bytes

    def _entry(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def find(self, key: str) -> Path | None:
        """The folder kept under ``key``, marked as just used; None when there is none."""
        entry = self._entry(key)
        if not entry.is_dir():
            return None
        try:
            os.utime(entry)
        except OSError:
            _LOGGER.debug("cannot mark %s as used", entry)
        return entry

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Let ``write`` fill a new folder and keep it under ``key``.

        Returns:
            False when it could not be kept: disk full, no permission. The reason is logged.
        """
        temporary = self.root / "tmp" / uuid.uuid4().hex
        try:
            temporary.mkdir(parents=True, mode=0o700)
            write(temporary)
            entry = self._entry(key)
            entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not entry.exists():
                os.rename(temporary, entry)
        except OSError as error:
            if self._entry(key).is_dir():
                return True  # another process was first
            _LOGGER.warning("the parsed trace is not cached in %s: %s", self.root, error)
            return False
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._evict_if_due(key)
        return True

    def share(self, key: str) -> bool:
        """Make sure that whoever else uses this cache finds the entry that is here.

        Returns:
            True when others find it; a folder's entries are there for all who see the folder.
        """
        return self._entry(key).is_dir()

    def was_sent(self, key: str) -> bool:  # noqa: ARG002  # a folder sends nothing
        """Whether this object has put the entry into a bucket; a folder never does."""
        return False

    def _evict_if_due(self, key: str) -> None:
        """Look at all entries for the first and after every tenth of the size stored here."""
        usage = _usage(self._entry(key))
        stored = _stored_bytes.get(self.root, self.max_bytes) + (usage[1] if usage else 0)
        if stored > self.max_bytes * EVICT_AFTER:
            self.evict()
            stored = 0
        _stored_bytes[self.root] = stored

    def discard(self, key: str) -> None:
        """Remove a broken entry. It goes out of sight at once, before its files are deleted."""
        doomed = self.root / "tmp" / uuid.uuid4().hex
        try:
            doomed.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.rename(self._entry(key), doomed)
        except OSError as error:
            _LOGGER.debug("entry %s was gone: %s", key, error)
            return
        shutil.rmtree(doomed, ignore_errors=True)

    def evict(self) -> None:
        """Remove the longest unused entries until the rest fit, and what killed writers left.

        Small ones go last: the summaries of a run whose traces do not all fit are what its views
        need, and take hardly any room.
        """
        entries = [_usage(entry) for entry in (self.root / "entries").glob("*/*")]
        used = sorted(entry for entry in entries if entry is not None)
        total = sum(size for _, size, _ in used)
        older = used[:-1]  # the newest stays, whatever its size
        for _, size, key in sorted(older, key=lambda entry: entry[1] <= SMALL_BYTES):
            if total <= self.max_bytes:
                break
            self.discard(key)
            total -= size
        oldest = time.time() - STALE_TEMPORARY_S
        for left_over in [_usage(folder) for folder in (self.root / "tmp").glob("*")]:
            if left_over is not None and left_over[0] < oldest:
                shutil.rmtree(self.root / "tmp" / left_over[2], ignore_errors=True)


def _usage(folder: Path) -> tuple[float, int, str] | None:
    """When a folder was last used, its bytes and its name; None when it is being removed."""
    try:
        size_bytes = sum(file.stat().st_size for file in folder.rglob("*"))
        return folder.stat().st_mtime, size_bytes, folder.name
    except OSError:
        return None
