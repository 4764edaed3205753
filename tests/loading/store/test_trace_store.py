"""Cases: states from queued to ready or failed; a changed file is opened again, a failed one too,
and one that did not answer after a while; dropping; stopping in the middle; a store can be garbage
collected. Memory limits: test_open_traces.py."""

from __future__ import annotations

import gc
import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec import AbstractFileSystem
from polars.exceptions import PanicException

from tests.helpers.discovered import discover, file_as_span
from tests.helpers.waiting import wait_until
from torch_tb_profiler.loading.ingest.job import Job, ingest_file
from torch_tb_profiler.loading.opening import parsing
from torch_tb_profiler.loading.opening.open_file import OpenedFile, open_trace_file
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store import reading, trace_requests, trace_store
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.entry_loading import Result, load_entry
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.storage import backoff
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import Location, open_location

Writer = Callable[..., Path]


def span_file(path: Path) -> SpanFile:
    return file_as_span(open_location(str(path)))


def test_a_span_is_parsed_on_request(tmp_path: Path, write_trace: Writer) -> None:
    store = TraceStore(cache=None)
    file = span_file(write_trace(tmp_path / "w.1.pt.trace.json", ("a", "b")))
    assert store.status(file).state == "queued"
    assert store.trace(file) is None
    assert store.status(file).state == "queued"  # looking at states starts nothing
    store.request(file)
    store.wait([file], 10)
    status = store.status(file)
    assert (status.state, status.progress, status.format) == ("ready", 1.0, "kineto")
    assert (status.name, status.file) == ("1", "w.1.pt.trace.json")
    trace = store.trace(file)
    assert trace is not None
    assert trace.slices.height == 2
    store.request(file)
    assert store.trace(file) is trace


def with_a_broken_file(folder: Path) -> tuple[TraceStore, SpanFile]:
    """A store that has tried to read it."""
    store = TraceStore(cache=None)
    path = folder / "w.pt.trace.json"
    path.write_text("not json")
    broken = span_file(path)
    store.request(broken)
    store.wait([broken], 10)
    return store, broken


def test_a_failed_span_says_why_and_is_tried_again_when_it_changes(
    tmp_path: Path, write_trace: Writer
) -> None:
    store, broken = with_a_broken_file(tmp_path)
    status = store.status(broken)
    assert status.state == "failed"
    assert status.error is not None
    assert "w.pt.trace.json" in status.error.message
    assert store.request(broken).state == "failed"
    path = tmp_path / "w.pt.trace.json"
    write_trace(path)
    mended = span_file(path)
    store.request(mended)
    store.wait([mended], 10)
    assert store.status(mended).state == "ready"


def test_a_file_that_failed_is_not_read_again_for_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, broken = with_a_broken_file(tmp_path)
    monkeypatch.setattr(parsing, "open_trace_file", None)  # another reading would fail otherwise
    assert store.request(broken, "summary") == store.status(broken)
    assert store.status(broken, "summary").error == store.status(broken).error


@pytest.mark.parametrize("fault", [ZeroDivisionError("oops"), PanicException("oops")])
def test_a_fault_of_ours_is_a_failed_span(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def faulty(*_arguments: object, **_options: object) -> None:
        raise fault

    monkeypatch.setattr(parsing, "open_trace_file", faulty)
    store = TraceStore(cache=None)
    file = span_file(write_trace(tmp_path / "w.json"))
    store.request(file)
    store.wait([file], 10)
    error = store.status(file).error
    assert error is not None
    assert error.code == "internal"
    assert "report" in (error.hint or "")


def test_deleted_and_changed_files_are_forgotten(tmp_path: Path, write_trace: Writer) -> None:
    for name in "abc":
        write_trace(tmp_path / f"{name}.pt.trace.json")
    store = TraceStore(cache=None)
    files = discover(open_location(str(tmp_path))).files
    for file in files:
        store.request(file)
    store.wait(files, 10)
    write_trace(tmp_path / "b.pt.trace.json", ("other",))
    (tmp_path / "c.pt.trace.json").unlink()
    store.retain_only(discover(open_location(str(tmp_path))).files)
    assert [store.status(file).state for file in files] == ["ready", "queued", "queued"]


def test_a_file_replaced_since_its_discovery_is_shown_as_it_is(
    tmp_path: Path, write_trace: Writer
) -> None:
    path = write_trace(tmp_path / "w.pt.trace.json", ("old",))
    found = span_file(path)
    store = TraceStore(cache=None)
    write_trace(path, ("new", "newer"))
    store.wait([found], 10)
    trace = store.trace(found)
    assert trace is not None
    assert trace.slices.height == 2
    now = span_file(path)
    assert store.trace(now) is trace  # not opened again when the catalog knows better
    store.retain_only([now])
    assert store.trace(now) is trace
    assert store.trace(found) is None  # that file is not there any more


def test_a_file_replaced_before_the_scan_ended_is_opened_again_once(
    tmp_path: Path, write_trace: Writer
) -> None:
    path = write_trace(tmp_path / "w.pt.trace.json", ("old",))
    found = span_file(path)
    write_trace(path, ("new", "newer"))
    store = TraceStore(cache=None)
    store.wait([found], 10)
    store.retain_only([found])  # a scan that began before
    assert store.status(found).state == "queued"
    store.wait([found], 10)
    trace = store.trace(found)
    assert trace is not None
    assert trace.slices.height == 2


class _Unsteady(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """One file of a server that does not answer at first."""

    cachable = False

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.content, self.answers, self.tries = content, False, 0

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        return {"name": path, "type": "file", "size": len(self.content), "etag": "1"}

    def open(self, _path: str, *_arguments: Any, **_options: Any) -> io.BytesIO:
        self.tries += 1
        if not self.answers:
            raise ConnectionError("no answer")
        return io.BytesIO(self.content)


def test_what_did_not_answer_is_tried_again_after_a_while(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    filesystem = _Unsteady(write_trace(tmp_path / "w.json").read_bytes())
    location = Location("unsteady://w.pt.trace.json", "/w.pt.trace.json", filesystem)
    file = file_as_span(location)
    store = TraceStore(cache=None)
    monkeypatch.setattr(backoff, "FIRST_PAUSE_S", 3600.0)
    for _ in range(3):
        store.wait([file], 10)
        assert store.status(file).state == "failed"
    error = store.status(file).error
    assert error is not None
    assert error.code == "unreachable"
    assert filesystem.tries == 1
    monkeypatch.setattr(backoff, "FIRST_PAUSE_S", 0.05)
    store.close()
    store.wait([file], 10)
    filesystem.answers = True
    wait_until(lambda: store.request(file).state == "ready")
    assert store.status(file).error is None


def test_cached_summaries_are_loaded_and_only_the_others_are_computed(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(14):
        write_trace(tmp_path / f"w{number}.1.pt.trace.json", ("x",) * (number + 1))
    files = discover(open_location(str(tmp_path))).files
    cache = CacheFolder(tmp_path / "cache")
    for file in files[5:]:
        ingest_file(Job(file.location, file.state, cache))
    made: list[str] = []

    def counting(parser: Parser, cache: CacheFolder | None, entry: Entry) -> Result:
        made.append(entry.file.worker)
        return load_entry(parser, cache, entry)

    monkeypatch.setattr(reading, "load_entry", counting)
    monkeypatch.setattr(reading, "BATCH_SIZE", 4)
    store = TraceStore(cache=cache)
    gathered = store.gather([(file, "summary") for file in files], 30)
    for each in gathered:
        assert each.trace is not None
        assert each.trace.meta.end_ns == 20_000 * int(each.file.worker[1:]) + 10_000
    assert sorted(made) == sorted(file.worker for file in files[:5])


def test_abandoned_requests_are_not_opened(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    opened: list[str] = []

    def slow(location: Location, *arguments: Any, **options: Any) -> OpenedFile:
        opened.append(location.url)
        assert may_end.wait(30)
        return open_trace_file(location, *arguments, **options)

    monkeypatch.setattr(parsing, "open_trace_file", slow)
    monkeypatch.setattr(trace_store, "MIN_THREADS", 1)
    store = TraceStore(cache=None, parser=Parser(1))
    first, left, ahead = (span_file(write_trace(tmp_path / f"{name}.json")) for name in "abc")
    store.gather([(first, "trace")], 0)
    store.gather([(left, "trace")], 0)
    store.request(ahead)
    monkeypatch.setattr(trace_requests, "ABANDONED_S", -1.0)
    may_end.set()
    wait_until(lambda: store.status(ahead).state == "ready")
    assert opened == [first.location.url, ahead.location.url]
    assert store.status(left).state == "queued"
    monkeypatch.undo()
    store.wait([left], 30)
    assert store.status(left).state == "ready"


def test_closing_stops_a_reading_in_the_middle(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def endless(*_arguments: object, progress: Callable[[int, int], None], **_o: object) -> None:
        try:
            for done_bytes in range(10_000):
                begun.set()
                progress(done_bytes, 10_000)
                time.sleep(0.001)
        finally:
            stopped.set()

    monkeypatch.setattr(parsing, "open_trace_file", endless)
    store = TraceStore(cache=None)
    file = span_file(write_trace(tmp_path / "w.json"))
    store.request(file)
    assert begun.wait(5)
    assert store.status(file).state == "parsing"
    store.close()
    assert stopped.wait(5)
    assert store.status(file).state == "queued"


def test_dropping_a_store_stops_a_reading_in_the_middle(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def endless(*_arguments: object, progress: Callable[[int, int], None], **_o: object) -> None:
        try:
            while True:
                begun.set()
                progress(0, 1)
                time.sleep(0.001)
        finally:
            stopped.set()

    monkeypatch.setattr(parsing, "open_trace_file", endless)
    store = TraceStore(cache=None)
    store.request(span_file(write_trace(tmp_path / "w.json")))
    assert begun.wait(10)
    del store
    wait_until(lambda: gc.collect() >= 0 and stopped.is_set())
