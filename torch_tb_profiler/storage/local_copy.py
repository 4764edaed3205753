"""Temporary local copies of files that need random access and are remote or compressed.

A copy lies in the cache folder while it is read, private to its owner, and is removed afterwards:
the parsed trace is cached, not the copy. Copies of a process that was killed are removed with its
unfinished cache entries, next to which they lie.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from typing import BinaryIO

from torch_tb_profiler.storage.cache_location import PRIVATE, default_cache_folder
from torch_tb_profiler.storage.environment import positive_number
from torch_tb_profiler.storage.errors import StorageError, from_os_error

LIMIT_VARIABLE = "TORCH_TB_PROFILER_COPY_GB"
DEFAULT_LIMIT_GB = 64.0
"""Enough for a database of some 400 million rows."""

MIN_FREE_BYTES = 1 << 30
"""Disk space that is left free for others."""


class LocalCopy:
    """One copy, written from beginning to end."""

    def __init__(self, name: str) -> None:
        """Start a copy.

        Args:
            name: The file, as the user knows it.

        Raises:
            StorageError: no folder can be created for it.
        """
        self._name = name
        self._written_bytes = 0
        self._limit_bytes = int(positive_number(LIMIT_VARIABLE, DEFAULT_LIMIT_GB) * 1e9)
        try:
            self._folder = os.path.join(_copy_folder(), uuid.uuid4().hex)
            os.mkdir(self._folder, PRIVATE)
            path = os.path.join(self._folder, "copy")
            self._file: BinaryIO | None = open(path, "xb")  # noqa: SIM115
        except OSError as error:
            raise from_os_error(error, name) from error
        self.path = path

    def write(self, chunk: bytes) -> None:
        """Append to it.

        Raises:
            StorageError: it becomes too large, or the disk is full.
        """
        assert self._file is not None, "it is finished"
        self._written_bytes += len(chunk)
        free_bytes = shutil.disk_usage(self._folder).free
        if self._written_bytes > self._limit_bytes or free_bytes < MIN_FREE_BYTES + len(chunk):
            raise self._too_large()
        try:
            self._file.write(chunk)
        except OSError as error:
            raise self._too_large() from error

    def finish(self) -> str:
        """Close the copy and return its path."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return self.path

    def remove(self) -> None:
        """Delete it."""
        self.finish()
        with suppress(OSError):
            shutil.rmtree(self._folder)

    def _too_large(self) -> StorageError:
        return StorageError(
            "no_room",
            f"{self._name} must be copied to this machine to be read, and {self._folder} has no "
            f"room for more than {self._written_bytes / 1e6:,.0f} MB of it.",
            f"Download and unpack it yourself and open that file, or choose a larger disk with "
            f"TORCH_TB_PROFILER_CACHE_DIR and a limit with {LIMIT_VARIABLE} (GB).",
        )


def _copy_folder() -> str:
    """The cache folder, or that of temporary files if it cannot be used."""
    folder = default_cache_folder() / "tmp"
    try:
        folder.mkdir(PRIVATE, parents=True, exist_ok=True)
    except OSError:
        return tempfile.gettempdir()
    return str(folder) if os.access(folder, os.W_OK) else tempfile.gettempdir()
