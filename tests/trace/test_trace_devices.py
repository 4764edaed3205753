"""The tables of devices and tracks."""

from __future__ import annotations

import json

import pytest

from tests.helpers.traces import columns, frame, kernel, op, slice_event, trace
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace

V100 = {
    "id": 0,
    "name": "Tesla V100",
    "totalGlobalMem": 34084028416,
    "computeMajor": 7,
    "computeMinor": 0,
    "maxThreadsPerMultiprocessor": 2048,
    "numSms": 80,
}


def test_devices_are_identified_by_id_not_by_position() -> None:
    built = trace([kernel("k", 0, 5, device=3)], deviceProperties=[{**V100, "id": 3}, V100])
    assert built.devices.select("device", "name", "sm_count", "used").rows() == [
        (0, "Tesla V100", 80, False),
        (3, "Tesla V100", 80, True),
    ]
    assert "device_without_properties" not in built.quality.counts


def test_device_200_without_properties_is_listed_and_counted() -> None:
    built = trace([kernel("k", 0, 5, device=200)], deviceProperties=[V100])
    assert built.devices.rows()[1] == (200, None, None, None, None, None, None, True)
    assert built.quality.counts["device_without_properties"] == 1


@pytest.mark.parametrize(
    "properties",
    [None, "N/A", [], {}, [None, 7, "x"], [{"id": "zero"}], [{"id": None}], [{"id": 1e300}]],
)
def test_odd_properties_lose_nothing(properties: object) -> None:
    built = trace([kernel("k", 0, 5, device=1)], deviceProperties=properties)
    assert built.devices.filter("used")["device"].to_list() == [1]


def test_ids_and_numbers_written_as_text() -> None:
    text = {**V100, "id": "1", "numSms": "80", "totalGlobalMem": "34084028416", "name": ""}
    built = trace([kernel("k", 0, 5, device=1)], deviceProperties=[text])
    assert built.devices.rows() == [(1, None, 34084028416, 7, 0, 80, 2048, True)]


def test_devices_without_ids_count_from_zero_and_old_keys_are_read() -> None:
    without = {key: value for key, value in V100.items() if key != "id"}
    built = trace([], computeProperties=[without, without])
    assert built.devices["device"].to_list() == [0, 1]


def test_the_sm_count_under_the_wrong_key() -> None:
    wrong = {**V100, "maxThreadsPerMultiprocessor": 132}
    del wrong["numSms"]
    built = trace([], deviceProperties=[wrong])
    assert built.devices.select("sm_count", "max_threads_per_sm").rows() == [(132, None)]


def test_device_and_stream_fall_back_on_label_and_thread() -> None:
    bare = slice_event("kernel", "k", 0, 5, pid=4711, tid=20)
    label = {
        "ph": "M",
        "name": "process_labels",
        "pid": 4711,
        "tid": 0,
        "args": {"labels": "GPU 3"},
    }
    other = slice_event("kernel", "k", 9, 5, pid=2, tid="stream x")
    built = trace([bare, label, other, op("a", 0, 1)])
    rows = built.device_work.select("start_ns", "device", "stream").rows()
    assert rows == [(0, 3, 20), (9000, 2, None)]
    tracks = built.tracks.select("is_device", "device", "stream").rows()
    assert tracks == [(True, 3, 20), (True, 2, None), (False, None, None)]


def test_tracks_have_a_position_from_top_to_bottom() -> None:
    events = columns([kernel("k", 0, 5), op("a", 0, 5, tid=2), frame("f", 0, 5, tid=1)])
    events.tracks[1].process_sort_index = 2**63 - 1
    events.tracks[2].process_sort_index = 5
    built = build_trace(events)
    assert built.tracks["sort_index"].to_list() == [2, 1, 0]


def counter(pid: object, name: str, series: str, ts: float, value: float) -> dict[str, object]:
    event = {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": ts, "args": {series: value}}
    return event if series == "" else {**event, "cat": "hardware_counters"}


@pytest.mark.parametrize(
    ("pid", "label", "device"),
    [
        ("GPU 3 Counters", None, 3),
        ("XPU 0 Counters", None, 0),
        (1, "GPU 1", 1),
        (1, "CPU", None),
        ("GPU Counters", None, None),
        ("GPU 99999999 Counters", None, None),
    ],
)
def test_rows_of_counters_have_the_device_they_measure(
    pid: object, label: str | None, device: int | None
) -> None:
    names = [{"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": label}}]
    events = [
        *(names if label else ()),
        kernel("k", 0, 5, device=0),
        counter(pid, "Power (W)", "", 2, 300),
        counter(pid, "sm__cycles_active", "sm__cycles_active", 3, 40),
    ]
    built = build_trace(import_trace([json.dumps({"traceEvents": events}).encode()], name="x"))
    assert built.counters["value"].to_list() == [300, 40]
    assert built.tracks["device"].gather(built.counters["track"]).to_list() == [device] * 2
    assert built.device_work.height == built.slices.height == 1
