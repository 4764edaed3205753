"""Default location and size limit of the cache."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from torch_tb_profiler.storage.environment import positive_number

CACHE_VARIABLE = "TORCH_TB_PROFILER_CACHE_DIR"
LIMIT_VARIABLE = "TORCH_TB_PROFILER_CACHE_GB"

DEFAULT_MAX_BYTES = 8 << 30
"""Enough for some 30 GB of JSON in large traces, and 10 GB in small ones."""

PRIVATE = 0o700
"""Permissions of folders that only their owner can use."""


def default_cache_folder() -> Path:
    """``$TORCH_TB_PROFILER_CACHE_DIR``, else this user's cache folder on this platform."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(os.path.expanduser(chosen)) if chosen else user_cache_folder()


def user_cache_folder() -> Path:
    """This user's cache folder on this platform; a temporary one for a user without a home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = os.path.expanduser(base)
    return _homeless_folder() if folder.startswith("~") else Path(folder) / "torch_tb_profiler"


def _homeless_folder() -> Path:
    """A temporary folder for a user without a home; an unusable path if another user created it."""
    user = getattr(os, "getuid", int)()
    folder = Path(tempfile.gettempdir()) / f"torch_tb_profiler-{user}"
    try:
        folder.mkdir(PRIVATE, exist_ok=True)
        is_ours = folder.lstat().st_uid == user and folder.is_dir() and not folder.is_symlink()
    except OSError:
        is_ours = False
    return folder if is_ours else Path(os.devnull) / folder.name


def default_max_bytes() -> int:
    """``$TORCH_TB_PROFILER_CACHE_GB`` in bytes, else :data:`DEFAULT_MAX_BYTES`."""
    chosen_gb = positive_number(LIMIT_VARIABLE, DEFAULT_MAX_BYTES / 1e9)
    return int(min(chosen_gb * 1e9, sys.maxsize))
