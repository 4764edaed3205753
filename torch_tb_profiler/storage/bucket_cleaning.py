"""Remove entries from a cache in a bucket: by age of writing, or down to a size.

Only objects with the names of entries are counted and removed, whatever else has the same prefix.
"""

from __future__ import annotations

import logging
import re
from datetime import datetime, timezone
from typing import Any

from torch_tb_profiler.storage import deadlines
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.eviction import CleanResult, Usage, clean, skip_removal
from torch_tb_profiler.storage.locations import Location

_LOGGER = logging.getLogger(__name__)

_ENTRY = re.compile(
    r"(entries/\w{40}\.tar\.gz|signed/[0-9a-f]{16}/\w{40})(\.[0-9a-f]{32})?", re.ASCII
)
"""An entry below the prefix; the last part marks one whose upload never finished."""

_WRITTEN = ("LastModified", "last_modified", "updated", "mtime", "created")
"""What the stores call the time of the last write."""


def clean_bucket(
    bucket: Location,
    *,
    max_bytes: int | None,
    unused_since_s: float | None,
    is_dry_run: bool = False,
) -> CleanResult:
    """Remove entries, the oldest first; as :func:`storage.eviction.clean`. A dry run removes
    nothing and returns what would be removed.

    Raises:
        StorageError: the bucket cannot be listed.
    """
    with remote_errors(bucket.url):
        objects = _listed(bucket)

    def remove(path: str) -> bool:
        try:
            with remote_errors(bucket.url):
                deadlines.request(bucket.filesystem, "rm_file", path)
        except StorageError as error:
            _LOGGER.warning("an entry was not removed: %s", error.message)
            return False
        return True

    return clean(
        objects,
        (),
        skip_removal if is_dry_run else remove,
        max_bytes=max_bytes,
        unused_since_s=unused_since_s,
    )


def _listed(bucket: Location) -> list[Usage]:
    total_s = deadlines.remote_timeout_s() * deadlines.LISTING_LIMITS
    objects: dict[str, dict[str, Any]] = deadlines.request(
        bucket.filesystem, "find", bucket.path, detail=True, total_s=total_s
    )
    prefix = bucket.path.strip("/") + "/"
    return [
        Usage(path, _written_s(info), int(info.get("size") or 0))
        for path, info in objects.items()
        if _ENTRY.fullmatch(path.strip("/").removeprefix(prefix))
    ]


def _written_s(info: dict[str, Any]) -> float:
    """When an object was written, in seconds since 1970; infinite if the store does not report it,
    so that the object stays."""
    for key in _WRITTEN:
        written = info.get(key)
        if isinstance(written, str):
            written = _parsed(written)
        if isinstance(written, datetime):
            zoned = written if written.tzinfo else written.replace(tzinfo=timezone.utc)
            return zoned.timestamp()
        if isinstance(written, int | float):
            return float(written)
    return float("inf")


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
