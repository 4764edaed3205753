"""Copies on this machine of files that are read in any order and lie elsewhere, or are packed.

They lie in the cache folder while they are read, for their owner alone, and are removed after: what
was parsed of them is kept, not they. Those of a process that was killed go with its unfinished
cache entries, among which they lie.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from typing import BinaryIO

from torch_tb_profiler.storage.cache_places import PRIVATE, default_cache_folder
from torch_tb_profiler.storage.environment import positive_number
from torch_tb_profiler.storage.errors import StorageError, from_os_error

LIMIT_VARIABLE = "TORCH_TB_PROFILER_COPY_GB"
DEFAULT_LIMIT_GB = 64.0
"""Room for a database of some 400 million rows."""

KEPT_FREE_BYTES = 1 << 30
"""Of the disk so much is left to everybody else."""


class Copy:
    """One copy, written from its beginning to its end."""

    def __init__(self, name: str) -> None:
        """Begin one.

        Args:
            name: The file, as the user knows it.

        Raises:
            StorageError: there is no place for it.
        """
        self._name = name
        self._written_bytes = 0
        self._limit_bytes = int(positive_number(LIMIT_VARIABLE, DEFAULT_LIMIT_GB) * 1e9)
        try:
            self._folder = os.path.join(_place(), uuid.uuid4().hex)
            os.mkdir(self._folder, PRIVATE)
            path = os.path.join(self._folder, "copy")
            self._file: BinaryIO | None = open(path, "xb")  # noqa: SIM115
        except OSError as error:
            raise from_os_error(error, name) from error
        self.path = path

    def write(self, chunk: bytes) -> None:
        """Add to it.

        Raises:
            StorageError: it becomes too large, or the disk is full.
        """
        assert self._file is not None, "it is finished"
        self._written_bytes += len(chunk)
        free_bytes = shutil.disk_usage(self._folder).free
        if self._written_bytes > self._limit_bytes or free_bytes < KEPT_FREE_BYTES + len(chunk):
            raise self._too_large()
        try:
            self._file.write(chunk)
        except OSError as error:
            raise self._too_large() from error

    def finish(self) -> str:
        """The path of the whole of it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return self.path

    def remove(self) -> None:
        """Remove it."""
        self.finish()
        with suppress(OSError):
            shutil.rmtree(self._folder)

    def _too_large(self) -> StorageError:
        return StorageError(
            "no_room",
            f"{self._name} has to lie on this machine to be read, and {self._folder} has no room "
            f"for more than {self._written_bytes / 1e6:,.0f} MB of it.",
            f"Download and unpack it yourself and name that file, or choose a larger disk with "
            f"TORCH_TB_PROFILER_CACHE_DIR and a limit with {LIMIT_VARIABLE} (GB).",
        )


def _place() -> str:
    """The cache folder, or that of temporary files where there is none."""
    folder = default_cache_folder() / "tmp"
    try:
        folder.mkdir(PRIVATE, parents=True, exist_ok=True)
    except OSError:
        return tempfile.gettempdir()
    return str(folder) if os.access(folder, os.W_OK) else tempfile.gettempdir()
