"""Compresses a file in place, keeping its modification time; on failure the file stays as it is."""

from __future__ import annotations

import gzip
import os
import shutil
from contextlib import suppress
from typing import Any

GZIP_SUFFIX, PARTIAL_SUFFIX = ".gz", ".partial"
LEVEL = 2
COPY_BYTES = 1 << 20


def compress_file(path: str) -> str:
    """Compress a file into ``<path>.gz`` and remove the original.

    Returns:
        The path of the file that remains: the compressed one, or the original on failure.
    """
    packed, partial = path + GZIP_SUFFIX, path + GZIP_SUFFIX + PARTIAL_SUFFIX
    try:
        status = os.stat(path)
        with open(path, "rb") as source, _open_gzip(partial) as target:
            shutil.copyfileobj(source, target, COPY_BYTES)
        os.utime(partial, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.replace(partial, packed)
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        return packed if not os.path.exists(path) else path
    return packed


def _open_gzip(path: str) -> Any:
    """Open a gzip file for writing, with the faster library if it is installed."""
    try:
        from isal import igzip  # noqa: PLC0415 - the program's environment may lack it
    except ImportError:
        return gzip.open(path, "wb", compresslevel=LEVEL)
    opener: Any = igzip.open
    return opener(path, "wb", compresslevel=LEVEL)
