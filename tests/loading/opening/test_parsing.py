"""Cases: a small file is parsed in this process; several are parsed in others, with the same
tables; a worker killed on the way fails its file with a message, and the others and later ones are
read; without a writable cache too; a file that may not fit into memory is parsed in another
process; results damaged on the way are rejected; a stopped reading stops its worker; progress is
that of the worker."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, cast

import pytest

from tests.helpers.discovered import discover
from tests.helpers.opening import open_file
from torch_tb_profiler.importers.kineto.native import native_status
from torch_tb_profiler.loading.ingest.job import IngestResult, Job, Part, ingest_file
from torch_tb_profiler.loading.opening import parsing
from torch_tb_profiler.loading.opening.memory_budget import WORKER_BYTES, MemoryBudget
from torch_tb_profiler.loading.opening.open_file import OpenedFile, open_trace_file
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.processes.executors import LocalExecutor
from torch_tb_profiler.loading.processes.progress_file import ProgressFile
from torch_tb_profiler.loading.processes.resources import OOM_SCORE_ADJUSTMENT
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import FileState, Location, open_location
from torch_tb_profiler.trace.model import Trace

Writer = Callable[..., Path]


@pytest.fixture(name="parser")
def two_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parser]:
    monkeypatch.setattr(parsing, "SMALL_BYTES", 0)
    parser = Parser(2, parses_in_process=False)
    yield parser
    parser.close()


def files_of(folder: Path, write_trace: Writer, count: int, events: int = 3) -> list[SpanFile]:
    for number in range(count):
        names = tuple(f"op{number}.{event}" for event in range(events))
        write_trace(folder / f"w{number}.1.pt.trace.json", names)
    return discover(open_location(os.fspath(folder))).files


def opened(store: TraceStore, files: list[SpanFile]) -> list[Trace]:
    for file in files:
        store.request(file)
    store.wait(files, 30)
    traces = [store.trace(file) for file in files]
    return [trace for trace in traces if trace is not None]


def assert_same(trace: Trace, file: SpanFile) -> None:
    expected = open_file(file.location, cache=None)
    assert trace.slices.equals(expected.slices)
    assert trace.strings.tolist() == expected.strings.tolist()
    assert trace.meta == expected.meta


def test_a_small_file_alone_starts_no_process(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalExecutor, "submit", None)
    files = files_of(tmp_path, write_trace, 3)
    assert len(opened(TraceStore(cache=None, parser=Parser(2)), files)) == 3


def test_a_file_that_may_not_fit_is_parsed_where_the_system_may_kill(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = files_of(tmp_path, write_trace, 1)
    monkeypatch.setattr(parsing, "MemoryBudget", lambda: MemoryBudget(lambda: WORKER_BYTES))
    monkeypatch.setattr(parsing, "open_trace_file", None)  # whoever parses here fails
    parser = Parser(1)
    try:
        assert_same(parser.open(file.location, file.state, cache=None).trace, file)
    finally:
        parser.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process say so")
def test_workers_are_the_first_that_the_system_kills() -> None:
    executor = LocalExecutor(1)
    try:
        read = executor.submit(Path.read_text, Path("/proc/self/oom_score_adj"))
        assert read.result(30).strip() == OOM_SCORE_ADJUSTMENT
    finally:
        executor.shutdown(wait=False)


@pytest.mark.parametrize("cache", ["kept", "none", "unwritable"])
def test_several_files_are_parsed_in_other_processes(
    tmp_path: Path,
    write_trace: Writer,
    parser: Parser,
    monkeypatch: pytest.MonkeyPatch,
    cache: str,
) -> None:
    files = files_of(tmp_path / "logs", write_trace, 4)
    (tmp_path / "file").touch()
    places = {"kept": tmp_path / "cache", "unwritable": tmp_path / "file" / "x", "none": None}
    place = places[cache]
    folder = None if place is None else CacheFolder(place)
    here: list[str] = []

    def opening(location: Location, known: FileState | None, **options: Any) -> OpenedFile:
        here.append(location.name)
        return open_trace_file(location, known, **options)

    monkeypatch.setattr(parsing, "open_trace_file", opening)
    traces = opened(TraceStore(cache=folder, parser=parser), files)
    assert len(traces) == 4
    for trace, file in zip(traces, files, strict=True):
        assert_same(trace, file)
    if cache == "none":
        assert len(here) <= 2  # the last ones have no fellows left, and stay here


def test_a_killed_worker_fails_its_file_only(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch, parser: Parser
) -> None:
    files = files_of(tmp_path, write_trace, 6, events=20)
    submit, its_own_pid = LocalExecutor.submit, cast("int", KillsItself())

    def killing(executor: LocalExecutor, fn: Callable[[Job], Any], job: Job) -> object:
        if job.location.name.startswith("w2."):
            return submit(executor, os.kill, its_own_pid, signal.SIGKILL)
        return submit(executor, fn, job)

    monkeypatch.setattr(LocalExecutor, "submit", killing)
    monkeypatch.setattr(parser, "_waiting_bytes", 1 << 30)
    store = TraceStore(cache=None, parser=parser)
    assert len(opened(store, files)) == 5
    status = store.status(files[2])
    assert status.state == "failed"
    assert status.error is not None
    assert status.error.code == "worker_died"
    assert "w2.1.pt.trace.json" in status.error.message
    assert "SIGKILL" in status.error.message
    monkeypatch.setattr(LocalExecutor, "submit", submit)
    again = files_of(tmp_path / "again", write_trace, 3)
    assert len(opened(store, again)) == 3


class KillsItself:
    """Unpickled as the number of the process it is unpickled in."""

    def __reduce__(self) -> tuple[Callable[[], int], tuple[()]]:
        return os.getpid, ()


def test_a_file_that_cannot_be_read_says_so(
    tmp_path: Path, write_trace: Writer, parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "_waiting_bytes", 1 << 30)
    (tmp_path / "w.1.pt.trace.json").write_text("not json")
    location = open_location(os.fspath(tmp_path / "w.1.pt.trace.json"))
    with pytest.raises(OpenError, match="not JSON") as caught:
        parser.open(location, cache=None)
    assert caught.value.problem.code == "not_json"


class _EnoughError(Exception):
    pass


def test_progress_comes_from_the_worker_and_stopping_goes_there(
    tmp_path: Path, write_trace: Writer, parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "_waiting_bytes", 1 << 40)
    monkeypatch.setattr(parsing, "POLL_S", 0.005)
    path = write_trace(tmp_path / "w.1.pt.trace.json", ("a long name " * 20,) * 150_000)
    seen: list[tuple[int, int]] = []

    def progress(done: int, size: int) -> None:
        seen.append((done, size))
        if done:
            raise _EnoughError

    with pytest.raises(_EnoughError):
        parser.open(open_location(os.fspath(path)), cache=None, progress=progress)
    assert 0 < seen[-1][0] <= seen[-1][1] == path.stat().st_size
    small = write_trace(tmp_path / "x.1.pt.trace.json")
    assert parser.open(open_location(os.fspath(small)), cache=None).trace.slices.height == 1


def test_large_and_alone_is_read_in_pieces(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "LARGE_BYTES", 1000)
    monkeypatch.setattr(native_status(), "decoder", None)  # the compiled one reads in threads
    (file,) = files_of(tmp_path, write_trace, 1, events=50)
    used = threading.Event()
    submit = LocalExecutor.submit

    def using(*task: Any) -> object:
        used.set()
        return submit(*task)

    monkeypatch.setattr(LocalExecutor, "submit", using)
    parser = Parser(2)
    assert_same(parser.open(file.location, cache=None).trace, file)
    assert used.is_set()
    parser.close()
    one = Parser(1)
    used.clear()
    assert_same(one.open(file.location, cache=None).trace, file)
    assert not used.is_set()


@pytest.mark.parametrize("part", ["trace", "summary"])
def test_what_was_damaged_on_the_way_is_not_taken(
    tmp_path: Path, write_trace: Writer, part: Part
) -> None:
    (file,) = files_of(tmp_path / "logs", write_trace, 1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    job = Job(file.location, file.state, None, scratch=scratch, part=part)
    ingest_file(job)
    assert parsing._load_from_scratch(scratch, job) is not None
    for path in sorted((scratch / part).iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert parsing._load_from_scratch(scratch, job) is None
        path.write_bytes(content)
    assert parsing._load_from_scratch(scratch, job) is not None


def test_a_worker_that_ends_just_after_the_wait_for_it_has_given_its_result(tmp_path: Path) -> None:
    """A thread that waits may wake late: its time is over, and the result is there."""

    class Future(futures.Future[IngestResult]):
        def result(self, timeout: float | None = None) -> IngestResult:
            if timeout is not None:
                self.set_result(IngestResult(text_bytes=7))
                raise TimeoutError
            return super().result()

    progress_file = ProgressFile(tmp_path / "signals")
    assert parsing.result_with_progress(Future(), progress_file, 9, None).text_bytes == 7
