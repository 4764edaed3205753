"""A second part of a file reads only its own pieces: what the first scan learned is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.kineto import part as kineto_part
from torch_tb_profiler.importers.kineto.pieces import PIECE_BYTES
from torch_tb_profiler.requests.errors import OpenError, RequestError

EVENTS = 60_000
PERIOD_US = 10


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Operators of 5 µs, one every 10 µs, in a file of several pieces."""
    path = tmp_path_factory.mktemp("part") / "x.pt.trace.json"
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{number % 7}", "pid": 1, "tid": 1,
         "ts": 500 + PERIOD_US * number, "dur": 5, "args": {"note": "x" * 120}}
        for number in range(EVENTS)
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    assert path.stat().st_size > 2 * PIECE_BYTES
    return path


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of pieces of each scan."""
    counted: list[int] = []
    scan = kineto_part._scan_pieces

    def count(pieces: object, split: list[object], reading: object) -> object:
        counted.append(len(split))
        return scan(pieces, split, reading)  # type: ignore[arg-type]

    monkeypatch.setattr(kineto_part, "_scan_pieces", count)
    return counted


def names(path: Path, cache: Path, **part: str) -> list[str]:
    with open_trace(path, cache_dir=cache, **part) as opened:  # type: ignore[arg-type]
        trace = opened.trace
        return [str(trace.strings[code]) for code in trace.slices["name_code"].to_list()]


def test_the_second_part_needs_no_scan(recording: Path, tmp_path: Path, scans: list[int]) -> None:
    assert names(recording, tmp_path, only_us="0:30") == ["op0", "op1", "op2"]
    assert len(scans) == 1
    assert names(recording, tmp_path, only_us="500000:500030") == ["op6", "op0", "op1"]
    assert len(scans) == 1
    assert len(names(recording, tmp_path)) == EVENTS
    assert names(recording, tmp_path, only_us="0:30") == ["op0", "op1", "op2"]


def test_only_pieces_of_the_part_are_decoded(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(recording, tmp_path, only_us="0:30")
    chosen: list[int] = []
    choose = kineto_part._choose

    def count(*arguments: object) -> object:
        pieces = choose(*arguments)  # type: ignore[arg-type]
        chosen.append(len(pieces))
        return pieces

    monkeypatch.setattr(kineto_part, "_choose", count)
    names(recording, tmp_path, only_us="100:130")
    assert chosen == [2]  # its own, and the one that ends the events


def test_a_changed_file_is_scanned_again(recording: Path, tmp_path: Path, scans: list[int]) -> None:
    copy = tmp_path / "y.pt.trace.json"
    copy.write_bytes(recording.read_bytes())
    cache = tmp_path / "cache"
    assert names(copy, cache, only_us="0:30") == ["op0", "op1", "op2"]
    copy.write_bytes(recording.read_bytes().replace(b'"op1"', b'"op8"'))
    assert names(copy, cache, only_us="0:30") == ["op0", "op8", "op2"]
    assert len(scans) == 2


OTHER = b'{"version":1,"size_bytes":1,"pieces":[],"steps":[]}'


@pytest.mark.parametrize("stored", [b"", b"{", b"[]", OTHER])
def test_a_damaged_index_costs_only_time(
    recording: Path, tmp_path: Path, scans: list[int], stored: bytes
) -> None:
    names(recording, tmp_path, only_us="0:30")
    (index,) = tmp_path.rglob("pieces.json")
    index.write_bytes(stored)
    assert names(recording, tmp_path, only_us="100:130") == ["op3", "op4", "op5"]
    assert len(scans) == 2


def test_a_part_that_does_not_fit_is_refused(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "torch_tb_profiler.loading.opening.open_file.free_memory_bytes"
    monkeypatch.setattr(module, lambda: 2 * PIECE_BYTES)
    with pytest.raises(OpenError, match="does not fit into memory") as caught:
        names(recording, tmp_path, only_us="0:99999999")
    assert caught.value.problem.code == "part_too_large"
    assert names(recording, tmp_path, only_us="0:30") == ["op0", "op1", "op2"]


def test_malformed_parts_are_refused(recording: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no range"):
        names(recording, tmp_path, only_us="5")
    with pytest.raises(RequestError, match="not both"):
        names(recording, tmp_path, only_us="5:6", only_steps="4")
    with pytest.raises(OpenError, match="records no steps"):
        names(recording, tmp_path, only_steps="4")
