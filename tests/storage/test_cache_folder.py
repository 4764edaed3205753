"""Cases: store and find, all or nothing, many writers at once (threads and processes), broken
entries, eviction by use and its exceptions, clocks that are set, remains of killed writers, other
users, a full disk, a cache that is deleted while it is used."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from torch_tb_profiler.storage.cache_folder import (
    STALE_TEMPORARY_S,
    CacheFolder,
    cache_key,
)


def write_bytes(count: int, folder: Path) -> None:
    (folder / "data").write_bytes(b"x" * count)


def test_a_stored_entry_is_returned(tmp_path: Path) -> None:
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


HOUR_S = 3600.0


def used(cache: CacheFolder, key: str, ago_s: float) -> None:
    time_s = time.time() - ago_s
    os.utime(cache._entry(key), (time_s, time_s))


def kept(cache: CacheFolder) -> list[str]:
    """The keys that are there, without marking them as used."""
    return sorted(entry.name for entry in (cache.root / "entries").glob("*/*"))


def filled(root: Path, ages_s: dict[str, float], **limits: int) -> CacheFolder:
    """A cache of entries of some 1.2 kB by key, last used so long ago."""
    cache = CacheFolder(root, max_bytes=1 << 30)
    for key, age_s in ages_s.items():
        cache.store(key, partial(write_bytes, 1000))
        used(cache, key, age_s)
    return CacheFolder(root, **limits)


def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    ages_s = {"a" * 40: 9 * HOUR_S, "b" * 40: 8 * HOUR_S, "c" * 40: 7 * HOUR_S}
    cache = filled(tmp_path, ages_s, max_bytes=2500)
    assert cache.find("a" * 40) is not None  # used again, so b is now the oldest
    cache.evict()
    assert kept(cache) == ["a" * 40, "c" * 40]
    CacheFolder(tmp_path, max_bytes=0).store("d" * 40, partial(write_bytes, 9000))
    assert kept(cache) == ["a" * 40, "d" * 40]


def test_small_entries_go_last(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=10 << 20)
    sizes = {"old small": 1000, "old": 4 << 20, "small": 1000, "new": 4 << 20, "newest": 4 << 20}
    for age, (name, size) in enumerate(sizes.items()):
        cache.store(cache_key(name), partial(write_bytes, size))
        used(cache, cache_key(name), (9 - age) * HOUR_S)
    cache.evict()
    assert [name for name in sizes if cache_key(name) in kept(cache)] == [
        "old small", "small", "new", "newest",
    ]  # fmt: skip


def test_a_run_does_not_evict_itself_and_the_excess_is_reported(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=3000)
    for number in range(20):
        assert cache.store(cache_key(f"{number}"), partial(write_bytes, 1000))
    assert len(kept(cache)) == 20
    (note,) = cache.limit_notes({})
    assert "more than its limit" in note
    assert "TORCH_TB_PROFILER_CACHE_GB" in note
    assert CacheFolder(tmp_path, max_bytes=1 << 20).limit_notes({}) == []


def test_notes_report_the_excess_and_the_evicted_entries(tmp_path: Path) -> None:
    old = "a" * 40
    cache = filled(tmp_path, {old: 2 * HOUR_S}, max_bytes=3000)
    before = cache.entry_bytes()
    assert list(before) == [old]
    assert cache.capacity_notes(3000) == []
    (note,) = cache.capacity_notes(1_000_000_000)
    assert "0.25 to 0.8 GB" in note
    assert "TORCH_TB_PROFILER_CACHE_GB" in note
    for number in range(4):
        cache.store(cache_key(f"{number}"), partial(write_bytes, 1000))
    gone, excess = cache.limit_notes(before)
    assert ": 1 of " in gone
    assert "more than its limit" in excess
    assert cache.limit_notes(cache.entry_bytes()) == [excess]


def test_what_was_ingested_stays_for_a_week(tmp_path: Path) -> None:
    key = "a" * 40
    cache = filled(tmp_path, {key: HOUR_S, "b" * 40: 0}, max_bytes=100)
    assert cache.share(key)
    for days, is_kept in ((6, True), (8, False)):
        used(cache, key, days * 24 * HOUR_S)
        pinned_s = time.time() - days * 24 * HOUR_S
        os.utime(cache._pin(key), (pinned_s, pinned_s))
        assert cache.evict() > cache.max_bytes
        assert (key in kept(cache)) is is_kept
    assert not cache._pin(key).exists()
    assert not cache.share(key)


def test_after_a_clock_was_set_back_entries_age_like_others(tmp_path: Path) -> None:
    ages_s = {"a" * 40: -9999 * HOUR_S, "b" * 40: 2 * HOUR_S, "c" * 40: 3 * HOUR_S}
    cache = filled(tmp_path, ages_s, max_bytes=2500)
    cache.evict()
    assert kept(cache) == ["a" * 40, "b" * 40]  # not everything, and not the one of the future
    assert cache._entry("a" * 40).stat().st_mtime <= time.time()
    used(cache, "a" * 40, 5 * HOUR_S)
    CacheFolder(tmp_path, max_bytes=2000).evict()
    assert kept(cache) == ["b" * 40]


def test_a_damaged_entry_is_none_and_is_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache, key = CacheFolder(tmp_path), "k" * 40
    cache.store(key, partial(write_bytes, 100))
    assert cache.load(key, lambda folder: (folder / "data").read_bytes()) == b"x" * 100
    data = cache._entry(key) / "data"
    data.write_bytes(b"x" * 99 + b"y")
    assert cache.load(key, os.listdir) is None
    assert kept(cache) == []
    assert len(caplog.records) == 1
    cache.store(key, partial(write_bytes, 100))
    os.truncate(data, 99)
    assert cache.find(key) is None
    assert cache.store(key, partial(write_bytes, 100))
    assert cache.find(key) is not None


def test_what_killed_writers_left_goes(tmp_path: Path) -> None:
    old, new, future = (letter * 32 for letter in "abc")  # names as writers give them
    for name, age in [(old, STALE_TEMPORARY_S + 60), (new, 0.0), (future, -9e9)]:
        folder, file = tmp_path / "tmp" / name, tmp_path / "tmp" / f"{'k' * 40}-{name}.tar.gz"
        folder.mkdir(parents=True)
        file.touch()
        for place in (folder, file):
            os.utime(place, (time.time() - age, time.time() - age))
    CacheFolder(tmp_path).store("k" * 40, lambda folder: write_bytes(1, folder))
    left = {place.name: place for place in (tmp_path / "tmp").iterdir()}
    files = [f"{'k' * 40}-{name}.tar.gz" for name in (new, future)]
    assert sorted(left) == [new, future, *files]
    assert left[future].stat().st_mtime <= time.time()  # its hour begins


def test_what_a_cache_has_not_written_stays(tmp_path: Path) -> None:
    foreign = ["tmp/thesis.doc", "tmp/build/a.o", "pins/list", "entries/20/2024/notes", "tmp/.x"]
    for name in foreign:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        for place in (file, *file.parents):
            if place.is_relative_to(tmp_path):
                os.utime(place, (1, 1))
    cache = CacheFolder(tmp_path, max_bytes=0)
    assert cache.clean().remaining == 0
    assert cache.clean(max_bytes=0, unused_since_s=time.time()).removed == 0
    cache.store("k" * 40, partial(write_bytes, 1))
    assert all((tmp_path / name).exists() for name in foreign)


def test_cleaning_without_limits_removes_nothing(tmp_path: Path) -> None:
    stale = tmp_path / "tmp" / ("a" * 32)
    stale.mkdir(parents=True)
    os.utime(stale, (1, 1))
    cache = CacheFolder(tmp_path)
    cache.clean()
    assert stale.exists()
    cache.evict()
    assert not stale.exists()


def test_a_folder_that_cannot_be_written_caches_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = CacheFolder(tmp_path / "file" / "cache")
    assert not cache.store("k" * 40, lambda folder: write_bytes(1, folder))
    assert cache.find("k" * 40) is None


def test_rights_are_the_writers_alone_or_those_of_a_folder_for_many(tmp_path: Path) -> None:
    for mode, expected in ((0o755, (0o700, 0o700)), (0o2775, (0o2775, 0o664))):
        root = tmp_path / f"{mode:o}"
        root.mkdir()
        root.chmod(mode)
        cache = CacheFolder(root)
        umask = os.umask(0o077)
        try:
            assert cache.store("k" * 40, partial(write_bytes, 3))
            assert cache.share("k" * 40)
        finally:
            os.umask(umask)
        entry = cache._entry("k" * 40)
        folders = [entry, entry.parent, entry.parent.parent, root / "tmp", root / "pins"]
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {expected[0]}
        if mode == 0o2775:
            assert {stat.S_IMODE(file.stat().st_mode) for file in entry.iterdir()} == {expected[1]}


AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from torch_tb_profiler.storage.cache_folder import CacheFolder
if os.getuid() == 0:
    os.setuid(65534)
cache = CacheFolder(Path(sys.argv[1]))
print(cache.find("k" * 40), cache.load("k" * 40, os.listdir), cache.share("k" * 40))
print(cache.store("n" * 40, lambda folder: (folder / "data").touch()), cache.evict())
cache.discard("k" * 40)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs users")
def test_the_private_cache_of_another_user_is_no_cache_and_no_error(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own may be looked into by nobody
        root = Path(folder) / "cache"
        CacheFolder(root).store("k" * 40, partial(write_bytes, 3))
        Path(folder).chmod(0o755)
        root.chmod(0o755 if os.getuid() == 0 else 0o555)
        if os.getuid() != 0:
            (root / "entries").chmod(0)
        try:
            done = run_python(AS_ANOTHER_USER, str(root))
        finally:
            root.chmod(0o755)
            (root / "entries").chmod(0o755)
        assert done.stdout.split() == ["None", "None", "False", "False", "0"]
        assert "Traceback" not in done.stderr


IN_LITTLE_ROOM = """
import resource, signal, sys
from pathlib import Path
from torch_tb_profiler.storage.cache_folder import CacheFolder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache = CacheFolder(Path(sys.argv[1]))
print(cache.store("k" * 40, lambda folder: (folder / "data").write_bytes(b"x" * 9999)))
print(cache.find("k" * 40), list((cache.root / "tmp").iterdir()))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs limits of a process")
def test_an_entry_that_does_not_fit_is_not_stored_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_python(IN_LITTLE_ROOM, str(tmp_path / "cache"))
    assert done.stdout.split() == ["False", "None", "[]"]
    assert done.stderr.count("is not cached") == 1


STORE_AND_FIND = """
import sys
from pathlib import Path
from torch_tb_profiler.storage.cache_folder import CacheFolder
cache = CacheFolder(Path(sys.argv[1]))
for number in range(100):
    assert cache.store("k" * 40, lambda folder: (folder / "data").write_bytes(b"x" * 1000))
    entry = cache.load("k" * 40, lambda folder: (folder / "data").stat().st_size)
    assert entry in (1000, None), entry
    cache.discard("k" * 40)
"""


def test_processes_that_store_and_discard_one_key_never_fail(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(run_python, STORE_AND_FIND, str(tmp_path)) for _ in range(3)]
        done = [future.result() for future in futures]
    assert [process.returncode for process in done] == [0, 0, 0], done
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_cache_that_is_deleted_while_in_use_is_created_again(tmp_path: Path) -> None:
    cache, key, is_done = CacheFolder(tmp_path / "cache"), "k" * 40, threading.Event()

    def delete() -> int:
        count = 0
        while not is_done.is_set() or count == 0:
            shutil.rmtree(cache.root, ignore_errors=True)
            count += 1
        return count

    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(delete)
        try:
            for _ in range(300):
                cache.store(key, partial(write_bytes, 1000))
                assert cache.load(key, lambda f: (f / "data").stat().st_size) in (1000, None)
                cache.share(key)
                cache.evict()
        finally:
            is_done.set()
        assert deleting.result() > 0
    assert cache.store(key, partial(write_bytes, 1000))
    assert cache.find(key) is not None


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
