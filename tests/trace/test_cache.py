"""A saved trace loads as the same trace; a damaged folder is detected."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace
from polars.testing import assert_frame_equal

from tests.helpers.traces import Event, call, frame, kernel, memory, op, step, trace
from tests.importers.kineto.test_header_types import WHOLE
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import BrokenCacheError, load_trace, save_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

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
        name for name in Trace.__struct_fields__ if isinstance(getattr(one, name), pl.DataFrame)
    ]
    assert len(frames) == 16
    for name in frames:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert one.side.keys() == other.side.keys()
    for name, table in one.side.items():
        assert table.source == other.side[name].source
        assert_frame_equal(table.frame, other.side[name].frame)


@pytest.mark.parametrize("events", [EVENTS, []])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, events: list[Event]) -> None:
    built = trace(events, deviceProperties=[{"id": 0}], nested={"list": [1, 2.5, None, "x"]})
    save_trace(built, tmp_path)
    assert_same(load_trace(tmp_path), built)


def queues(**changed: Any) -> SideTable:
    row = {"queue": "device", "step": 1, "size": 0, "capacity": 8, **changed}
    frame = pl.DataFrame([row], SIDE_SCHEMAS["queues"], orient="row")
    return SideTable("queues", "device_queue_profiling_0.txt", frame)


def test_side_tables_are_stored(tmp_path: Path) -> None:
    built = replace(trace(EVENTS), side={"queues": queues(push_us=1.5)})
    save_trace(built, tmp_path)
    assert_same(load_trace(tmp_path), built)


def test_a_side_table_has_the_declared_columns() -> None:
    with pytest.raises(ValueError, match="columns"):
        SideTable("queues", "a.txt", pl.DataFrame({"queue": ["device"]}))
    with pytest.raises(ValueError, match="no side table"):
        SideTable("others", "a.txt", pl.DataFrame())


def test_importers_may_put_columns_in_any_order(tmp_path: Path) -> None:
    built = trace(EVENTS)
    built = replace(built, memory=built.memory.select(reversed(built.memory.columns)))
    save_trace(built, tmp_path)
    assert_same(load_trace(tmp_path), built)


def test_metadata_is_stored_unchanged(tmp_path: Path) -> None:
    built = trace(EVENTS, **WHOLE)
    save_trace(built, tmp_path)
    assert load_trace(tmp_path).meta.info == built.meta.info
    assert built.meta.info.job is not None
    assert built.meta.info.devices


Change = Callable[[pl.DataFrame], pl.DataFrame]
TABLE_CHANGES: dict[str, Change] = {
    "a column less": lambda frame: frame.drop("depth"),
    "a column more": lambda frame: frame.with_columns(more=1),
    "another type": lambda frame: frame.with_columns(pl.col("start_ns").cast(pl.Float64)),
    "another order": lambda frame: frame.select(reversed(frame.columns)),
    "a row less": lambda frame: frame.head(1),
}
MANIFEST_CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "version": lambda manifest: manifest.update(schema_version=-1),
    "no version": lambda manifest: manifest.pop("schema_version"),
    "no table": lambda manifest: manifest["tables"].pop("slices"),
    "a table that is none": lambda manifest: manifest["tables"].update(slices=None),
    "a time that is text": lambda manifest: manifest["meta"].update(start_ns="0"),
    "a time that is no number": lambda manifest: manifest["meta"].update(end_ns=True),
    "no info": lambda manifest: manifest["meta"].pop("info"),
    "an info that is none": lambda manifest: manifest["meta"].update(info=[]),
    "an unknown word": lambda manifest: manifest["meta"]["info"].update(environment="TOKEN"),
    "a rank that is text": lambda manifest: manifest["meta"]["info"].update(job={"rank": "0"}),
    "a rank beyond sense": lambda manifest: manifest["meta"]["info"].update(job={"rank": -1}),
    "a device of no number": lambda manifest: manifest["meta"]["info"].update(devices=[{}]),
    "an unknown fact": lambda manifest: manifest["meta"].update(unknown=1),
    "a count that is text": lambda manifest: manifest["quality"]["counts"].update(truncated="1"),
    "no quality": lambda manifest: manifest.update(quality=None),
}


@pytest.mark.parametrize("change", TABLE_CHANGES)
def test_a_table_that_is_not_as_it_was_written(tmp_path: Path, change: str) -> None:
    save_trace(trace(EVENTS), tmp_path)
    table = tmp_path / "slices.arrow"
    TABLE_CHANGES[change](pl.read_ipc_stream(table)).write_ipc_stream(table)
    with pytest.raises(BrokenCacheError, match=r"slices\.arrow"):
        load_trace(tmp_path)


@pytest.mark.parametrize("change", MANIFEST_CHANGES)
def test_a_manifest_that_is_not_as_it_was_written(tmp_path: Path, change: str) -> None:
    save_trace(trace(EVENTS), tmp_path)
    path = tmp_path / "trace.json"
    manifest = json.loads(path.read_text())
    MANIFEST_CHANGES[change](manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(BrokenCacheError, match=str(tmp_path)):
        load_trace(tmp_path)


@pytest.mark.parametrize("file", ["slices.arrow", "strings.arrow", "trace.json"])
def test_a_file_that_is_missing_or_cut(tmp_path: Path, file: str) -> None:
    save_trace(trace(EVENTS), tmp_path)
    os.truncate(tmp_path / file, 50)
    with pytest.raises(BrokenCacheError, match=str(tmp_path)):
        load_trace(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(BrokenCacheError, match=str(tmp_path)):
        load_trace(tmp_path)


def test_every_sample_is_loaded_as_it_was_saved(samples: Path, tmp_path: Path) -> None:
    files = sorted(samples.glob("*/*.json*"))
    assert len(files) > 10
    for number, file in enumerate(files):
        folder = tmp_path / str(number)
        folder.mkdir()
        built = build_trace(import_trace([file.read_bytes()], name=file.name))
        save_trace(built, folder)
        assert_same(load_trace(folder), built)
