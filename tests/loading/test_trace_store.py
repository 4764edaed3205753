"""Cases: states from queued to ready or failed; a changed file is opened anew, a failed one too;
memory is bounded but what is in use stays; forgetting; stopping in the middle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.loading import parsing, trace_store
from torch_tb_profiler.loading.opening import open_file
from torch_tb_profiler.loading.trace_store import TraceStore, memory_of
from torch_tb_profiler.storage.discovery import SpanFile, discover, single_file
from torch_tb_profiler.storage.locations import open_location

Writer = Callable[..., Path]


def span_file(path: Path) -> SpanFile:
    return single_file(open_location(str(path)))


def test_a_span_is_parsed_when_somebody_asks(tmp_path: Path, write_trace: Writer) -> None:
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


def test_a_failed_span_says_why_and_is_tried_again_when_it_changes(
    tmp_path: Path, write_trace: Writer
) -> None:
    store = TraceStore(cache=None)
    path = tmp_path / "w.pt.trace.json"
    path.write_text("not json")
    broken = span_file(path)
    store.request(broken)
    store.wait([broken], 10)
    status = store.status(broken)
    assert status.state == "failed"
    assert status.error is not None
    assert "w.pt.trace.json" in status.error.message
    assert store.request(broken).state == "failed"
    write_trace(path)
    mended = span_file(path)
    store.request(mended)
    store.wait([mended], 10)
    assert store.status(mended).state == "ready"


def test_a_fault_of_ours_is_a_failed_span(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(parsing, "open_in_state", faulty)
    store = TraceStore(cache=None)
    file = span_file(write_trace(tmp_path / "w.json"))
    store.request(file)
    store.wait([file], 10)
    error = store.status(file).error
    assert error is not None
    assert error.code == "internal"
    assert "report" in (error.hint or "")


def test_memory_is_bounded_by_closing_what_was_not_used(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_store, "KEEP_USED_S", 0.0)
    files = [
        span_file(write_trace(tmp_path / f"w{n}.json", tuple(f"{n}op{i}" for i in range(2000))))
        for n in range(4)
    ]
    size_bytes = memory_of(open_file(files[0].location, cache=None))
    store = TraceStore(cache=None, memory_limit_bytes=int(size_bytes * 2.5))
    for file in files[:2]:
        store.request(file)
        store.wait([file], 10)
    assert store.trace(files[0]) is not None  # now files[1] is the one used least recently
    store.request(files[2])
    store.wait([files[2]], 10)
    assert [store.trace(file) is not None for file in files[:3]] == [True, False, True]
    assert store.status(files[1]).state == "queued"


def test_what_is_in_use_is_never_closed(tmp_path: Path, write_trace: Writer) -> None:
    files = [span_file(write_trace(tmp_path / f"w{n}.json", ("a",) * 50)) for n in range(6)]
    store = TraceStore(cache=None, memory_limit_bytes=1)
    for file in files:
        store.request(file)
    store.wait(files, 10)
    assert all(store.trace(file) is not None for file in files)


def test_memory_counts_tables_and_strings(tmp_path: Path, write_trace: Writer) -> None:
    few = open_file(open_location(str(write_trace(tmp_path / "a.json", ("a",)))), cache=None)
    names = tuple("x" * 1000 + str(i) for i in range(1000))
    many = open_file(open_location(str(write_trace(tmp_path / "b.json", names))), cache=None)
    assert memory_of(many) - memory_of(few) > 1_000_000


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
    store.keep_only(discover(open_location(str(tmp_path))).files)
    assert [store.status(file).state for file in files] == ["ready", "queued", "queued"]


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

    monkeypatch.setattr(parsing, "open_in_state", endless)
    store = TraceStore(cache=None)
    file = span_file(write_trace(tmp_path / "w.json"))
    store.request(file)
    assert begun.wait(5)
    assert store.status(file).state == "parsing"
    store.close()
    assert stopped.wait(5)
    store.wait([file], 5)
