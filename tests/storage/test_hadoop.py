"""Cases: an HDFS client's parts read and list like every other filesystem. fsspec wraps Arrow's
filesystems, of which HDFS needs a cluster; another one is used here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state, open_location, read_chunks


def test_arrow_filesystems_list_and_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("fsspec.implementations.arrow")
    local = pytest.importorskip("pyarrow.fs").LocalFileSystem()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "w.pt.trace.json").write_bytes(b"0123456789")
    place = Location("hdfs://host/a", str(tmp_path / "a"), arrow.ArrowFSWrapper(local))
    (file,) = discover(place).files
    assert (file.run, file.location.url) == ("b", "hdfs://host/a/b/w.pt.trace.json")
    assert list(read_chunks(file.location, chunk_bytes=4)) == [b"0123", b"4567", b"89"]
    before = file_state(file.location)
    assert before == file.state
    (tmp_path / "a" / "b" / "w.pt.trace.json").write_bytes(b"01234567890")
    assert file_state(file.location) != before


def test_a_missing_hadoop_client_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no java here"))
    with pytest.raises(StorageError) as caught:
        open_location("hdfs://namenode:8020/runs")
    assert caught.value.code == "unreachable"
    assert "Hadoop client" in str(caught.value.hint)
