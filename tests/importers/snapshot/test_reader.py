"""Snapshots as traces: the simulated allocator knows what was in use.

Cases: totals after every event, with a ring that lost the beginning; two devices; gzip; bare
segments; older blocks without an address; OOM; files without times; damage; the corpus by hand.
"""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.snapshots import START_US, simulated, trace_of
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import detect_format, import_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS


@pytest.mark.parametrize("ring", [None, 40])
@pytest.mark.parametrize("protocol", [2, 4])
def test_totals_are_what_was_in_use(ring: int | None, protocol: int) -> None:
    snapshot, states = simulated(5, events=400, devices=2, ring=ring)
    trace = trace_of(gzip.compress(pickle.dumps(snapshot, protocol)))
    events = trace.side["snapshot_events"].frame
    expected = [sum(state.values()) for device in states for state in device]
    assert events["allocated_bytes"].to_list() == expected
    assert set(events["reserved_bytes"]) == {1 << 26}
    assert events["device"].to_list() == [0] * len(states[0]) + [1] * len(states[1])
    times = [entry["time_us"] for device in snapshot["device_traces"] for entry in device]
    assert (events["time_ns"] + trace.meta.base_ns == np.array(times) * 1000).all()


@pytest.mark.parametrize("lost", ["blocks", "segments"])
def test_totals_that_would_be_below_zero_count_what_the_file_lacks(lost: str) -> None:
    snapshot, states = simulated(5, events=400)
    whole = trace_of(pickle.dumps(snapshot, 4)).side["snapshot_events"].frame
    for segment in snapshot["segments"]:
        segment["blocks"] = []
    if lost == "segments":
        snapshot["segments"] = []
    trace = trace_of(pickle.dumps(snapshot, 4))
    events = trace.side["snapshot_events"].frame
    assert trace.quality.counts["snapshot_blocks_missing"] == 1
    # The recording begins with nothing, so what is missing follows from the events alone.
    assert events["allocated_bytes"].to_list() == [sum(state.values()) for state in states[0]]
    assert events["reserved_bytes"].to_list() == whole["reserved_bytes"].to_list()


@pytest.mark.parametrize("size", [-1, 2**53 + 1, 2**63 - 1, 2**63, 10**30, 1.5, None])
def test_a_size_that_is_none_changes_no_total(size: object) -> None:
    snapshot, states = simulated(5, events=400)
    trace = snapshot["device_traces"][0]
    odd = {"action": "alloc", "addr": 64, "size": size, "stream": 0, "frames": []}
    trace.insert(10, odd | {"time_us": trace[10]["time_us"]})
    block = {"address": 64, "size": size, "requested_size": size, "state": "active_allocated"}
    snapshot["segments"].append({"device": 0, "address": 64, "total_size": size, "blocks": [block]})
    events = trace_of(pickle.dumps(snapshot, 4)).side["snapshot_events"].frame
    expected = [sum(state.values()) for state in states[0]]
    expected.insert(10, expected[9])
    assert events["allocated_bytes"].to_list() == expected
    assert events["size_bytes"][10] is None
    assert set(events["reserved_bytes"]) == {1 << 26}


def test_blocks_at_the_end_of_the_address_space() -> None:
    blocks = [{"size": 512, "state": "active_allocated"} for _ in range(3)]
    segment = {"device": 0, "address": 2**63 - 1, "total_size": 2048, "blocks": blocks}
    side = trace_of(pickle.dumps([segment], 4)).side
    assert side["snapshot_blocks"].frame["size_bytes"].to_list() == [512] * 3


def test_sizes_whose_sum_is_none_are_unknown() -> None:
    entry = {"action": "alloc", "size": 2**52, "stream": 0, "time_us": 1_750_000_000_000_000}
    entries = [entry | {"addr": 512 * n, "frames": []} for n in range(6000)]
    data = pickle.dumps({"segments": [], "device_traces": [entries]}, 4)
    events = trace_of(data).side["snapshot_events"].frame
    assert events["size_bytes"].null_count() == 6000
    assert set(events["allocated_bytes"]) == {0}


def test_allocations_are_memory_events() -> None:
    snapshot, _ = simulated(2, events=200)
    trace = trace_of(pickle.dumps(snapshot, 4))
    entries = snapshot["device_traces"][0]
    sizes = {"alloc": 1, "free_completed": -1}
    expected = [sizes[e["action"]] * e["size"] for e in entries if e["action"] in sizes]
    assert trace.memory["bytes"].to_list() == expected


def test_blocks_of_many_segments_at_once_are_counted_once() -> None:
    """A hostile pickle names one list of blocks again and again: 2 KB would be 200,000 rows."""
    blocks = [{"address": 512 * at, "size": 512, "state": "inactive"} for at in range(20)]
    segment = {"device": 0, "address": 0, "total_size": 10240, "blocks": blocks}
    side = trace_of(pickle.dumps([dict(segment) for _ in range(50)], 4)).side
    assert side["snapshot_segments"].frame.height == 50
    assert side["snapshot_blocks"].frame["address"].to_list() == [512 * at for at in range(20)]


def test_more_values_than_the_budget_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(simulated(2, events=50)[0], 4)
    monkeypatch.setenv(LIMITS_VARIABLE, "objects=100")
    with pytest.raises(TraceFormatError, match="objects=NUMBER") as error:
        trace_of(data)
    assert error.value.code == "too_many_values"


def test_texts_of_stacks_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, _ = simulated(2, events=50)
    frames = [{"filename": f"{n}.py", "line": 1, "name": "f" * 300} for n in range(9)]
    snapshot["device_traces"][0][0]["frames"] = frames
    data = pickle.dumps(snapshot, 4)
    whole = trace_of(data).side["snapshot_stacks"].frame["frames"].to_list()
    monkeypatch.setenv(LIMITS_VARIABLE, "all_text_chars=2000")
    trace = trace_of(data)
    assert trace.quality.counts["stacks_cut"] == 1
    cut = trace.side["snapshot_stacks"].frame["frames"].to_list()
    for before, after in zip(whole, cut, strict=True):
        expected = before.split("\n")[:3] if "f" * 300 in before else before.split("\n")
        assert after.split("\n") == expected


def test_stacks_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "memory_stacks=2")
    trace = trace_of(pickle.dumps(simulated(2, events=50)[0], 4))
    assert trace.side["snapshot_stacks"].frame.height == 2
    assert trace.quality.counts["snapshot_stacks_left_out"] > 0


def test_annotations_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, _ = simulated(1, events=50)
    marks = [("START", "a", 1), ("END", "a", 2), ("START", "b", 3), ("END", "b", 4)]
    snapshot["external_annotations"] = [
        {"stage": stage, "name": name, "device": 0, "time_us": START_US + at}
        for stage, name, at in marks
    ]
    monkeypatch.setenv(LIMITS_VARIABLE, "annotations=2")
    trace = trace_of(pickle.dumps(snapshot, 4))
    assert [trace.text(code) for code in trace.slices["name_code"]] == ["a"]
    assert trace.quality.counts["entries_left_out"] == 2


def test_events_of_many_devices_at_once_are_those_of_one() -> None:
    snapshot, _ = simulated(2, events=50)
    events = snapshot["device_traces"][0]
    side = trace_of(pickle.dumps({**snapshot, "device_traces": [events] * 20_000}, 4)).side
    assert side["snapshot_events"].frame["device"].to_list() == [0] * len(events)


def test_segments_alone_and_blocks_without_address() -> None:
    blocks = [
        {"size": 512, "state": "active_allocated", "history": [{"real_size": 300, "frames": []}]},
        {"size": 1536, "state": "active_awaiting_free"},
        {"size": 2048, "state": "inactive"},
    ]
    segment = {"device": 3, "address": 2**63 + 4096, "total_size": 4096, "blocks": blocks}
    side = trace_of(pickle.dumps([segment], 2)).side
    block_rows = side["snapshot_blocks"].frame
    assert [value % 2**64 for value in block_rows["address"]] == [
        2**63 + 4096, 2**63 + 4608, 2**63 + 6144,
    ]  # fmt: skip
    assert block_rows["state"].to_list() == ["active_allocated", "active_pending_free", "inactive"]
    assert block_rows["requested_bytes"].to_list() == [300, None, None]
    assert side["snapshot_segments"].frame["device"].to_list() == [3]


def test_out_of_memory_and_annotations() -> None:
    snapshot, _ = simulated(1, events=50)
    oom = {"action": "oom", "device_free": 77, "size": 2**33, "stream": 0,
           "time_us": START_US + 10**6, "frames": []}  # fmt: skip
    snapshot["device_traces"][0].append(oom)
    marks: list[tuple[str, str, int, int]] = [
        ("START", "ProfilerStep#1", 0, 10), ("START", "inner", 0, 20), ("END", "inner", 0, 30),
        ("START", "ProfilerStep#1", 1, 15), ("END", "ProfilerStep#1", 0, 90),
        ("START", "open", 0, 100), ("END", "nothing", 0, 40),
    ]  # fmt: skip
    snapshot["external_annotations"] = [
        {"stage": stage, "name": name, "device": device, "time_us": START_US + at}
        for stage, name, device, at in marks
    ] + [{"bad": 1}]
    trace = trace_of(pickle.dumps(snapshot, 5))
    (row,) = trace.side["snapshot_events"].frame.filter(device_free_bytes=77).rows(named=True)
    assert SNAPSHOT_ACTIONS[row["action"]] == "oom"
    assert row["size_bytes"] == 2**33
    assert row["address"] is None
    names = [trace.strings[code] for code in trace.slices["name_code"].to_list()]
    durations = dict(zip(names, trace.slices["dur_ns"].to_list(), strict=True))
    assert durations["ProfilerStep#1"] == 80_000
    assert durations["inner"] == 10_000
    assert len(names) == 3
    assert trace.slices["category"].to_list().count(Category.STEP) == 1


def test_without_times_events_are_in_order() -> None:
    snapshot, _ = simulated(4, events=30)
    for entry in snapshot["device_traces"][0]:
        del entry["time_us"]
    trace = trace_of(pickle.dumps(snapshot, 4))
    assert trace.side["snapshot_events"].frame["time_ns"].to_list() == [
        1000 * index for index in range(len(snapshot["device_traces"][0]))
    ]
    assert trace.quality.counts == {"snapshot_without_times": 1}


def test_the_host_alone_is_a_snapshot() -> None:
    """Pinned memory of a program that used no device."""
    snapshot, _ = simulated(3, events=20)
    host = {f"host_{key.removeprefix('device_')}": snapshot[key]
            for key in ("segments", "device_traces")}  # fmt: skip
    trace = trace_of(pickle.dumps({"segments": [], "device_traces": [], **host}, 4))
    assert set(trace.side["snapshot_events"].frame["device"]) == {-1}


def test_a_cut_file_keeps_what_was_read() -> None:
    data = pickle.dumps(simulated(6, events=300)[0], 4)
    trace = trace_of(data[: len(data) * 2 // 3])
    assert trace.quality.counts["truncated"] == 1
    assert trace.side["snapshot_events"].frame.height > 50
    assert trace.side["snapshot_segments"].frame.height == 1


@pytest.mark.parametrize("value", [[], {"a": 1}, {"segments": [{"x": 1}]}, {"segments": 3}, 5])
def test_other_pickles_are_rejected(value: Any) -> None:
    with pytest.raises(TraceFormatError) as error:
        import_trace(iter([pickle.dumps(value, 4)]), name="a.pickle")
    assert error.value.code == "not_a_snapshot"


def test_snapshots_are_detected_by_their_head() -> None:
    data = pickle.dumps(simulated(1, events=20)[0], 4)
    assert detect_format(data[:4096], "x.pickle", False).is_trace
    assert detect_format(data[:4096], "x.pickle", False).format == "snapshot"
    assert not detect_format(pickle.dumps({"model": 1}, 4), "x.pkl", True).is_trace


def test_the_hostile_sample_runs_nothing(corpus: Path) -> None:
    data = (corpus / "fixtures/memsnap_synth/hostile_global.pickle").read_bytes()
    with pytest.raises(TraceFormatError, match=r"os\.getenv") as error:
        import_trace(iter([data]), name="a.pickle")
    assert error.value.code == "unsafe_pickle"


def test_frames_of_torch_npu_say_whose_memory_it_is(corpus: Path) -> None:
    ascend = (corpus / "memsnap_ascend" / "snapshot_1768383987920985470.pkl").read_bytes()
    kind = device_terms(trace_of(ascend))
    assert kind is not None
    assert kind.device == "NPU"
    other = min((corpus / "memsnap_cuda").glob("*.pickle")).read_bytes()
    assert device_terms(trace_of(other)) is None


@pytest.mark.parametrize(
    ("name", "devices"),
    [("snapshot_1768383987920985470.pkl", 1), ("snapshot_expandable.pkl", 1),
     ("snapshot_with_multi_devices.pkl", 2)],
)  # fmt: skip
def test_the_corpus_adds_up_by_its_own_segments(corpus: Path, name: str, devices: int) -> None:
    data = (corpus / "memsnap_ascend" / name).read_bytes()
    whole = pickle.loads(data)
    events = trace_of(data).side["snapshot_events"].frame
    for device in range(devices):
        of_device = events.filter(device=device)
        segments = [each for each in whole["segments"] if each["device"] == device]
        requested = sum(
            block["requested_size"]
            for segment in segments
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        )
        assert of_device["allocated_bytes"][-1] == requested
        assert of_device["reserved_bytes"][-1] == sum(each["total_size"] for each in segments)
        assert of_device["allocated_bytes"].min() >= 0  # type: ignore[operator]
        if name != "snapshot_expandable.pkl" and device == devices - 1:
            assert of_device["allocated_bytes"][0] == 0
