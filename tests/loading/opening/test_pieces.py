"""Cases: pieces read in workers or threads give the same columns as sequential reading, for
complete, truncated and damaged files, and for data after the events; a worker killed on the way
costs nothing."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import tasks
from tests.importers.kineto.reference import assert_same_columns
from torch_tb_profiler.importers import PieceReader, Reading, read_sequentially
from torch_tb_profiler.importers.kineto.native import native_status
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.loading.opening import pieces
from torch_tb_profiler.loading.opening.pieces import shared_reader
from torch_tb_profiler.loading.processes.executors import LocalExecutor
from torch_tb_profiler.trace.columns import EventColumns

PIECE_BYTES = 1 << 16


@pytest.fixture(autouse=True, params=["compiled", "python"])
def _decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled decoder reads pieces in threads, the other one in processes."""
    if request.param == "python":
        monkeypatch.setattr(native_status(), "decoder", None)


@pytest.fixture(autouse=True)
def _small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pieces are read before their turn, so that the workers must do their share."""
    monkeypatch.setattr(pieces, "WINDOW", 3)


@pytest.fixture(scope="module", name="executor")
def one_worker() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(1, ahead=2)
    yield executor
    executor.shutdown(wait=False)


@pytest.fixture(scope="module", name="text")
def sample_text(samples: Path) -> bytes:
    name = "kineto_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz"
    return gzip.decompress((samples / name).read_bytes())[:3_000_000]


def columns(text: bytes, read_pieces: PieceReader = read_sequentially) -> EventColumns:
    chunks = (text[at : at + 50_000] for at in range(0, len(text), 50_000))
    reading = Reading(read_pieces=read_pieces)
    return read_text(chunks, name="x", piece_bytes=PIECE_BYTES, reading=reading)


def test_a_file_cut_in_the_middle(executor: LocalExecutor, text: bytes) -> None:
    assert_same_columns(columns(text), columns(text, read_pieces=shared_reader(executor, 1)))


def test_damage_in_a_piece(executor: LocalExecutor, text: bytes) -> None:
    hurt = text[:1_000_000] + b'"\x00}' + text[1_000_300:]
    assert_same_columns(columns(hurt), columns(hurt, read_pieces=shared_reader(executor, 1)))


def test_data_behind_the_events(executor: LocalExecutor, text: bytes) -> None:
    whole = text[: text.rindex(b"},\n  {", 0, 1_000_000) + 1]
    after = json.dumps({"trailing": ["x" * 100] * 40_000}).encode()
    for tail in (b"\n]}", b'\n], "distributedInfo": {"rank": 3}}', b"\n]}" + after):
        expected = columns(whole + tail)
        assert_same_columns(expected, columns(whole + tail, read_pieces=shared_reader(executor, 1)))
    assert expected.quality.counts["trailing_data"] == 1


class KilledOnTheWay(Executor):
    """Kills the worker with the third piece, and ends it with the sixth."""

    def __init__(self, inner: LocalExecutor) -> None:
        self.inner = inner
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        if self.count == 3:
            return self.inner.submit(tasks.killed_by, signal.SIGKILL)
        if self.count == 6:
            return self.inner.submit(os._exit, 3)
        return self.inner.submit(fn, *args, **kwargs)


def test_a_killed_worker_loses_no_event(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_status(), "decoder", None)
    inner = LocalExecutor(1, ahead=2)
    killing = KilledOnTheWay(inner)
    assert_same_columns(columns(text), columns(text, read_pieces=shared_reader(killing, 1)))
    assert killing.count > 6
    inner.shutdown(wait=False)
