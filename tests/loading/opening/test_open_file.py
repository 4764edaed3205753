"""Cases: a file becomes a trace; the second opening does not parse; a changed file does; broken
and half-written entries; many openers at once; errors that name the file; progress; stopping.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.loading.opening import open_file as opening
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import open_location

Writer = Callable[..., Path]


def entries(cache: CacheFolder) -> list[Path]:
    return list((cache.root / "entries").glob("*/*"))


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(opening, "import_source", parse)


def test_a_file_becomes_a_trace(tmp_path: Path, write_trace: Writer) -> None:
    file = write_trace(tmp_path / "any name.json", ("a", "b", "a"))
    trace = open_file(open_location(str(file)), cache=None)
    assert trace.meta.format == "kineto"
    assert [trace.text(code) for code in trace.slices["name_code"]] == ["a", "b", "a"]


def test_the_second_opening_does_not_parse(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = open_location(str(write_trace(tmp_path / "w.pt.trace.json", ("a", "b"))))
    cache = CacheFolder(tmp_path / "cache")
    first = open_file(location, cache=cache)
    wait_until_cached()
    forbid_parsing(monkeypatch)
    second = open_file(location, cache=cache)
    assert second.slices.equals(first.slices)
    assert second.strings.tolist() == first.strings.tolist()
    with pytest.raises(AssertionError, match="parsed again"):
        open_file(location, cache=None)


def test_a_changed_file_is_parsed_again(tmp_path: Path, write_trace: Writer) -> None:
    file = write_trace(tmp_path / "w.pt.trace.json", ("aa",))
    dates = file.stat()
    cache = CacheFolder(tmp_path / "cache")
    open_file(open_location(str(file)), cache=cache)
    wait_until_cached()
    write_trace(file, ("bb",))
    os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    trace = open_file(open_location(str(file)), cache=cache)
    assert trace.text(trace.slices["name_code"][0]) == "bb"


@pytest.mark.parametrize("damage", ["empty", "cut", "gone"])
def test_a_broken_entry_is_rebuilt(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    location = open_location(str(write_trace(tmp_path / "w.pt.trace.json", ("a",) * 500)))
    cache = CacheFolder(tmp_path / "cache")
    open_file(location, cache=cache)
    wait_until_cached()
    (entry,) = entries(cache)
    largest = max((f for f in entry.rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    if damage == "gone":
        largest.unlink()
    else:
        largest.write_bytes(b"" if damage == "empty" else largest.read_bytes()[:-100])
    assert open_file(location, cache=cache).slices.height == 500
    wait_until_cached()
    forbid_parsing(monkeypatch)
    assert open_file(location, cache=cache).slices.height == 500


def test_openers_at_the_same_time(tmp_path: Path, samples: Path) -> None:
    location = open_location(str(next((samples / "cpu_slowloader_nw0").glob("*.gz"))))
    cache = CacheFolder(tmp_path / "cache")
    with ThreadPoolExecutor(4) as pool:
        traces = list(pool.map(lambda _: open_file(location, cache=cache), range(12)))
    wait_until_cached()
    assert len({trace.slices.height for trace in traces}) == 1
    assert len(entries(cache)) == 1
    assert open_file(location, cache=cache).slices.equals(traces[0].slices)


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, write_trace: Writer
) -> None:
    file = write_trace(tmp_path / "w.pt.trace.json", ("old",))
    cache = CacheFolder(tmp_path / "cache")
    changes = [("new", "newer")]

    def change(_done_bytes: int, _size_bytes: int) -> None:
        if changes:
            write_trace(file, changes.pop())

    trace = open_file(open_location(str(file)), cache=cache, progress=change)
    assert trace.slices.height == 2
    wait_until_cached()
    assert len(entries(cache)) == 1
    assert open_file(open_location(str(file)), cache=cache).slices.height == 2


def test_a_file_that_never_stops_changing_is_refused(tmp_path: Path, write_trace: Writer) -> None:
    file = write_trace(tmp_path / "w.pt.trace.json", ("a",))
    cache = CacheFolder(tmp_path / "cache")

    def change(_done_bytes: int, _size_bytes: int) -> None:
        os.utime(file, ns=(1, 1))

    with pytest.raises(OpenError, match="changed while it was read") as caught:
        open_file(open_location(str(file)), cache=cache, progress=change)
    assert caught.value.problem.code == "changed"
    wait_until_cached()
    assert entries(cache) == []


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_file_that_is_half_written_is_read_when_it_is_whole(
    tmp_path: Path,
    write_trace: Writer,
    compress: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = compress(write_trace(tmp_path / "w.json", ("a",) * 20_000).read_bytes())
    file = tmp_path / "live.json"
    file.write_bytes(content[: len(content) // 2])

    def finish_during(wait_s: float) -> None:
        assert wait_s == opening.GROWTH_WAIT_S
        with file.open("ab") as retire_workers:
            retire_workers.write(content[len(content) // 2 :])

    monkeypatch.setattr(opening, "time", SimpleNamespace(time=time.time, sleep=finish_during))
    trace = open_file(open_location(str(file)), cache=None)
    assert trace.slices.height == 20_000
    assert trace.quality.counts.get("truncated") is None


def test_a_remote_file(write_trace: Writer, tmp_path: Path) -> None:
    content = write_trace(tmp_path / "w.pt.trace.json", ("a", "b")).read_bytes()
    fsspec.filesystem("memory").pipe("/opening/w.pt.trace.json", content)
    trace = open_file(open_location("memory://opening/w.pt.trace.json"), cache=None)
    assert trace.slices.height == 2


@pytest.mark.parametrize("content", [b"", b"not json", b"<html></html>", b"\x89PNG\r\n"])
def test_errors_name_the_file_and_the_next_step(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "w.pt.trace.json"
    file.write_bytes(content)
    with pytest.raises(OpenError) as caught:
        open_file(open_location(str(file)), cache=CacheFolder(tmp_path / "cache"))
    assert "w.pt.trace.json" in caught.value.problem.message
    assert caught.value.problem.hint


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OpenError) as caught:
        open_file(open_location(str(tmp_path / "none.json")), cache=None)
    assert caught.value.problem.code == "not_found"


def test_progress_grows_to_the_size_of_the_file(tmp_path: Path, write_trace: Writer) -> None:
    file = write_trace(tmp_path / "w.json", ("a",) * 120_000)
    told: list[tuple[int, int]] = []
    open_file(
        open_location(str(file)), cache=None, progress=lambda done, size: told.append((done, size))
    )
    size_bytes = file.stat().st_size
    done = [bytes_ for bytes_, _ in told]
    assert {size for _, size in told} == {size_bytes}
    assert done == sorted(done)
    assert done[-1] == size_bytes


def test_progress_can_stop_the_reading(tmp_path: Path, write_trace: Writer) -> None:
    class StopError(Exception):
        pass

    def stop(_done_bytes: int, _size_bytes: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        open_file(
            open_location(str(write_trace(tmp_path / "w.json", ("a",)))), cache=None, progress=stop
        )


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_ends_before_its_first_event_is_no_trace(
    tmp_path: Path, samples: Path, packed: bool
) -> None:
    """An empty trace would be shown before good ones beside it, as one that recorded nothing."""
    (whole,) = (samples / "torch_compile_triton").glob("*.json.gz")
    head = gzip.decompress(whole.read_bytes()).partition(b'"ph": "X"')[0]
    file = tmp_path / ("worker0.pt.trace.json.gz" if packed else "worker0.pt.trace.json")
    file.write_bytes(gzip.compress(head)[:-12] if packed else head)
    with pytest.raises(OpenError, match=r"worker0\S+ ends before its first event") as raised:
        open_file(open_location(str(file)), cache=None)
    assert raised.value.problem.hint
