"""One recording as .pftrace and as Chrome JSON gives equal tables, but for what the first has lost.

The recordings: one of PyTorch 2.14.1 without a GPU, with shapes, stacks and modules; one whose GPU
work is made up, encoded by PyTorch's own encoders (docs/format-pftrace.md#losses).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.pftrace.writer import rows
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns

DATA = Path(__file__).resolve().parents[2] / "data" / "pftrace"
DECIMALS = ("cpu", "torch2141_synthetic_gpu")
LOST_TABLES = ("memory", "flows", "instants")
LOST_COLUMNS = {"device": ("shared_memory_bytes",)}
LOST_ARGUMENTS = ("copy kind", "src kind", "dst kind")
GPU_RANGE = "gpu_user_annotation"
"""Ranges on GPUs lose their external ids."""

ROUNDING_NS = 1
"""PyTorch's encoder multiplies microseconds that a double holds."""

Twins = tuple[EventColumns, EventColumns]


@pytest.fixture(scope="module", params=DECIMALS, name="twins")
def read_twins(request: pytest.FixtureRequest) -> Twins:
    folder = DATA if request.param == "cpu" else request.getfixturevalue("corpus") / "pftrace"
    names = (f"{request.param}.pftrace.gz", f"{request.param}.pt.trace.json.gz")
    protobuf, json = (import_trace([(folder / name).read_bytes()], name=name) for name in names)
    return protobuf, json


def keyed(columns: EventColumns, table: str) -> list[dict[str, Any]]:
    """The rows without the recorder's own span, in an order that no rounding changes."""
    remaining = [row for row in rows(columns, table) if row.get("raw_category_code") != "Trace"]
    starts = columns.tables["slices"]["start_ns"]
    names = columns.tables["slices"]["name_code"]
    for row in remaining:
        if "slice" in row:
            at = row.pop("slice")
            row["start_ns"], row["slice"] = int(starts[at]), columns.strings[names[at]]
    first = ("track", "slice", "name_code", "start_ns", "time_ns")
    return sorted(remaining, key=lambda row: [str(row.get(name)) for name in first])


@pytest.mark.parametrize("table", ["slices", "device", "operator", "python", "collective"])
def test_rows_are_those_of_json(twins: Twins, table: str) -> None:
    actual, expected = (keyed(columns, table) for columns in twins)
    assert len(actual) == len(expected)
    for row, twin in zip(actual, expected, strict=True):
        for column, value in row.items():
            if column in LOST_COLUMNS.get(table, ()):
                assert value is None
            elif column.endswith("_ns"):
                assert abs(value - twin[column]) <= ROUNDING_NS, (column, row, twin)
            elif not (column == "external_id" and row["raw_category_code"] == GPU_RANGE):
                assert value == twin[column], (column, row, twin)


def test_arguments_are_those_of_json(twins: Twins) -> None:
    actual, expected = (keyed(columns, "arguments") for columns in twins)
    assert actual == [row for row in expected if row["key_code"] not in LOST_ARGUMENTS]


def test_counters_are_those_of_json(twins: Twins) -> None:
    actual, expected = (keyed(columns, "counters") for columns in twins)
    assert [(r["track"], r["name_code"], r["series_code"], r["value"]) for r in actual] == [
        (r["track"], r["name_code"], r["series_code"], r["value"]) for r in expected
    ]


def test_unsupported_capabilities_are_named(twins: Twins) -> None:
    protobuf, json = twins
    for table in LOST_TABLES:
        assert not rows(protobuf, table)
    missing = {each.capability for each in protobuf.info.not_recorded}
    assert {"shared_memory", "occupancy", "blocks_per_sm", "memory"} <= missing
    assert protobuf.base_ns == json.base_ns
    assert (protobuf.format, protobuf.info.recorder) == ("pftrace", "torch.profiler")
    assert protobuf.quality.counts == {}


def test_rows_of_the_trace_have_their_labels(twins: Twins) -> None:
    protobuf, json = twins
    tracks = {(one.pid, one.tid): one for one in protobuf.tracks}
    for track in json.tracks:
        if (one := tracks.get((track.pid, track.tid))) is not None:
            label = None if track.process_label == "CPU" else track.process_label
            assert one.process_label == label
            if label is not None and label.startswith("GPU"):
                assert one.thread_name == (track.thread_name or "").strip()
                assert one.process_sort_index == track.process_sort_index


def test_launches_and_owners_are_those_of_json(twins: Twins) -> None:
    linked = []
    for columns in twins:
        trace = build_trace(columns)
        names = np.array([*trace.strings[trace.slices["name_code"].to_numpy()], None], object)
        work = [
            tuple(names[trace.device_work[column].fill_null(-1).to_numpy()])
            for column in ("slice", "launch", "owner")
        ]
        linked.append(
            (sorted(zip(*work, strict=True), key=str), trace.slices["device_total_ns"].sum())
        )
    assert linked[0] == linked[1]
