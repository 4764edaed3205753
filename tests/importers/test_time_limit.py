"""A file that takes too long to read: what was read until then remains, and it is said."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from tests.helpers.traces import op
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers import TraceFormatError, import_source, import_trace
from torch_tb_profiler.importers.kineto.pieces import PIECE_BYTES
from torch_tb_profiler.importers.source import Source

EVENTS = 200_000
TEXT = json.dumps({"traceEvents": [op("aten::mm", n * 10, 5) for n in range(EVENTS)]}).encode()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes a second of CPU time: the limit is passed at the third."""
    ticks = itertools.count()
    monkeypatch.setattr("time.thread_time", lambda: float(next(ticks)))
    monkeypatch.setenv(LIMITS_VARIABLE, "cpu_s=2.5")


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.usefixtures("slow")
def test_what_was_read_until_then_remains(is_packed: bool, tmp_path: Path) -> None:
    assert len(TEXT) > 5 * PIECE_BYTES, "enough pieces to stop between two of them"
    path = tmp_path / "x.json"
    path.write_bytes(gzip.compress(TEXT, 1) if is_packed else TEXT)
    data = path.read_bytes()
    chunks = (data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20))
    columns = import_source(Source(str(path), chunks, path=str(path)))
    starts_ns = columns.tables["slices"]["start_ns"]
    assert 0 < len(starts_ns) < EVENTS
    assert starts_ns.tolist() == [n * 10_000 for n in range(len(starts_ns))]
    assert columns.quality.counts == {"reading_stopped": 1}, "and not that the file is truncated"
    (example,) = columns.quality.examples["reading_stopped"]
    assert f"{LIMITS_VARIABLE}=cpu_s=NUMBER" in example


def test_more_events_than_a_file_of_this_size_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "events=50000")
    columns = import_trace(iter([TEXT[: len(TEXT) // 2], TEXT[len(TEXT) // 2 :]]), name="x.json")
    assert 50_000 < len(columns.tables["slices"]["start_ns"]) < EVENTS
    assert columns.quality.counts == {"reading_stopped": 1}
    assert "50,000 events" in columns.quality.examples["reading_stopped"][0]


@pytest.mark.parametrize("event", [b"{},", b'{"ph":"X","name":"a"},'])
def test_events_read_in_vain_count(monkeypatch: pytest.MonkeyPatch, event: bytes) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "events=50000")
    text = b'{"traceEvents":[' + event * (8 * PIECE_BYTES // len(event)) + TEXT[17:]
    chunks = (text[at : at + (1 << 20)] for at in range(0, len(text), 1 << 20))
    with pytest.raises(TraceFormatError) as error:
        import_trace(chunks, name="x.json")
    assert error.value.code == "reading_stopped"
    assert "50,000 events" in error.value.message


def test_a_file_without_events_until_then_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "cpu_s=1e-12")
    head = b'{"traceEvents":[' + b" " * (1 << 20)
    with pytest.raises(TraceFormatError) as error:
        import_trace(iter([head, TEXT[-(1 << 20) :]]), name="blank.json")
    assert error.value.code == "reading_stopped"
    assert "blank.json" in error.value.message
    assert LIMITS_VARIABLE in error.value.message
