"""Folders in which a worker hands its tables over, and what killed processes left of them."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torch_tb_profiler.once import once

PREFIX = "torch_tb_profiler-scratch-"
ABANDONED_S = 86400.0
"""A folder in use is written to again and again: the worker reports its progress there."""

_NAME = re.compile(rf"{PREFIX}\w{{8}}", re.ASCII)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files that is deleted afterwards.

    Raises:
        OSError: it cannot be created.
    """
    _clear_once()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        yield Path(folder)


def remove_abandoned() -> None:
    """Delete the folders of processes that were killed: those of this user that nothing was written
    to for a day."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


@once
def _clear_once() -> None:
    remove_abandoned()


def _remove_if_abandoned(folder: Path) -> None:
    status = folder.lstat()
    is_own = status.st_uid == getattr(os, "getuid", int)()
    if not is_own or not stat.S_ISDIR(status.st_mode):
        return
    used_s = max(status.st_mtime, *(file.lstat().st_mtime for file in folder.iterdir()), 0.0)
    if used_s < time.time() - ABANDONED_S:
        shutil.rmtree(folder, ignore_errors=True)
