"""Cases: a bucket or a folder by name; a local entry is shared once; downloads are bounded,
validated and, with a key, signed; local problems do no harm there; limits. Sharing between machines
is tested on real stores in ``tests/cloud``."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.storage import shared_cache
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.cache_location import CACHE_VARIABLE
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import FileState, Location, file_state, open_location
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder, open_cache
from torch_tb_profiler.storage.signing import KEY_VARIABLE

KEY = "k" * 40
SECRET = "0123456789abcdef-secret"


@pytest.fixture(name="bucket")
def bucket_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    return open_location(f"memory://bucket/{tmp_path.name}")


def write(content: bytes = b"x") -> Callable[[Path], int]:
    return lambda folder: (folder / "data").write_bytes(content)


def read(cache: CacheFolder, key: str = KEY) -> bytes | None:
    return cache.load(key, lambda folder: (folder / "data").read_bytes())


def objects(bucket: Location) -> list[str]:
    paths: list[str] = bucket.filesystem.find(bucket.path)
    return paths


def test_a_cache_is_named_by_argument_variable_or_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "variable"))
    assert open_cache().root == tmp_path / "variable"
    assert open_cache(tmp_path / "argument").root == tmp_path / "argument"
    monkeypatch.setenv(CACHE_VARIABLE, "memory://bucket/cache")
    assert isinstance(open_cache(), SharedCacheFolder)
    monkeypatch.delenv(CACHE_VARIABLE)
    assert type(open_cache()) is CacheFolder
    folder = open_cache(f"file://{tmp_path}/cache")
    assert type(folder) is CacheFolder
    assert folder.root == tmp_path / "cache"


def test_a_cache_that_cannot_be_opened_is_an_error() -> None:
    with pytest.raises(StorageError, match="nonsense://x"):
        open_cache("nonsense://x")


def test_an_entry_that_is_only_here_is_shared_once(tmp_path: Path, bucket: Location) -> None:
    CacheFolder(tmp_path).store(KEY, write())
    here, there = SharedCacheFolder(bucket, tmp_path), SharedCacheFolder(bucket, tmp_path / "b")
    assert not there.share(KEY)  # nobody has it
    assert here.share(KEY)
    assert here.was_uploaded(KEY)
    assert there.share(KEY)
    assert not there.was_uploaded(KEY)  # it was there already
    assert read(there) == b"x"


def test_a_bucket_gets_one_request_for_a_missing_entry(
    tmp_path: Path, bucket: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counting(place: Location) -> FileState:
        asked.append(place.url)
        return file_state(place)

    monkeypatch.setattr(shared_cache, "file_state", counting)
    cache = SharedCacheFolder(bucket, tmp_path)
    assert not cache.holds(KEY)
    assert cache.find(KEY) is None
    assert read(cache) is None
    assert len(asked) == 1
    assert cache.store(KEY, write())
    assert cache.share(KEY)
    assert len(asked) == 1
    monkeypatch.setattr(shared_cache, "KNOWN_S", -1.0)
    assert cache.share(KEY)
    assert len(asked) == 2


def test_what_the_bucket_holds_is_known_without_fetching_it(
    tmp_path: Path, bucket: Location
) -> None:
    SharedCacheFolder(bucket, tmp_path / "a").store(KEY, write())
    there = SharedCacheFolder(bucket, tmp_path / "b")
    assert there.holds(KEY)
    assert not there.has_local(KEY)
    assert there.find(KEY) is not None
    assert there.has_local(KEY)


def test_a_folder_shares_what_it_has(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    assert not cache.share(KEY)
    cache.store(KEY, write())
    assert cache.share(KEY)
    assert not cache.was_uploaded(KEY)


def test_a_full_folder_takes_nothing_from_the_bucket(tmp_path: Path, bucket: Location) -> None:
    here = SharedCacheFolder(bucket, tmp_path, max_bytes=10)
    here.store(KEY, write())
    (entry,) = (tmp_path / "entries").glob("*/*")
    for place in (entry, *entry.iterdir()):
        os.utime(place, (1, 1))
    here.evict()
    assert not entry.exists()
    assert len(objects(bucket)) == 1


def test_what_is_damaged_here_is_fetched_again_and_not_shared(
    tmp_path: Path, bucket: Location
) -> None:
    here = SharedCacheFolder(bucket, tmp_path)
    here.store(KEY, write())
    (data,) = (tmp_path / "entries").glob("*/*/data")
    data.write_bytes(b"")
    assert read(here) == b"x"
    data.write_bytes(b"y")
    assert not SharedCacheFolder(open_location("memory://other"), tmp_path).share(KEY)
    assert objects(open_location("memory://other")) == []


def test_an_entry_under_another_name_is_none(tmp_path: Path, bucket: Location) -> None:
    SharedCacheFolder(bucket, tmp_path / "a").store(KEY, write())
    (path,) = objects(bucket)
    bucket.filesystem.cp_file(path, path.replace(KEY, "z" * 40))
    there = SharedCacheFolder(bucket, tmp_path / "b")
    assert read(there, "z" * 40) is None
    assert read(there) == b"x"
    assert objects(bucket) == [path]


def test_a_disk_without_room_here_removes_nothing_there(tmp_path: Path, bucket: Location) -> None:
    SharedCacheFolder(bucket, tmp_path / "a").store(KEY, write())
    (tmp_path / "file").touch()
    assert read(SharedCacheFolder(bucket, tmp_path / "file" / "cache")) is None
    assert len(objects(bucket)) == 1


def test_what_is_too_large_is_not_read(
    tmp_path: Path, bucket: Location, caplog: pytest.LogCaptureFixture
) -> None:
    SharedCacheFolder(bucket, tmp_path / "a").store(KEY, write())
    small = SharedCacheFolder(bucket, tmp_path / "b", max_bytes=100)
    assert read(small) is None
    assert "the limit is 100" in caplog.text
    assert list((tmp_path / "b" / "tmp").iterdir()) == []
    assert len(objects(bucket)) == 1  # whoever has more room may use it


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b no gzip", b"no gzip"])
def test_a_broken_object_is_removed_and_created_again(
    tmp_path: Path, bucket: Location, content: bytes
) -> None:
    cache = SharedCacheFolder(bucket, tmp_path)
    bucket.filesystem.pipe_file(f"{bucket.path}/entries/{KEY}.tar.gz", content)
    assert read(cache) is None
    assert objects(bucket) == []
    assert cache.store(KEY, write())
    assert read(SharedCacheFolder(bucket, tmp_path / "other")) == b"x"


def test_with_a_key_only_what_is_signed_with_it_is_read(
    tmp_path: Path,
    bucket: Location,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    def cache(place: str, secret: str | None) -> SharedCacheFolder:
        if secret is None:
            monkeypatch.delenv(KEY_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(KEY_VARIABLE, secret)
        return SharedCacheFolder(bucket, tmp_path / place)

    cache("a", None).store(KEY, write(b"unsigned"))
    assert read(cache("b", SECRET)) is None
    cache("b", SECRET).store(KEY, write(b"signed"))
    cache("c", "of somebody else, " * 2).store(KEY, write(b"other"))
    assert len(objects(bucket)) == 3  # nobody is in another's way
    assert read(cache("d", None)) == b"unsigned"
    assert read(cache("e", SECRET)) == b"signed"
    assert read(cache("f", "of somebody else, " * 2)) == b"other"
    assert SECRET not in caplog.text
    assert SECRET.encode() not in pickle.dumps(cache("g", SECRET))


def test_a_forged_entry_is_none_and_is_not_unpacked(
    tmp_path: Path, bucket: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    cache = SharedCacheFolder(bucket, tmp_path / "a")
    cache.store(KEY, write(b"one"))
    (path,) = objects(bucket)
    signed = bucket.filesystem.cat_file(path)
    cache.store("z" * 40, write(b"two"))
    other = bucket.filesystem.cat_file(path.replace(KEY, "z" * 40))
    forged = [
        signed[:32] + other[32:],
        other,  # a true signature, of another entry
        signed[:-1] + bytes([signed[-1] ^ 1]),
        bytes(32) + signed[32:],
        signed[32:],
        signed[:20],
        b"",
    ]
    monkeypatch.setattr("torch_tb_profiler.storage.shared_cache.unpack", None)
    for number, content in enumerate(forged):
        bucket.filesystem.pipe_file(path, content)
        assert read(SharedCacheFolder(bucket, tmp_path / f"{number}")) is None
    monkeypatch.undo()


def test_a_short_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "guess me")
    with pytest.raises(StorageError, match=KEY_VARIABLE) as caught:
        open_cache("memory://bucket")
    assert "guess me" not in caught.value.message
    assert "openssl rand" in (caught.value.hint or "")


def test_a_note_says_that_a_bucket_has_no_limit(tmp_path: Path, bucket: Location) -> None:
    cache = SharedCacheFolder(bucket, tmp_path)
    for key in (KEY, "z" * 40):
        cache.store(key, write())
    (note,) = cache.limit_notes({})
    assert "lifecycle rule" in note
    assert "Entries in it: 2" in note
