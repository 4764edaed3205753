"""Cases, in S3, Google Cloud Storage and Azure: a report equals that of the local files; one
listing for everything; a second opening downloads nothing; replaced and deleted objects; one
object named directly; missing buckets and prefixes; an object replaced while it is read; the
cache that machines share.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.emulators import BUCKET, Emulator
from tests.helpers.opening import open_file
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, open_location, read_chunks
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder, open_cache
from torch_tb_profiler.storage.signing import KEY_VARIABLE

Writer = Callable[..., Path]
TRACE = "w.1.pt.trace.json"


@pytest.fixture
def content(tmp_path: Path, write_trace: Writer) -> bytes:
    return write_trace(tmp_path / "local" / TRACE, ("aten::mm", "aten::add")).read_bytes()


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["report", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_report_is_that_of_the_local_files(
    store: Emulator, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = samples / "torch_compile_triton"
    files = {f"deep/er/{folder.name}/{file.name}": file.read_bytes() for file in folder.iterdir()}
    store.put(files)
    views = ("--view", "overview,operators,kernels", "--no-cache")
    local = reported(capsys, str(folder), *views)
    for url in (store.url("deep/er"), store.url("deep/er") + "/"):
        remote = reported(capsys, url, *views)
        assert [answer["tables"] for answer in remote] == [answer["tables"] for answer in local]
        assert [answer["trace"] for answer in remote] == [answer["trace"] for answer in local]


def test_runs_at_any_depth_cost_one_listing(store: Emulator, content: bytes) -> None:
    store.put({f"many/{a}/{b}/{TRACE}": content for a in "ab" for b in ("x", "y/z")})
    store.forget()
    catalog = Catalog([TraceRoot(store.url("many"))], cache=None)
    assert sorted(catalog.contents().runs) == ["a/x", "a/y/z", "b/x", "b/y/z"]
    assert len(store.listings()) == 1
    assert store.downloads() == []
    file = catalog.file("a/y/z", "w", "1")
    assert file.location.url == store.url(f"many/a/y/z/{TRACE}")


def test_a_second_opening_downloads_nothing_until_the_object_changes(
    store: Emulator, content: bytes, tmp_path: Path, write_trace: Writer
) -> None:
    store.put({f"again/{TRACE}": content})
    location = open_location(store.url(f"again/{TRACE}"))
    cache = CacheFolder(tmp_path / "cache")
    first = open_file(location, cache=cache)
    wait_until_cached()
    store.forget()
    assert open_file(location, cache=cache).slices.equals(first.slices)
    assert store.downloads() == []
    longer = write_trace(tmp_path / "new.json", ("a", "b", "c")).read_bytes()
    store.put({f"again/{TRACE}": longer})
    assert open_file(location, cache=cache).slices.height == 3


def test_replaced_and_deleted_objects_are_noticed(store: Emulator, content: bytes) -> None:
    store.put({f"live/r1/{TRACE}": content, f"live/r2/{TRACE}": content})
    catalog = Catalog([TraceRoot(store.url("live"))], cache=None)
    before = {run: catalog.file(run, None, None).state for run in catalog.contents().runs}
    store.put({f"live/r1/{TRACE}": content.replace(b"aten::mm", b"aten::bb")})
    store.remove(f"live/r2/{TRACE}")
    store.put({f"live/r3/{TRACE}": content})
    assert list(catalog.refresh().runs) == ["r1", "r3"]
    assert catalog.file("r1", None, None).state != before["r1"]


def test_one_object_named_directly(
    store: Emulator, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put({"exp/any name.json": content})
    answer = reported(capsys, store.url("exp/any name.json"), "--view", "operators", "--no-cache")
    assert answer["trace"] == {"run": "exp", "worker": "any name", "span": "default"}


@pytest.mark.parametrize(
    ("place", "says"),
    [("no-such-bucket/x", "there is no bucket 'no-such-bucket'"), (f"{BUCKET}/none", "not exist")],
)
def test_what_does_not_exist(
    store: Emulator, place: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{store.scheme}://{place}"
    assert main(["report", url]) == 3
    told = capsys.readouterr().err
    assert url in told
    assert says in told
    assert main(["serve", url, "--port", "0"]) == 3
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("size_bytes", [0, 100, 1234])
def test_ranges_add_up_to_the_object(store: Emulator, size_bytes: int) -> None:
    content = bytes(i % 251 for i in range(size_bytes))
    store.put({f"ranges/{size_bytes}": content})
    chunks = list(read_chunks(open_location(store.url(f"ranges/{size_bytes}")), chunk_bytes=100))
    assert b"".join(chunks) == content
    assert all(len(chunk) == 100 for chunk in chunks[:-1])


def test_an_object_replaced_while_it_is_read_is_read_again(
    store: Emulator, content: bytes, tmp_path: Path, write_trace: Writer
) -> None:
    store.put({f"swap/{TRACE}": content})
    newer = [write_trace(tmp_path / "new.json", ("a", "b", "c")).read_bytes()]

    def swap(_done_bytes: int, _size_bytes: int) -> None:
        if newer:
            store.put({f"swap/{TRACE}": newer.pop()})

    location = open_location(store.url(f"swap/{TRACE}"))
    assert open_file(location, cache=None, progress=swap).slices.height == 3


def test_an_object_that_shrinks_while_it_is_read_is_told(s3: Emulator) -> None:
    s3.put({"shrinks": b"x" * 10_000})
    chunks = read_chunks(open_location(s3.url("shrinks")), chunk_bytes=100)
    next(chunks)
    s3.put({"shrinks": b"x" * 2000})
    with pytest.raises(StorageError, match=r"shrinks (changed while it was read|cannot be read)"):
        list(chunks)


def test_machines_share_a_cache_in_the_bucket(
    store: Emulator, content: bytes, tmp_path: Path
) -> None:
    store.put({f"shared/{TRACE}": content})
    location, bucket = open_location(store.url(f"shared/{TRACE}")), open_location(store.url("kept"))
    here = SharedCacheFolder(bucket, tmp_path / "here")
    trace = open_file(location, cache=here)
    wait_until_cached()
    store.forget()
    there = SharedCacheFolder(bucket, tmp_path / "there")
    assert open_file(location, cache=there).slices.equals(trace.slices)
    assert len(store.downloads()) == 1
    assert "kept/entries" in store.downloads()[0].replace("%2F", "/")
    store.forget()
    assert open_file(location, cache=there).slices.equals(trace.slices)
    assert store.downloads() == []


def test_a_broken_entry_of_the_shared_cache_is_made_again(
    store: Emulator, content: bytes, tmp_path: Path
) -> None:
    store.put({f"broken/{TRACE}": content})
    location, bucket = open_location(store.url(f"broken/{TRACE}")), open_location(store.url("bad"))
    open_file(location, cache=SharedCacheFolder(bucket, tmp_path / "a"))
    wait_until_cached()
    (entry,) = store.filesystem.find(f"{BUCKET}/bad")
    store.put({entry.removeprefix(f"{BUCKET}/"): b"\x1f\x8b no tar"})
    again = open_file(location, cache=SharedCacheFolder(bucket, tmp_path / "b"))
    assert again.slices.height == 2
    wait_until_cached()
    mended = SharedCacheFolder(bucket, tmp_path / "c")
    assert mended.find(entry.rpartition("/")[2].removesuffix(".tar.gz")) is not None


@pytest.mark.parametrize("key", ["", "a key of sixteen characters or more"])
def test_what_only_this_machine_has_is_put_into_the_bucket(
    store: Emulator, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    place = f"new{len(key)}"
    store.put({f"{place}/{TRACE}": content})
    location, bucket = open_location(store.url(f"{place}/{TRACE}")), store.url(f"{place}-kept")
    trace = open_file(location, cache=CacheFolder(tmp_path / "here"))
    wait_until_cached()
    (entry,) = (tmp_path / "here" / "entries").glob("*/*")
    here = SharedCacheFolder(open_location(bucket), tmp_path / "here")
    assert here.share(entry.name)
    assert here.was_uploaded(entry.name)
    (note,) = here.limit_notes({})
    assert "Entries in it: 1" in note
    there = SharedCacheFolder(open_location(bucket), tmp_path / "there")
    assert there.share(entry.name)
    assert not there.was_uploaded(entry.name)
    store.forget()
    assert open_file(location, cache=there).slices.equals(trace.slices)
    assert len(store.downloads()) == 1


def test_a_bucket_is_chosen_as_cache_by_its_url(store: Emulator) -> None:
    assert isinstance(open_cache(store.url("kept")), SharedCacheFolder)


def test_a_shared_cache_that_cannot_be_reached_is_no_obstacle(
    store: Emulator, content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.put({f"alone/{TRACE}": content})
    nowhere = open_location(f"{store.scheme}://no-such-bucket/x")
    cache = SharedCacheFolder(nowhere, tmp_path / "own")
    assert open_file(open_location(store.url(f"alone/{TRACE}")), cache=cache).slices.height == 2
    wait_until_cached()
    assert len(list((tmp_path / "own" / "entries").glob("*/*"))) == 1
    assert "not shared" in caplog.text


def test_what_is_gone_when_it_is_opened(store: Emulator) -> None:
    location: Location = open_location(store.url("gone.json"))
    with pytest.raises(OpenError) as caught:
        open_file(location, cache=None)
    assert caught.value.problem.code == "not_found"
