"""Cases: entries survive packing; hostile members stay out; a bucket or a folder by name. What
machines share is tested on real stores in ``tests/cloud``.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from torch_tb_profiler.storage.cache_folder import CACHE_VARIABLE, CacheFolder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder, open_cache, pack, unpack


def test_an_entry_survives_packing(tmp_path: Path) -> None:
    entry, again = tmp_path / "entry", tmp_path / "again"
    entry.mkdir()
    again.mkdir()
    files = {"a.arrow": b"x" * 100_000, "trace.json": b"{}", "empty": b""}
    for name, content in files.items():
        (entry / name).write_bytes(content)
    pack(entry, tmp_path / "packed")
    unpack(tmp_path / "packed", again)
    assert {file.name: file.read_bytes() for file in again.iterdir()} == files
    assert (tmp_path / "packed").stat().st_size < 10_000


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", r"a\b", "link"])
def test_hostile_members_stay_out(tmp_path: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    if name == "link":
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    else:
        member.size = 1
    with tarfile.open(tmp_path / "packed", "w:gz") as tar:
        tar.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "entry").mkdir()
    with pytest.raises(ValueError, match="no entry has"):
        unpack(tmp_path / "packed", tmp_path / "entry")
    assert list((tmp_path / "entry").iterdir()) == []


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


def test_a_cache_that_cannot_be_opened_is_told() -> None:
    with pytest.raises(StorageError, match="nonsense://x"):
        open_cache("nonsense://x")


def test_an_entry_that_is_only_here_is_shared_once(tmp_path: Path) -> None:
    key = "k" * 40
    bucket = open_location(f"memory://bucket/{tmp_path.name}")
    CacheFolder(tmp_path).store(key, lambda folder: (folder / "data").write_bytes(b"x"))
    here, there = SharedCacheFolder(bucket, tmp_path), SharedCacheFolder(bucket, tmp_path / "b")
    assert not there.share(key)  # nobody has it
    assert here.share(key)
    assert here.was_sent(key)
    assert there.share(key)
    assert not there.was_sent(key)  # it was there already
    entry = there.find(key)
    assert entry is not None
    assert (entry / "data").read_bytes() == b"x"


def test_a_folder_shares_what_it_has(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    assert not cache.share("k" * 40)
    cache.store("k" * 40, lambda folder: (folder / "data").write_bytes(b"x"))
    assert cache.share("k" * 40)
    assert not cache.was_sent("k" * 40)
