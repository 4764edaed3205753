"""``torch-tb-profiler cache``: shows and cleans the cache, in a folder or a bucket."""

from __future__ import annotations

import time
from argparse import Namespace

from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    DONE,
    INPUT_UNREADABLE,
    print_error,
    print_warning,
)
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.eviction import PIN_S, CleanResult
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder, open_cache

DAY_S = 86400.0


def run(arguments: Namespace) -> int:
    """Print the size of the cache and what exceeds the limits; with ``--clean`` remove that first.

    Returns:
        0, 2 if a bucket is to be cleaned without a limit, 3 if the cache cannot be read.
    """
    has_limits = arguments.older_than is not None or arguments.max_gb is not None
    try:
        cache = open_cache(arguments.cache_dir)
        is_bucket = isinstance(cache, SharedCacheFolder)
        if arguments.clean and is_bucket and not has_limits:
            print_error(
                f"{cache.url} has no size limit.",
                "Choose what to remove with --older-than DAYS or --max-gb GB.",
            )
            return BAD_USAGE
        max_bytes = _max_bytes(arguments, cache, has_limits)
        cleaned = cache.clean(
            max_bytes=max_bytes,
            unused_since_s=_unused_since_s(arguments),
            is_dry_run=not arguments.clean,
        )
    except StorageError as error:
        print_error(error.message, error.hint)
        return INPUT_UNREADABLE
    _print_summary(cache, cleaned, max_bytes, is_bucket=is_bucket, is_dry_run=not arguments.clean)
    return DONE


def _max_bytes(arguments: Namespace, cache: CacheFolder, has_limits: bool) -> int | None:
    if arguments.max_gb is not None:
        return int(arguments.max_gb * 1e9)
    return cache.max_bytes if arguments.clean and not has_limits else None


def _unused_since_s(arguments: Namespace) -> float | None:
    days = arguments.older_than
    return None if days is None else time.time() - days * DAY_S


def _print_summary(
    cache: CacheFolder,
    cleaned: CleanResult,
    max_bytes: int | None,
    *,
    is_bucket: bool,
    is_dry_run: bool,
) -> None:
    limit = "no limit" if is_bucket else f"limit {cache.max_bytes / 1e9:.3g} GB"
    count, size_bytes = cleaned.remaining, cleaned.remaining_bytes
    if is_dry_run:
        count, size_bytes = count + cleaned.removed, size_bytes + cleaned.removed_bytes
    print(f"{visible(cache.url)}: {count} entries, {size_bytes / 1e9:.3g} GB; {limit}.")
    gone = f"{cleaned.removed} entries, {cleaned.removed_bytes / 1e9:.3g} GB."
    if cleaned.removed and is_dry_run:
        print(f"--clean would remove: {gone}")
    elif cleaned.removed:
        print(f"Removed: {gone}")
    if max_bytes is not None and cleaned.remaining_bytes > max_bytes:
        ingested = "" if is_bucket else f", or ingested within {PIN_S / DAY_S:g} days,"
        written = "written" if is_bucket else "used"
        print_warning(f"What was {written} within the last hour{ingested} stays.")
