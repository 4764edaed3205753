"""Options of reading: pieces in other processes, Python frames dropped on request."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from tests.importers.pftrace.writer import (
    TRACKS,
    annotation,
    begin,
    end,
    interned,
    message,
    packet,
    read_data,
    rows,
)
from torch_tb_profiler.importers.protocol import Reading, ReadOptions
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.columns import EventColumns

FILE = Path(__file__).resolve().parents[2] / "data" / "pftrace" / "cpu.pftrace.gz"


def read_file(reading: Reading) -> EventColumns:
    return import_trace([FILE.read_bytes()], name="cpu.pftrace.gz", reading=reading)


def elsewhere(
    pieces: Iterator[Any], work: Callable[[Any], Any], *, in_threads: bool = False
) -> Iterator[tuple[Any, Any]]:
    """As another process reads them."""
    for piece in pieces:
        sent, how = pickle.loads(pickle.dumps((piece, work)))
        yield piece, pickle.loads(pickle.dumps(how(sent)))


def test_pieces_may_be_read_in_other_processes() -> None:
    here, there = read_file(Reading()), read_file(Reading(read_pieces=elsewhere))
    for name, table in here.tables.items():
        for column, values in table.items():
            np.testing.assert_array_equal(values, there.tables[name][column])
    assert here.strings == there.strings
    assert here.tracks == there.tracks


def test_progress_is_in_bytes_of_the_file() -> None:
    progress: list[int] = []
    read_file(Reading(progress=progress.append))
    assert progress[-1] == FILE.stat().st_size


def test_python_frames_are_dropped_on_request() -> None:
    whole = read_file(Reading())
    bare = read_file(replace(Reading(), options=ReadOptions(python_frames=False)))
    frames = whole.tables["python"]["slice"].size
    assert bare.quality.counts == {"python_frames_left_out": frames}
    assert bare.tables["python"]["slice"].size == 0
    assert [r for r in rows(bare, "operator") if r.pop("slice") >= 0] == [
        r for r in rows(whole, "operator") if r.pop("slice") >= 0
    ]


def test_lists_may_be_interned_texts() -> None:
    state = packet((13, 1), (12, message(*interned(29, {3: "[[1, 2]]"}))))
    given = 4, message((10, "Input Dims"), (17, 3))
    data = TRACKS + state + begin(1, "mm", (22, "cpu_op"), given, annotation("Input type", ["f"]))
    operator = rows(read_data(data + end(2)), "operator")[0]
    assert (operator["input_shape_code"], operator["input_type_code"]) == ("[[1, 2]]", "['f']")
