"""Which entries may be removed, in which order; times in the future are repaired or count as long
ago."""

from __future__ import annotations

import os
import time
from pathlib import Path

from torch_tb_profiler.storage.eviction import (
    CLOCK_SKEW_S,
    PROTECTED_S,
    SMALL_BYTES,
    Usage,
    clean,
    removable,
    usage_of,
)


def test_what_may_go_and_in_which_order() -> None:
    now_s = time.time()
    large, small = SMALL_BYTES + 1, SMALL_BYTES
    entries = [
        Usage("recent", now_s - PROTECTED_S + 60, large),
        Usage("newer", now_s - PROTECTED_S - 60, large),
        Usage("oldest, small", 0, small),
        Usage("older", 1, large),
        Usage("pinned", 0, large),
    ]
    order = [entry.name for entry in removable(entries, {"pinned"})]
    assert order == ["older", "newer", "oldest, small"]


def test_what_is_too_old_goes_and_the_longest_unused_until_the_rest_fits() -> None:
    entries = [Usage(str(day), day * 86400.0, 10) for day in range(10)]
    removed: list[str] = []

    def remove(name: str) -> bool:
        removed.append(name)
        return name != "4"  # this one may not

    assert clean(entries, {"1"}, remove).removed == 0
    assert removed == []
    cleaned = clean(entries, {"1"}, remove, unused_since_s=3 * 86400.0)
    assert removed == ["0", "2"]
    assert (cleaned.remaining, cleaned.remaining_bytes, cleaned.removed_bytes) == (8, 80, 20)
    removed.clear()
    cleaned = clean(entries, {"1"}, remove, max_bytes=75, unused_since_s=86400.0)
    assert removed == ["0", "2", "3"]
    removed.clear()
    assert clean(entries[3:], (), remove, max_bytes=50).remaining_bytes == 50
    assert removed == ["3", "4", "5"]  # another for the one that may not


def test_usage_counts_files_and_not_what_links_lead_to(tmp_path: Path) -> None:
    folder = tmp_path / "entry"
    folder.mkdir()
    (folder / "data").write_bytes(b"x" * 1000)
    (tmp_path / "large").write_bytes(bytes(1 << 20))
    (folder / "link").symlink_to(tmp_path / "large")
    usage = usage_of(folder)
    assert usage is not None
    assert usage.name == "entry"
    assert 1000 < usage.size_bytes < 2000
    assert usage_of(tmp_path / "missing") is None


def test_a_time_of_the_future_becomes_now(tmp_path: Path) -> None:
    for ahead_s in (CLOCK_SKEW_S / 2, CLOCK_SKEW_S * 100):
        os.utime(tmp_path, (time.time() + ahead_s,) * 2)
        usage = usage_of(tmp_path)
        assert usage is not None
        assert usage.used_s <= time.time()
    assert tmp_path.stat().st_mtime <= time.time()
