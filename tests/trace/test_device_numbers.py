"""One GPU with two numbers: torch's on memory events, that of the machine on kernels."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.traces import Event, call, kernel, memory, op, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.memory.view import memory as memory_view
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.timeline.index import timeline

MI300 = {"name": "AMD Instinct MI300X", "totalGlobalMem": 192 << 30, "numSms": 304}
V100 = {"name": "Tesla V100", "totalGlobalMem": 32 << 30, "numSms": 80}


def work(number: int, torch_device: int | None, device: int, kind: int = 1) -> list[Event]:
    """An operator that allocates on one number and runs a kernel on the other."""
    at = 100.0 * number
    events = [
        op(f"aten::op{number}", at, 50),
        call("hipLaunchKernel", at + 20, 5, corr=number + 1),
        kernel("k", at + 40, 40, corr=number + 1, device=device),
    ]
    if torch_device is not None:
        total = 512 * (number + 1)
        record = memory(at + 10, 512, address=64 * (number + 1), device=torch_device)
        record["args"] |= {"Device Type": kind, "Total Allocated": total}
        events.append(record)
    return events


def declared(model: dict[str, Any], count: int) -> list[dict[str, Any]]:
    return [{"id": number, **model} for number in range(count)]


def memory_devices(built: Trace) -> list[str]:
    return memory_view(built, Selection()).tables["memory_peaks"].frame["device"].to_list()


def test_a_process_with_one_gpu_has_one_number() -> None:
    built = trace(work(0, 0, 9), deviceProperties=declared(MI300, 1))
    assert memory_devices(built) == ["GPU 9"]
    assert built.devices.select("device", "name", "memory_bytes", "used").rows() == [
        (9, MI300["name"], 192 << 30, True)
    ]
    assert built.quality.counts == {"no_steps": 1, "device_numbers_matched": 1}
    (example,) = built.quality.examples["device_numbers_matched"]
    assert example == "device 0 of memory events is GPU 9: the process has only one"


def test_of_eight_declared_gpus_the_one_that_is_used_takes_its_properties_along() -> None:
    others = declared(MI300, 8)
    others[7] |= {"totalGlobalMem": 1 << 30}
    built = trace(work(0, 7, 9), deviceProperties=others)
    assert built.devices.filter("used").select("device", "memory_bytes").rows() == [(9, 1 << 30)]
    assert 7 not in built.devices["device"]
    frame = memory_view(built, Selection()).tables["memory_peaks"].frame
    assert frame.select("device", "device_memory_bytes").rows() == [("GPU 9", 1 << 30)]


def test_several_gpus_are_matched_by_operators() -> None:
    """Visible in another order than that of the machine: 0 is 5, 1 is 3."""
    events = [e for n in range(6) for e in work(n, n % 2, (5, 3)[n % 2], kind=6)]
    built = trace(events, deviceProperties=declared(MI300, 2))
    assert built.memory["device"].to_list() == [5, 3] * 3
    assert built.devices["device"].to_list() == [3, 5]
    assert "device_numbers_unmatched" not in built.quality.counts
    assert "its operators run their kernels there" in str(built.quality.examples)


@pytest.mark.parametrize("devices", [(5, 5), (5, 3)])
def test_unmatched_devices_are_reported_and_not_guessed(devices: tuple[int, int]) -> None:
    """Two numbers that meet on one device; and operators that do not agree."""
    places = [(0, devices[0]), (1, devices[1]), (0, devices[1]), (1, devices[0]), (0, 3)]
    events = [e for n, (m, k) in enumerate(places) for e in work(n, m, k, kind=6)]
    built = trace(events, deviceProperties=declared(MI300, 2))
    assert built.memory["device"].to_list() == [0, 1, 0, 1, 0]
    assert memory_devices(built) == ["torch GPU 0", "torch GPU 1"]
    assert "device_numbers_unmatched" in [n.code for n in memory_view(built, Selection()).notes]
    groups = {track.title: track.group for track in timeline(built).tracks}
    assert groups["torch GPU 0 memory allocated"] not in ("d0", "d3", "d5")


def test_numbers_that_are_declared_elsewhere_than_on_rocm_are_different_gpus() -> None:
    built = trace(work(0, 1, 0), deviceProperties=declared(V100, 2))
    assert memory_devices(built) == ["GPU 1"]
    assert "device_numbers_matched" not in built.quality.counts


def test_equal_numbers_stay() -> None:
    events = [e for n in range(4) for e in work(n, n % 2, n % 2, kind=6)]
    built = trace(events, deviceProperties=declared(MI300, 2))
    assert memory_devices(built) == ["GPU 0", "GPU 1"]
    assert built.quality.counts == {"no_steps": 1}


def test_without_memory_events_one_model_is_the_model_of_all() -> None:
    built = trace(work(0, None, 9), deviceProperties=declared(MI300, 8))
    assert built.devices.filter("used")["memory_bytes"].to_list() == [192 << 30]
    assert built.devices.height == 9
    mixed = declared(MI300, 8)
    mixed[3] |= {"totalGlobalMem": 64 << 30}
    built = trace(work(0, None, 9), deviceProperties=mixed)
    assert built.devices.filter("used")["memory_bytes"].to_list() == [None]


def test_a_device_without_kernels_does_not_part_numbers_that_agree() -> None:
    events = [*work(0, 0, 0, kind=6), *work(1, 0, 0, kind=6)]
    events.append(memory(150, 64, address=9, device_type=6, device=1))
    built = trace(events, deviceProperties=declared(MI300, 2))
    assert memory_devices(built) == ["GPU 0", "GPU 1"]
    assert built.quality.counts == {"no_steps": 1}


def test_each_process_of_a_file_has_its_own() -> None:
    def of(pid: int, events: list[Event]) -> list[Event]:
        return [e | {"pid": pid} if e.get("cat") != "kernel" else e for e in events]

    events = of(10, work(0, 0, 2)) + of(20, work(1, 0, 3))
    built = trace(events, deviceProperties=declared(MI300, 1))
    assert built.memory["device"].to_list() == [2, 3]


def test_every_view_of_a_real_recording_agrees(samples: Path) -> None:
    with gzip.open(samples / "mi300_bert_small" / "rank0.pt.trace.json.gz") as file:
        raw = json.load(file)
    header = {key: value for key, value in raw.items() if key != "traceEvents"}
    built = trace(raw["traceEvents"], **header)
    (device,) = {e["args"]["device"] for e in raw["traceEvents"] if e.get("cat") == "kernel"}
    name = f"GPU {device}"
    frame = memory_view(built, Selection()).tables["memory_peaks"].frame
    (properties,) = raw["deviceProperties"]
    assert frame.select("device", "device_memory_bytes").rows()[0] == (
        name,
        properties["totalGlobalMem"],
    )
    facts = overview(built, Selection()).facts
    assert {fact.scope for fact in facts if fact.scope and "GPU" in fact.scope} == {name}
    counter = f"{name} memory allocated"
    groups = {track.title: track.group for track in timeline(built).tracks}
    assert groups[counter] == f"d{device}"
