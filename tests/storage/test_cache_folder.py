"""Cases: keep and find, all or nothing, many writers at once, broken entries, eviction by use,
left-overs of killed writers, a folder that cannot be written.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from torch_tb_profiler.storage.cache_folder import (
    STALE_TEMPORARY_S,
    CacheFolder,
    cache_key,
    default_cache_folder,
)


def write_bytes(count: int, folder: Path) -> None:
    (folder / "data").write_bytes(b"x" * count)


def test_an_entry_is_found_again(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path / "cache")
    key = cache_key("url", "state", "1")
    assert cache.find(key) is None
    assert cache.store(key, lambda folder: write_bytes(3, folder))
    found = CacheFolder(tmp_path / "cache").find(key)
    assert found is not None
    assert (found / "data").read_bytes() == b"xxx"


def test_keys_depend_on_every_part_and_where_it_ends() -> None:
    keys = {cache_key("a", "b"), cache_key("ab", ""), cache_key("", "ab"), cache_key("a", "c")}
    assert len(keys) == 4
    assert cache_key("w\udcff") != cache_key("w")


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)

    def failing(folder: Path) -> None:
        write_bytes(3, folder)
        raise OSError(28, "No space left on device")

    assert not cache.store("k" * 40, failing)
    assert cache.find("k" * 40) is None
    assert list((tmp_path / "tmp").iterdir()) == []


def test_writers_at_the_same_time_leave_one_whole_entry(tmp_path: Path) -> None:
    def write(number: int) -> bool:
        def fill(folder: Path) -> None:
            for part in range(5):
                (folder / f"part{part}").write_text(str(number))

        return CacheFolder(tmp_path).store("k" * 40, fill)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write, range(32)))
    found = CacheFolder(tmp_path).find("k" * 40)
    assert found is not None
    parts = [(found / f"part{part}").read_text() for part in range(5)]
    assert len(set(parts)) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_broken_entry_can_be_replaced(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    cache.store("k" * 40, lambda folder: write_bytes(1, folder))
    cache.discard("k" * 40)
    cache.discard("k" * 40)
    assert cache.find("k" * 40) is None
    assert cache.store("k" * 40, lambda folder: write_bytes(2, folder))
    found = cache.find("k" * 40)
    assert found is not None
    assert (found / "data").stat().st_size == 2


def test_the_longest_unused_goes_first_and_the_newest_stays(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=250)
    for age, key in [(300, "a" * 40), (200, "b" * 40)]:
        cache.store(key, lambda folder: write_bytes(100, folder))
        entry = tmp_path / "entries" / key[:2] / key
        os.utime(entry, (time.time() - age, time.time() - age))
    assert cache.find("a" * 40) is not None  # used again, so b is now the older one
    cache.store("c" * 40, lambda folder: write_bytes(100, folder))
    assert cache.find("b" * 40) is None
    assert cache.find("a" * 40) is not None
    cache.store("d" * 40, lambda folder: write_bytes(900, folder))
    assert [cache.find(key * 40) is not None for key in "abcd"] == [False, False, False, True]


def test_small_entries_go_last(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=10 << 20)
    sizes = {"old small": 1000, "old": 4 << 20, "small": 1000, "new": 4 << 20, "newest": 4 << 20}
    for age, (name, size) in enumerate(sizes.items()):
        key = cache_key(name)
        cache.store(key, partial(write_bytes, size))
        os.utime(cache._entry(key), (age, age))
    cache.evict()
    assert [name for name in sizes if cache._entry(cache_key(name)).is_dir()] == [
        "old small", "small", "new", "newest",
    ]  # fmt: skip


def test_what_killed_writers_left_goes(tmp_path: Path) -> None:
    for name, age in [("old", STALE_TEMPORARY_S + 60), ("new", 0.0)]:
        folder = tmp_path / "tmp" / name
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age, time.time() - age))
    CacheFolder(tmp_path).store("k" * 40, lambda folder: write_bytes(1, folder))
    assert [folder.name for folder in (tmp_path / "tmp").iterdir()] == ["new"]


def test_a_place_that_cannot_be_written_caches_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = CacheFolder(tmp_path / "file" / "cache")
    assert not cache.store("k" * 40, lambda folder: write_bytes(1, folder))
    assert cache.find("k" * 40) is None


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_TB_PROFILER_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert default_cache_folder() == Path("/somewhere/torch_tb_profiler")
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", "/elsewhere")
    assert default_cache_folder() == Path("/elsewhere")
