"""Metrics of CUPTI's range profiler, against the file read by ``json``."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from torch_tb_profiler.analysis.measured.work import group_means
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
FLOPS = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def read(events: list[dict[str, Any]]) -> Trace:
    label = {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}}
    data = json.dumps({"schemaVersion": 1, "traceEvents": [label, *events]})
    return build_trace(import_trace([data.encode()], name="a.pt.trace.json"))


def measured_range(at: float, dur: float, **metrics: object) -> dict[str, Any]:
    where = {"ph": "X", "cat": "cuda_profiler_range", "pid": 0, "tid": "range", "name": "k"}
    return {**where, "ts": at, "dur": dur, "args": metrics}


def launched(at: float, dur: float) -> dict[str, Any]:
    where = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": "k"}
    return {**where, "ts": at, "dur": dur, "args": {"device": 0, "stream": 7}}


def values_of(trace: Trace) -> set[tuple[int, str, float]]:
    """Start of the range, metric and value."""
    starts = trace.slices["start_ns"]
    return {
        (int(starts[row["slice"]]), str(trace.text(row["key_code"])), row["value"])
        for row in trace.arguments.iter_rows(named=True)
    }


@pytest.mark.parametrize("seed", range(5))
def test_metrics_are_those_of_the_file(seed: int) -> None:
    chance = random.Random(seed)
    events = []
    for number in range(40):
        metrics = {
            metric: chance.choice([chance.uniform(0, 100), chance.randrange(1000)])
            for metric in (ACTIVE, FLOPS, "own metric")
            if chance.random() < 0.7
        }
        events.append(measured_range(100 * number, 50, **metrics))
        events.append(launched(100 * number + 10, 20))
    start = min(int(event["ts"]) for event in events)
    expected = {
        (int(event["ts"] - start) * 1000, metric, float(value))
        for event in events
        if event["cat"] == "cuda_profiler_range"
        for metric, value in event["args"].items()
    }
    trace = read(events)
    first = trace.meta.start_ns
    assert {(at - first, *rest) for at, *rest in values_of(trace)} == expected
    assert trace.device_work.height == 40


def test_kernels_have_the_activity_of_their_range() -> None:
    trace = read(
        [
            measured_range(0, 100, **{ACTIVE: 80.0}), launched(20, 50),
            measured_range(100, 100, **{ACTIVE: 20}), launched(110, 50),
        ]
    )  # fmt: skip
    rows = np.arange(2)
    means = group_means(trace, "sm_active", rows, rows, 2)
    assert means is not None
    assert means.mean.tolist() == [80, 20]


@pytest.mark.parametrize("value", ["12", None, True, [1], {"a": 1}, float("nan"), 10**400])
def test_what_is_no_number_is_no_metric(value: object) -> None:
    trace = read([measured_range(0, 100, **{ACTIVE: value, "stream": 7}), launched(20, 50)])
    assert trace.arguments.is_empty()
    assert trace.device_work.height == 1
