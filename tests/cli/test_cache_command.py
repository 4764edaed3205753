"""``cache``: its size; cleaning to the limit, to a size, by age; what stays; bad usage."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.storage.cache_folder import CacheFolder

Run = Callable[..., Done]
DAY_S = 86400


@pytest.fixture(name="folder")
def a_cache(tmp_path: Path) -> Path:
    """Entries of about 2 MB used one, two and three days ago."""
    cache = CacheFolder(tmp_path / "cache")
    for days in (1, 2, 3):
        key = str(days) * 40
        cache.store(key, lambda folder: (folder / "data").write_bytes(bytes(2_000_000)))
        os.utime(cache._entry(key), (time.time() - days * DAY_S,) * 2)
    return cache.root


def days_left(folder: Path) -> list[str]:
    return sorted(entry.name[0] for entry in folder.glob("entries/*/*"))


def test_the_size_of_the_cache(run: Run, folder: Path) -> None:
    done = run("cache", f"--cache-dir={folder}")
    assert done.code == 0
    assert done.out == f"{folder}: 3 entries, 0.006 GB; limit 8.59 GB.\n"
    assert days_left(folder) == ["1", "2", "3"]


def test_without_clean_removals_are_only_listed(run: Run, folder: Path) -> None:
    for limit in (("--older-than", "1.5"), ("--max-gb", "0.003")):
        done = run("cache", f"--cache-dir={folder}", *limit)
        assert done.code == 0
        assert done.out == (
            f"{folder}: 3 entries, 0.006 GB; limit 8.59 GB.\n"
            "--clean would remove: 2 entries, 0.004 GB.\n"
        )
    assert days_left(folder) == ["1", "2", "3"]


def test_cleaning_by_age_by_size_and_to_the_limit(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("cache", f"--cache-dir={folder}", "--clean", "--older-than", "2.5")
    assert "Removed: 1 entries, 0.002 GB." in done.out
    assert days_left(folder) == ["1", "2"]
    assert run("cache", f"--cache-dir={folder}", "--clean").code == 0
    assert days_left(folder) == ["1", "2"]  # that is its limit
    assert run("cache", f"--cache-dir={folder}", "--clean", "--max-gb", "0.003").code == 0
    assert days_left(folder) == ["1"]
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_GB", "0.001")
    assert run("cache", f"--cache-dir={folder}", "--clean").code == 0
    assert days_left(folder) == []


def test_used_and_ingested_entries_stay_with_a_warning(run: Run, folder: Path) -> None:
    cache = CacheFolder(folder)
    assert cache.find("1" * 40)
    assert cache.share("3" * 40)
    os.utime(cache._entry("3" * 40), (1, 1))
    done = run("cache", f"--cache-dir={folder}", "--clean", "--max-gb", "0.001")
    assert done.code == 0
    assert days_left(folder) == ["1", "3"]
    assert "within the last hour" in done.err


def test_bad_usage(run: Run, folder: Path) -> None:
    assert run("cache", f"--cache-dir={folder}", "--max-gb", "1e300").code == 0
    for value in ("0", "-1", "nan", "x"):
        assert run("cache", "--clean", f"--older-than={value}").code == 2
    done = run("cache", "--cache-dir=memory://bucket/x", "--clean")
    assert done.code == 2
    assert "--older-than DAYS" in done.err
    assert run("cache", "--cache-dir=nonsense://x").code == 3
