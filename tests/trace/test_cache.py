"""A trace kept in a folder is the same trace; a damaged folder is noticed."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.helpers.traces import Event, call, frame, kernel, memory, op, step, trace
from torch_tb_profiler.trace.cache import BrokenCacheError, load_trace, save_trace
from torch_tb_profiler.trace.model import Trace

EVENTS: list[Event] = [
    step(1, 0, 100),
    op("aten::mm — ünïcode ", 10, 50, shape=[[2, 2]]),
    frame("f", 0, 90, python_id=1),
    call("cudaLaunchKernel", 20, 5, corr=7),
    kernel("k<int>", 30, 40, corr=7, blocks=0.5),
    memory(15, 512, address=-5),
]


def assert_same(one: Trace, other: Trace) -> None:
    assert one.meta == other.meta
    assert one.strings.tolist() == other.strings.tolist()
    assert one.strings.dtype == other.strings.dtype
    assert one.quality == other.quality
    frames = [
        field.name for field in fields(Trace) if isinstance(getattr(one, field.name), pl.DataFrame)
    ]
    assert len(frames) == 12
    for name in frames:
        assert_frame_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("events", [EVENTS, []])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, events: list[Event]) -> None:
    built = trace(events, deviceProperties=[{"id": 0}], nested={"list": [1, 2.5, None, "x"]})
    save_trace(built, tmp_path)
    assert_same(load_trace(tmp_path), built)


def test_odd_numbers_in_the_header(tmp_path: Path) -> None:
    save_trace(trace(EVENTS, big=2**70, odd=[math.nan, math.inf]), tmp_path)
    header = load_trace(tmp_path).meta.header
    assert header["big"] == 2**70
    assert math.isnan(header["odd"][0])


@pytest.mark.parametrize("damage", ["cut", "missing", "manifest", "version", "empty"])
def test_a_damaged_folder_says_so(tmp_path: Path, damage: str) -> None:
    save_trace(trace(EVENTS), tmp_path)
    table, manifest = tmp_path / "slices.arrow", tmp_path / "trace.json"
    if damage == "cut":
        table.write_bytes(table.read_bytes()[:-9])
    elif damage == "missing":
        table.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text()[:50])
    elif damage == "version":
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema_version": -1}))
    else:
        manifest.unlink()
    with pytest.raises(BrokenCacheError, match=str(tmp_path)):
        load_trace(tmp_path)
