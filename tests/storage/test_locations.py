"""Cases: what is a URL, reading in chunks, states that change with content, links out at the time
of reading, missing files and permissions, unknown protocols."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import fsspec
import pytest

from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import (
    Location,
    file_state,
    is_url,
    list_files,
    open_location,
    read_chunks,
)


@pytest.mark.parametrize("text", ["s3://bucket/x", "gs://b", "hdfs://h/x", "memory://x"])
def test_urls(text: str) -> None:
    assert is_url(text)


@pytest.mark.parametrize("text", [r"C:\runs", "C:/runs", "c://runs", "/a/b", "a:b", r"\\host\x"])
def test_paths_similar_to_urls(text: str) -> None:
    assert not is_url(text)


def test_local_paths_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNS", "/data/runs")
    assert open_location("$RUNS/a").path == "/data/runs/a"
    assert open_location("~/x").path == os.path.expanduser("~/x")
    assert open_location("file:///data/x").path == "/data/x"


@pytest.mark.parametrize("size", [0, 1, 10, 11, 25])
def test_chunks_add_up_to_the_file(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "f").write_bytes(content)
    chunks = list(read_chunks(open_location(str(tmp_path / "f")), chunk_bytes=10))
    assert b"".join(chunks) == content
    assert all(0 < len(chunk) <= 10 for chunk in chunks)


def test_chunks_of_a_remote_file() -> None:
    fsspec.filesystem("memory").pipe("/locations/f", b"x" * 25)
    location = open_location("memory://locations/f")
    assert b"".join(read_chunks(location, chunk_bytes=10)) == b"x" * 25
    assert file_state(location).size_bytes == 25


def test_state_changes_when_content_is_rewritten_with_equal_size_and_date(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"abc")
    location = open_location(str(file))
    before, dates = file_state(location), file.stat()
    assert file_state(location) == before
    file.write_bytes(b"xyz")
    os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    assert file_state(location) != before


def test_state_of_a_remote_file_changes_with_its_content() -> None:
    memory = fsspec.filesystem("memory")
    location = open_location("memory://locations/g")
    memory.pipe("/locations/g", b"abc")
    before = file_state(location)
    memory.pipe("/locations/g", b"xyz")
    assert file_state(location) != before


def test_a_file_replaced_by_a_link_out_of_the_logdir_is_refused(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    logdir.mkdir()
    (tmp_path / "secret").write_text("secret")
    (logdir / "w.pt.trace.json").symlink_to(tmp_path / "secret")
    location = Location("w", str(logdir / "w.pt.trace.json"), root=str(logdir))
    with pytest.raises(StorageError) as caught:
        list(read_chunks(location))
    assert caught.value.code == "outside_logdir"


def test_a_folder_whose_name_starts_like_the_logdir_is_outside(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs2").mkdir()
    (tmp_path / "logs2" / "f").write_text("x")
    location = Location("f", str(tmp_path / "logs" / ".." / "logs2" / "f"), root=f"{tmp_path}/logs")
    with pytest.raises(StorageError):
        file_state(location)


def test_what_is_missing_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist") as caught:
        list(read_chunks(open_location(str(tmp_path / "none"))))
    assert caught.value.code == "not_found"
    with pytest.raises(StorageError) as caught:
        list(read_chunks(open_location(str(tmp_path))))
    assert caught.value.code == "not_a_file"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError) as caught:
        list(read_chunks(open_location(str(tmp_path / "pipe"))))
    assert caught.value.code == "not_a_file"


def test_missing_permission_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        error = PermissionError(13, "Permission denied")
        monkeypatch.setattr(os, "stat", _raiser(error))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "f"
        file.write_text("x")
        file.chmod(0)
        with pytest.raises(StorageError, match="No permission") as caught:
            list(read_chunks(Location(str(file), str(file))))
        assert caught.value.code == "permission_denied"
        monkeypatch.undo()


def _raiser(error: OSError) -> object:
    def raise_it(*_arguments: object, **_options: object) -> None:
        raise error

    return raise_it


def test_unknown_protocols_and_missing_packages() -> None:
    with pytest.raises(StorageError) as caught:
        open_location("nonsense://x/y")
    assert caught.value.code == "unreadable"
    if not fsspec_can("s3"):
        with pytest.raises(StorageError) as caught:
            open_location("s3://bucket/x")
        assert caught.value.code == "missing_package"
        assert caught.value.hint == "pip install 'torch-tb-profiler[s3]'"


def fsspec_can(protocol: str) -> bool:
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes on Linux only")
def test_a_folder_may_hold_names_that_are_no_utf8(tmp_path: Path) -> None:
    folder = Location(url=str(tmp_path), path=str(tmp_path), is_folder=True)
    before = file_state(folder)
    (tmp_path / os.fsdecode(b"rank\xff.txt")).write_bytes(b"abc")
    after = file_state(folder)
    assert (before.size_bytes, after.size_bytes) == (0, 3)
    assert before.version != after.version
    assert [location.url.isprintable() for location in list_files(folder).values()] == [True]
