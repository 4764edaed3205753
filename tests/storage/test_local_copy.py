"""Local copies of remote files: complete, private to their owner, bounded, and removed
afterwards."""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

import fsspec
import pytest

from torch_tb_profiler.importers.source import Source, source_of
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.local_copy import LIMIT_VARIABLE, LocalCopy
from torch_tb_profiler.storage.locations import file_state, open_location

DATA = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def source(url: str) -> Source:
    location = open_location(url)
    made = source_of(location, file_state(location))
    assert isinstance(made, Source)
    return made


def test_of_a_file_of_this_machine_there_is_none(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.db").write_bytes(DATA)
    assert source(str(tmp_path / "a.db")).local_path() == str(tmp_path / "a.db")
    assert not cache.exists()


@pytest.mark.parametrize("packed", [False, True])
def test_a_remote_file_lies_in_the_cache_folder_while_it_is_read(packed: bool, cache: Path) -> None:
    stored = gzip.compress(DATA) if packed else DATA
    fsspec.filesystem("memory").pipe(f"/copies/{packed}.db", stored)
    remote = source(f"memory://copies/{packed}.db")
    told: list[int] = []
    assert remote.head == DATA[: len(remote.head)]
    path = Path(remote.local_path(told.append))
    assert path.read_bytes() == DATA
    assert path.is_relative_to(cache)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert told[-1] == len(stored)
    assert remote.local_path() == str(path)
    remote.close()
    assert list((cache / "tmp").iterdir()) == []


def test_a_packed_file_of_this_machine_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.db.gz").write_bytes(gzip.compress(DATA))
    packed = source(str(tmp_path / "a.db.gz"))
    assert Path(packed.local_path()).read_bytes() == DATA
    packed.close()


def test_a_copy_that_is_too_large_is_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0.000001")
    copy = LocalCopy("s3://b/a.db")
    copy.write(b"x" * 1000)
    with pytest.raises(StorageError, match=r"s3://b/a\.db must be copied to this machine"):
        copy.write(b"x")
    copy.remove()
    assert list((cache / "tmp").iterdir()) == []
