"""Cases, in S3, Google Cloud Storage and Azure: what a listing told of an object is not asked
again; an object replaced between listing and opening is read as it is now, and kept under its own
state; a run that this machine has is put into a new bucket by ``ingest``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cloud.emulators import BUCKET, Emulator
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest.job import Job, Part, ingest_file
from torch_tb_profiler.loading.opening.open_file import (
    cached_trace,
    open_trace_file,
    wait_until_cached,
)
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder

Writer = Callable[..., Path]
RANKS = 3


def states_asked(store: Emulator, file: SpanFile) -> int:
    """Requests that ask for the state of one object: HEAD, or of Google its metadata."""
    listed = store.listings()
    name = file.location.name
    return sum(
        name in line
        and (line.startswith("HEAD") or (store.scheme == "gs" and "alt=media" not in line))
        for line in store.requests
        if line not in listed
    )


def found(store: Emulator, prefix: str) -> list[SpanFile]:
    return Catalog([TraceRoot(store.url(prefix))], cache=None).contents().files()


@pytest.fixture(name="run")
def a_run(store: Emulator, tmp_path: Path, write_trace: Writer) -> str:
    prefix = f"states-{tmp_path.name}-{store.scheme}"
    for rank in range(RANKS):
        path = write_trace(tmp_path / "local" / "w.json", ("aten::mm",) * (rank + 1))
        store.put({f"{prefix}/rank{rank}.1.pt.trace.json": path.read_bytes()})
    return prefix


@pytest.mark.parametrize("part", ["trace", "summary"])
@pytest.mark.parametrize("way", ["here", "in a worker", "ingest"])
def test_an_object_is_asked_once_what_it_is(
    store: Emulator, run: str, tmp_path: Path, way: str, part: Part
) -> None:
    files = found(store, run)
    assert len(files) == RANKS
    cache = CacheFolder(tmp_path / "cache")
    parser = Parser(2, parses_in_process=False)
    parser.announce(1 << 40 if way == "in a worker" else 0)
    for expected in (1, 0):
        store.forget()
        for file in files:
            if way == "ingest":
                parser.ingest(file.location, file.state, cache)
            else:
                parser.open(file.location, file.state, cache=cache, part=part)
        wait_until_cached()
        assert [states_asked(store, file) for file in files] == [expected] * RANKS
    parser.close()


@pytest.mark.parametrize("names", [("a",), ("b",) * 5000])
def test_an_object_replaced_since_it_was_listed_is_read_as_it_is(
    store: Emulator, run: str, tmp_path: Path, write_trace: Writer, names: tuple[str, ...]
) -> None:
    file = found(store, run)[-1]
    newer = write_trace(tmp_path / "newer.json", names).read_bytes()
    store.put({f"{run}/{file.location.name}": newer})
    cache = CacheFolder(tmp_path / "cache")
    opened = open_trace_file(file.location, file.state, cache=cache)
    wait_until_cached()
    assert opened.trace.slices.height == len(names)
    now = found(store, run)[-1]
    assert opened.state == now.state != file.state
    assert cached_trace(file.location, file.state, cache) is None
    assert cached_trace(file.location, now.state, cache) is not None


def test_ingest_fills_a_new_bucket_with_what_is_here(
    s3: Emulator, tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    write_trace(tmp_path / "logs" / "w0.1.pt.trace.json", ("a",))
    write_trace(tmp_path / "logs" / "w1.1.pt.trace.json", ("b", "c"))
    for prefix in ("first", "second"):
        url = s3.url(f"{tmp_path.name}-{prefix}")
        assert main(["ingest", str(tmp_path / "logs"), "--cache-dir", url]) == 0
        kept = s3.filesystem.find(f"{BUCKET}/{tmp_path.name}-{prefix}")
        assert len([name for name in kept if name.endswith(".tar.gz")]) == 4


def test_what_was_ingested_says_whether_others_have_it(
    s3: Emulator, tmp_path: Path, write_trace: Writer
) -> None:
    path = write_trace(tmp_path / "logs" / "w0.1.pt.trace.json", ("a",))
    (file,) = Catalog([TraceRoot(str(path.parent))], cache=None).contents().files()
    first = ingest_file(Job(file.location, file.state, CacheFolder(tmp_path / "here")))
    assert (first.is_cached, first.is_shared, first.was_uploaded) == (True, True, False)
    shared = SharedCacheFolder(open_location(s3.url(f"{tmp_path.name}-told")), tmp_path / "here")
    second = ingest_file(Job(file.location, file.state, shared))
    assert (second.was_cached, second.is_shared, second.was_uploaded) == (True, True, True)
    assert second.state == file.state
    third = ingest_file(Job(file.location, file.state, shared))
    assert (third.was_cached, third.is_shared) == (True, True)
