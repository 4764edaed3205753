"""Samples: metrics by name, network cards, running threads; memory of the driver."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    call,
    columns_of,
    global_pid,
    global_tid,
    kernel,
    strings,
    trace_of,
)
from torch_tb_profiler.importers.downsampling import downsample
from torch_tb_profiler.importers.nsys.scheduling import mean_running, running_times
from torch_tb_profiler.trace.columns import EventColumns

Sample = tuple[str, str, str, int, float]


def samples_of(columns: EventColumns) -> list[Sample]:
    table, texts = columns.tables["samples"], columns.strings
    codes = ("source_code", "metric_code", "unit_code")
    return [
        (texts[source], texts[metric], texts[unit], time, value)
        for source, metric, unit, time, value in zip(
            *(table[code].tolist() for code in codes),
            table["time_ns"].tolist(),
            table["value"].tolist(),
            strict=True,
        )
    ]


def test_metrics_are_identified_by_name(tmp_path: Path) -> None:
    """Metric 2 is another one on the second GPU; without its type a name serves for all."""
    first, second = 0x900, 0x901
    names_table = [
        {"typeId": first, "metricId": 2, "metricName": "SMs Active [Throughput %]"},
        {"typeId": second, "metricId": 2, "metricName": "GPC Clock Frequency [MHz]"},
    ]
    rows = [
        {"timestamp": 20, "typeId": second, "metricId": 2, "value": 1980},
        {"timestamp": 20, "typeId": first, "metricId": 2, "value": 55.5},
        {"timestamp": 10, "typeId": first, "metricId": 2, "value": 44},
        {"timestamp": 30, "typeId": first, "metricId": 77, "value": 1},
    ]
    columns = columns_of(
        tmp_path, {"GPU_METRICS": rows, "TARGET_INFO_GPU_METRICS": names_table, **BASE}
    )
    assert samples_of(columns) == [
        ("GPU 0", "SMs Active", "%", 10, 44.0),
        ("GPU 0", "SMs Active", "%", 20, 55.5),
        ("GPU 0", "metric 77", "", 30, 1.0),
        ("GPU 1", "GPC Clock Frequency", "MHz", 20, 1980.0),
    ]


BASE: dict[str, list[dict[str, Any]]] = {"StringIds": strings("f"), KERNEL: [kernel(0, 5)]}


def test_network_cards(tmp_path: Path) -> None:
    rows = [
        {"start": 5, "end": 6, "globalId": 9, "portId": 1, "metricsListId": 1, "metricsIdx": 0,
         "value": 640},
        {"start": 6, "end": 7, "globalId": 8, "portId": 0, "metricsListId": 1, "metricsIdx": 4,
         "value": 1},
    ]  # fmt: skip
    columns = columns_of(
        tmp_path,
        {
            **BASE,
            "NET_NIC_METRIC": rows,
            "NIC_ID_MAP": [{"nicId": 3, "globalId": 9}],
            "TARGET_INFO_NIC_INFO": [{"nicId": 3, "name": "mlx5_0"}],
            "TARGET_INFO_NETWORK_METRICS": [
                {"metricsListId": 1, "metricsIdx": 0, "name": "IB: Bytes sent", "unit": "bytes/ms"}
            ],
        },
    )
    assert samples_of(columns) == [
        ("NIC 8", "metric 4", "", 6, 1.0),
        ("mlx5_0 port 1", "IB: Bytes sent", "bytes/ms", 5, 640.0),
    ]


def test_many_samples_become_means() -> None:
    time_ns = np.array([3, 1, 2, 4, 1, 2, 5])
    values = np.array([30.0, 10, 20, 40, 7, 9, 50])
    series = np.array([0, 0, 0, 0, 1, 1, 0])
    whole = downsample(time_ns, values, series, 7)
    assert [each.tolist() for each in whole] == [
        [1, 2, 3, 4, 5, 1, 2], [10, 20, 30, 40, 50, 7, 9], [0] * 5 + [1] * 2
    ]  # fmt: skip
    few = downsample(time_ns, values, series, 4)
    assert [each.tolist() for each in few] == [[1, 3, 5, 1], [15, 35, 50, 8], [0, 0, 0, 1]]
    ends = downsample(time_ns, values, series, 4, at_end=True)
    assert [each.tolist() for each in ends] == [[2, 4, 5, 2], [15, 35, 50, 8], [0, 0, 0, 1]]


def test_running_threads_agree_with_counting_moments() -> None:
    """Of random switches of three threads, against a count at each moment."""
    chance = random.Random(3)
    switches = sorted(
        (time, thread, chance.random() < 0.5)
        for thread in (5, 6, 7)
        for time in chance.sample(range(60), 20)
    )
    columns = [np.array(column) for column in zip(*switches, strict=True)]
    starts, ends = running_times(columns[0], columns[1], columns[2].astype(bool))
    runs: list[int] = [0] * 60
    for thread in (5, 6, 7):
        own = [(time, is_in) for time, of, is_in in switches if of == thread]
        for (time, is_in), (until, then) in itertools.pairwise(own):
            for moment in range(time, until):
                runs[moment] += is_in and not then
    bounds = np.array([0, 10, 25, 59])
    expected = [float(np.mean(runs[low:high])) for low, high in itertools.pairwise(bounds)]
    assert mean_running(starts, ends, bounds) == pytest.approx(expected)


def test_context_switches(tmp_path: Path) -> None:
    rows = [
        {"start": start, "cpu": 1, "isSchedIn": is_in, "globalTid": global_tid(10, thread)}
        for start, thread, is_in in ((0, 1, 1), (0, 2, 1), (1000, 2, 0), (4000, 1, 0))
    ]
    samples = samples_of(columns_of(tmp_path, {**BASE, "SCHED_EVENTS": rows}))
    assert {each[:3] for each in samples} == {("host", "Running threads", "")}
    assert [each[4] for each in samples] == [2.0] * 500 + [1.0] * 1500


@pytest.mark.parametrize("end", [0, 2**63 - 1])
def test_switches_at_one_time_or_ages_apart_give_no_samples(tmp_path: Path, end: int) -> None:
    row = {"cpu": 1, "globalTid": global_tid(10, 1)}
    rows = [{**row, "start": 0, "isSchedIn": 1}, {**row, "start": end, "isSchedIn": 0}]
    assert samples_of(columns_of(tmp_path, {**BASE, "SCHED_EVENTS": rows})) == []


def test_memory_of_the_driver(tmp_path: Path) -> None:
    row = {"globalPid": global_pid(10), "deviceId": 0, "memKind": 2, "memoryOperationType": 0}
    rows = [
        {**row, "start": 12, "address": 64, "bytes": 100, "correlationId": 4},
        {**row, "start": 30, "address": 128, "bytes": 50, "correlationId": 99},
        {**row, "start": 40, "address": 64, "bytes": 100, "memoryOperationType": 1},
        {**row, "start": 50, "address": 8, "bytes": 7, "memKind": 1},
    ]
    trace = trace_of(
        tmp_path,
        {
            **BASE,
            CALL: [call(10, 20, 1, correlationId=4, globalTid=global_tid(10, 33))],
            "CUDA_GPU_MEMORY_USAGE_EVENTS": rows,
        },
    )
    memory = trace.memory
    assert memory["bytes"].to_list() == [100, 50, -100, 7]
    assert memory["total_allocated_bytes"].to_list() == [100, 150, 50, 7]
    assert memory["device_type"].to_list() == [1, 1, 1, 0]
    assert memory["device"].to_list() == [0, 0, 0, -1]
    assert trace.tracks["tid"].gather(memory["track"]).to_list() == ["33", "10", "10", "10"]


def test_memory_taken_before_the_recording_is_in_no_total(tmp_path: Path) -> None:
    row = {"globalPid": global_pid(10), "deviceId": 0, "memKind": 2}
    rows = [
        {**row, "start": 1, "bytes": 30, "memoryOperationType": 0, "address": 1},
        {**row, "start": 2, "bytes": 100, "memoryOperationType": 1, "address": 2},
        {**row, "start": 3, "bytes": 5, "memoryOperationType": 0, "address": 3},
    ]
    tables = {**BASE, "CUDA_GPU_MEMORY_USAGE_EVENTS": rows}
    totals = columns_of(tmp_path, tables).tables["memory"]["total_allocated_bytes"]
    assert totals.tolist() == [100, 0, 5]


def test_an_export_with_samples_only(tmp_path: Path) -> None:
    rows = [{"timestamp": time, "typeId": 0, "metricId": 1, "value": 3} for time in (5, 6)]
    trace = trace_of(tmp_path, {"GPU_METRICS": rows})
    assert (trace.samples.height, trace.slices.height) == (2, 0)
