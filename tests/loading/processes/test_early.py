"""Helpers start early for a large file only, workers for several; the parser takes them over."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_tb_profiler.importers import kineto
from torch_tb_profiler.importers.kineto.file_pieces import FilePieces
from torch_tb_profiler.loading.opening.pieces import read_with
from torch_tb_profiler.loading.processes import early
from torch_tb_profiler.loading.processes.early import (
    Helpers,
    start_helpers,
    start_workers,
    take_helpers,
    take_workers,
)
from torch_tb_profiler.trace.columns import EventColumns


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    yield
    while early._started:
        early._started.pop().executor.shutdown(wait=False)
    while early._workers:
        early._workers.pop().shutdown(wait=False)


def test_a_large_file_starts_helpers_and_they_are_taken_over_once(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(early.LARGE_BYTES)
    start_helpers([str(tmp_path / "large.json")], 2)
    (started,) = early._started
    assert started.executor.submit(len, "abc").result(20) == 3
    assert take_helpers(1) is started
    assert take_helpers(1) is not started
    started.executor.shutdown(wait=False)


def test_nothing_is_started_for_small_files_folders_urls_or_one_core(tmp_path: Path) -> None:
    (tmp_path / "small.json").write_bytes(b"[]")
    paths = [str(tmp_path / "small.json"), str(tmp_path), "s3://bucket/x.json", "missing"]
    start_helpers(paths, 8)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(early.LARGE_BYTES)
    start_helpers([str(tmp_path / "large.json")], 1)
    assert not early._started


@pytest.mark.parametrize("names", [("a.json", "b.json.gz"), ("run/a.json", "run/b.json")])
def test_a_folder_with_several_traces_starts_workers(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"[]")
    start_workers([str(tmp_path)], 2)
    (started,) = early._workers
    assert take_workers(1) is not started
    assert take_workers(2) is started
    assert started.submit(len, "abc").result(20) == 3
    assert take_workers(2) is not started
    started.shutdown(wait=False)


def test_no_worker_is_started_for_one_trace_or_one_core(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[]")
    (tmp_path / "notes.txt").write_bytes(b"")
    start_workers([str(tmp_path), "s3://bucket", str(tmp_path / "missing")], 2)
    (tmp_path / "b.json").write_bytes(b"[]")
    start_workers([str(tmp_path)], 0)
    assert not early._workers


def _events(path: Path, count: int) -> Path:
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    names = [f"op{number}" * 40 for number in range(count)]
    path.write_text(json.dumps({"traceEvents": [event | {"name": name} for name in names]}))
    return path


def _read(path: Path, helpers: Helpers) -> EventColumns:
    reader = read_with(helpers.executor, 1, helpers.early)
    return kineto.read_file(str(path), name="x", read_pieces=reader)


def test_what_helpers_read_early_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "LARGE_BYTES", 1)
    path = _events(tmp_path / "large.json", 60_000)
    wanted = kineto.read_file(str(path), name="x")
    start_helpers([str(path)], 2)
    helpers = take_helpers(1)
    first = pickle.loads(helpers.early[str(path), 0].result(20))
    assert first[0] == next(iter(FilePieces(str(path))))

    found = _read(path, helpers)

    assert found.strings == wanted.strings
    assert (str(path), 0) not in helpers.early
    helpers.executor.shutdown(wait=False)


def test_what_was_read_before_the_file_changed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "LARGE_BYTES", 1)
    path = _events(tmp_path / "large.json", 60_000)
    start_helpers([str(path)], 2)
    helpers = take_helpers(1)
    helpers.early[str(path), 0].result(20)
    _events(path, 100)

    found = _read(path, helpers)

    assert len(found.tables["slices"]["start_ns"]) == 100
    helpers.executor.shutdown(wait=False)
