"""Cases: the least recently used trace is closed first, derived values before traces; a request
that is too large is answered with what fits, and reports it; a pair is always opened; requests that
do not fit together take turns, whether they wait or are repeated; prefetching closes no needed
trace; many threads and small memory: the limit always holds."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.discovered import discover
from tests.helpers.opening import open_file
from tests.helpers.waiting import wait_until
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening import parsing
from torch_tb_profiler.loading.opening.open_file import OpenedFile, open_trace_file
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.store import open_traces
from torch_tb_profiler.loading.store.trace_memory import memory_of
from torch_tb_profiler.loading.store.trace_store import GatheredTrace, TraceStore
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import Location, open_location
from torch_tb_profiler.trace.derived import PerTrace

Writer = Callable[..., Path]
WORKERS = 8
WAIT_S = 30.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, write_trace: Writer) -> Path:
    place = tmp_path_factory.mktemp("run")
    for number in range(WORKERS):
        names = tuple(f"{number}op{i}" for i in range(500))
        write_trace(place / f"w{number}.1.pt.trace.json", names)
    return place


@pytest.fixture(scope="module")
def files(folder: Path) -> list[SpanFile]:
    return discover(open_location(str(folder))).files


@pytest.fixture(scope="module")
def size_bytes(files: list[SpanFile]) -> int:
    """What each of the traces takes."""
    return memory_of(open_file(files[0].location, cache=None)).content_bytes


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> CacheFolder:
    return CacheFolder(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    parser = Parser(1)
    yield parser
    parser.close()


Stores = Callable[[float], TraceStore]


@pytest.fixture(name="store_for")
def stores(cache: CacheFolder, parser: Parser, size_bytes: int) -> Iterator[Stores]:
    """``store_for(n)``: a store with memory for ``n`` of the traces."""
    made: list[TraceStore] = []

    def make(traces: float) -> TraceStore:
        limit_bytes = int(size_bytes * traces)
        made.append(TraceStore(cache=cache, memory_limit_bytes=limit_bytes, parser=parser))
        return made[-1]

    yield make
    for store in made:
        store.close()


def asked(
    store: TraceStore, files: list[SpanFile], wait_s: float = WAIT_S, part: Part = "trace"
) -> list[GatheredTrace]:
    return store.gather([(file, part) for file in files], wait_s)


def is_open(store: TraceStore, file: SpanFile) -> bool:
    return store.status(file).state == "ready"


def derive(store: TraceStore, file: SpanFile, size_bytes: int) -> None:
    trace = store.trace(file)
    assert trace is not None
    PerTrace(lambda _trace: np.zeros(size_bytes // 8))(trace)
    store.enforce_limit()


def test_the_longest_unused_goes(store_for: Stores, files: list[SpanFile]) -> None:
    store = store_for(2.5)
    for file in files[:2]:
        store.wait([file], WAIT_S)
    assert store.trace(files[0]) is not None  # now files[1] is the one used least recently
    store.wait([files[2]], WAIT_S)
    assert [is_open(store, file) for file in files[:3]] == [True, False, True]


def test_derived_data_goes_before_traces(
    store_for: Stores, files: list[SpanFile], size_bytes: int
) -> None:
    store = store_for(4)
    for file in files[:3]:
        store.wait([file], WAIT_S)
        derive(store, file, size_bytes // 4)
    assert store.used_bytes == pytest.approx(3.75 * size_bytes, rel=0.05)
    first, second, third = (store.trace(file) for file in files[:3])
    assert first is not None
    assert second is not None
    assert third is not None
    store.wait([files[3]], WAIT_S)
    assert all(is_open(store, file) for file in files[:4])
    assert [trace.derived.count for trace in (first, second, third)] == [0, 0, 0]
    derive(store, files[0], size_bytes // 2)  # now files[1] is the longest unused one
    assert [is_open(store, file) for file in files[:4]] == [True, False, True, True]
    assert first.derived.count == 1
    assert store.used_bytes <= 4 * size_bytes


def test_a_trace_that_fills_the_memory_keeps_what_is_derived(
    store_for: Stores, files: list[SpanFile], size_bytes: int
) -> None:
    store = store_for(0.5)
    store.wait(files[:1], WAIT_S)
    derive(store, files[0], size_bytes)
    trace = store.trace(files[0])
    assert trace is not None
    assert trace.derived.count == 1
    store.wait(files[1:2], WAIT_S)
    assert trace.derived.count == 0
    assert not is_open(store, files[0])


def test_a_question_that_is_too_large_gets_what_fits(
    store_for: Stores, files: list[SpanFile], size_bytes: int
) -> None:
    store = store_for(3.5)
    gathered = asked(store, files)
    # Which of them is up to the threads: of two that are read at once, the later one may end first
    # and take the room that is left, as their size is only known then.
    assert 3 <= sum(each.trace is not None for each in gathered) <= 4
    problems = [each.status.error for each in gathered if each.trace is None]
    assert {problem.code for problem in problems if problem} == {"no_room"}
    assert store.used_bytes <= 4.6 * size_bytes
    assert asked(store, [files[-1]])[0].trace is not None  # alone it fits


def test_a_run_view_names_the_workers_there_is_no_room_for(
    store_for: Stores, samples: Path, cache: CacheFolder
) -> None:
    place = TraceRoot(str(samples / "cpu_ddp4_gloo"))
    catalog = Catalog([place], cache=cache, store=store_for(0.01))
    view = view_result(catalog, ViewRequest("distributed"), wait_s=WAIT_S).view
    left_out = [note for note in view.notes if note.code == "worker_left_out"]
    assert len(left_out) == 3
    assert all(note.evidence["code"] == "no_room" for note in left_out)
    assert "reserved for open traces" in left_out[0].text


def test_a_pair_is_always_opened(store_for: Stores, files: list[SpanFile]) -> None:
    store = store_for(0.1)
    assert all(each.trace is not None for each in asked(store, files[:2]))
    assert all(each.trace is not None for each in asked(store, files[4:6]))
    assert not is_open(store, files[0])


def test_what_is_begun_ahead_closes_nothing_that_is_needed(
    store_for: Stores, files: list[SpanFile]
) -> None:
    store = store_for(2.5)
    for file in files:
        store.request(file)
    # Which two is up to the threads: a file that ends late may find the room taken.
    wait_until(lambda: sum(is_open(store, file) for file in files) >= 2)
    for file in files:
        (gathered,) = asked(store, [file])
        assert gathered.trace is not None


def test_what_fits_passes_what_waits_for_room(
    store_for: Stores,
    files: list[SpanFile],
    tmp_path: Path,
    write_trace: Writer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_end = threading.Event()

    def slow(location: Location, *arguments: Any, **options: Any) -> OpenedFile:
        if location == files[0].location:
            assert may_end.wait(WAIT_S)
        return open_trace_file(location, *arguments, **options)

    monkeypatch.setattr(parsing, "open_trace_file", slow)
    monkeypatch.setattr(open_traces, "FIRST_TRACE_BYTES", {"trace": 3 << 20, "summary": 1})
    write_trace(tmp_path / "small.1.pt.trace.json")
    (small,) = discover(open_location(str(tmp_path))).files
    store = store_for(2.5)
    asked(store, [files[0]], 0.0)  # is being opened, with room reserved
    asked(store, [files[1]], 0.0)  # does not fit beside
    (gathered,) = asked(store, [small])
    assert gathered.trace is not None
    assert store.status(files[0]).state == "parsing"
    assert store.status(files[1]).state == "queued"
    may_end.set()
    assert asked(store, [files[0]])[0].trace is not None
    assert asked(store, [files[1]])[0].trace is not None


def test_questions_that_come_again_take_turns(
    store_for: Stores, files: list[SpanFile], size_bytes: int
) -> None:
    # Each fits alone, no two fit together; asked as pages do, which never wait.
    store = store_for(2.5)
    trace_requests = [files[0:2], files[2:4], files[4:6], files[6:8]]
    complete: set[int] = set()

    def all_answered() -> bool:
        for number, trace_request in enumerate(trace_requests):
            if number not in complete:
                gathered = asked(store, trace_request, wait_s=0.0)
                if all(each.trace is not None for each in gathered):
                    complete.add(number)
        assert store.used_bytes <= 3.6 * size_bytes
        return len(complete) == len(trace_requests)

    for _ in range(3):
        complete.clear()
        wait_until(all_answered)


@pytest.mark.parametrize("guess_bytes", [1, 1 << 19])
def test_many_threads_stay_within_the_limit_and_are_all_answered(
    store_for: Stores,
    files: list[SpanFile],
    size_bytes: int,
    guess_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guess: dict[Part, int] = {"trace": guess_bytes, "summary": guess_bytes}
    monkeypatch.setattr(open_traces, "FIRST_TRACE_BYTES", guess)
    limit, largest = 3.3 * size_bytes, 1.5 * size_bytes
    half_a_trace = PerTrace(lambda _trace: np.zeros(int(size_bytes * 0.5) // 8))
    store = store_for(3.3)
    over: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.0005):
            used_bytes = store.used_bytes
            if used_bytes > limit + largest:
                over.append(used_bytes)

    def register(seed: int) -> int:
        chosen = random.Random(seed)
        answers = 0
        for _ in range(8):
            trace_request = chosen.sample(files, chosen.randint(1, 5))
            part: Part = chosen.choice(["trace", "trace", "summary"])
            gathered = asked(store, trace_request, WAIT_S, part)
            if chosen.random() < 0.5:  # as a page, that comes again
                while not all(each.is_settled for each in gathered):
                    gathered = asked(store, trace_request, 0.0, part)
            assert all(each.is_settled for each in gathered)
            opened = [each.trace for each in gathered if each.trace is not None]
            problems = [each.status.error for each in gathered if each.trace is None]
            assert len(opened) >= min(len(trace_request), 2), problems
            for trace in opened:
                half_a_trace(trace)
            store.enforce_limit()
            answers += 1
        return answers

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(register, range(6))) == 48
    finally:
        is_over.set()
        watcher.join()
    assert over == []


def test_a_view_of_a_trace_is_answered_however_small_the_memory(
    store_for: Stores, folder: Path, cache: CacheFolder
) -> None:
    catalog = Catalog([TraceRoot(str(folder))], cache=cache, store=store_for(0.01))
    for worker in ("w0", "w1", "w0"):
        request = ViewRequest("operators", Subject(worker=worker))
        view = view_result(catalog, request, wait_s=WAIT_S).view
        assert view.tables["operators"].frame.height == 500
