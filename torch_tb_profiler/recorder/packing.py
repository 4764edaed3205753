"""A file becomes a gzip file of the same date; where that cannot be, it stays."""

from __future__ import annotations

import gzip
import os
import shutil
from contextlib import suppress
from typing import Any

PACKED, PARTIAL = ".gz", ".partial"
LEVEL = 2
COPY_BYTES = 1 << 20


def pack(path: str) -> str:
    """Compress a file into ``<path>.gz`` and remove it; where what is left lies."""
    packed, partial = path + PACKED, path + PACKED + PARTIAL
    try:
        status = os.stat(path)
        with open(path, "rb") as source, _opened(partial) as target:
            shutil.copyfileobj(source, target, COPY_BYTES)
        os.utime(partial, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.replace(partial, packed)
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        return packed if not os.path.exists(path) else path
    return packed


def _opened(path: str) -> Any:
    """A gzip file to write, by the faster library where it is installed."""
    try:
        from isal import igzip  # noqa: PLC0415 - no dependency of ours
    except ImportError:
        return gzip.open(path, "wb", compresslevel=LEVEL)
    opener: Any = igzip.open
    return opener(path, "wb", compresslevel=LEVEL)
