"""The times of nodes in every iteration, against counting moments one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analysis.operators.hierarchies import walk
from tests.helpers import traces as t
from torch_tb_profiler.analysis.operators.hierarchies.timed import timed_modules, timed_ranges
from torch_tb_profiler.analysis.operators.hierarchies.times import MEASURES, NodeTimes, node_times
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

BOTH = Selection(steps="1:2")


def read(times: NodeTimes, paths: list[str], inside: int) -> dict[tuple[str, str], dict[str, int]]:
    """Per path and iteration the times in µs; only those that are not 0."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    every = times.measures | {"communication": times.communication}
    for key, measured in every.items():
        rows = zip(measured.node.tolist(), measured.iteration, measured.ns.tolist(), strict=True)
        for node, iteration, ns in rows:
            if node < inside:
                place = paths[node], times.windows.names[iteration]
                found.setdefault(place, dict.fromkeys(MEASURES, 0))[key] = ns // 1000
    return {place: values for place, values in found.items() if any(values.values())}


@pytest.mark.parametrize("seed", range(25))
def test_times_count_moments(seed: int) -> None:
    made = walk.recording(seed)
    trace = t.trace(made.events)
    kept = timed_ranges(trace).get("user")
    expected = {("/".join(path), name): ns for (path, name), ns in walk.times(made).items()}
    if kept is None:
        assert not expected
        return
    hierarchy = kept.hierarchy
    times = node_times(trace, kept, BOTH)
    assert read(times, hierarchy.nodes.path, hierarchy.first_outside) == expected


@pytest.mark.parametrize("seed", range(6))
def test_work_is_in_a_range_or_outside_or_in_no_iteration(seed: int) -> None:
    made = walk.recording(seed)
    trace = t.trace(made.events)
    times = node_times(trace, timed_ranges(trace)["user"], BOTH)
    launched = {number: (around, at) for number, (around, _, at, _) in made.calls.items()}
    outside = sum(e - s for n, s, e in made.kernels if launched[n][1] < 130 and not launched[n][0])
    left_out = sum(e - s for n, s, e in made.kernels if launched[n][1] >= 130)
    assert times.outside_ns == outside * 1000
    whole = sum(e - s for _, s, e in made.kernels)
    assert times.work_ns == (whole - left_out) * 1000
    every = node_times(trace, timed_ranges(trace)["user"], Selection(start_ns=0))
    assert every.work_ns + every.left_out_ns == int(trace.device_work["dur_ns"].sum())


def test_ranges_of_two_threads_at_once_count_once() -> None:
    trace = t.trace(
        [
            t.annotation("load", 0, 100),
            t.annotation("load", 50, 100, tid=2),
            t.call("cudaLaunchKernel", 60, 10, corr=1),
            t.call("cudaLaunchKernel", 65, 10, corr=2, tid=2),
            t.kernel("k", 70, 20, corr=1),
            t.kernel("k", 80, 20, corr=2, stream=8),
        ]
    )
    kept = timed_ranges(trace)["user"]
    times = node_times(trace, kept, Selection())
    assert read(times, kept.hierarchy.nodes.path, 1) == {
        ("load", "0"): {"cpu": 150, "gpu": 30, "cpu_overhead": 135, "gpu_idle": 0}
    }


def trained() -> Trace:
    """A module in another one, and its backward work on a thread of its own."""
    root = "autograd::engine::evaluate_function: AddmmBackward0"
    numbered: dict[str, Any] = {"Sequence number": 7}
    backward: dict[str, Any] = {**numbered, "Fwd thread id": 1}
    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": t.HOST}
    return t.trace(
        [
            t.step(1, 0, 1000),
            t.frame("nn.Module: M", 10, 100, python_id=1, module=0),
            t.frame("nn.Module: L", 20, 50, python_id=2, module=1),
            t.op("aten::linear", 25, 20, **numbered),
            t.call("cudaLaunchKernel", 30, 5, corr=1),
            t.kernel("gemm", 40, 10, corr=1),
            t.op(root, 300, 50, tid=2),
            t.op("AddmmBackward0", 305, 40, tid=2, **backward),
            t.call("cudaLaunchKernel", 310, 5, tid=2, corr=3),
            t.call("cudaLaunchKernel", 320, 5, tid=2, corr=4),
            t.kernel("gemm", 320, 17, corr=3),
            t.kernel("gemm", 340, 10, corr=4),
            {**link, "ph": "s", "tid": 1, "ts": 25},
            {**link, "ph": "f", "tid": 2, "ts": 305},
        ]
    )


def test_backward_work_is_of_the_module_that_ran_forward() -> None:
    """Idle is that of the forward call and that of its backward, not what lies between them."""
    trace = trained()
    kept = timed_modules(trace)
    times = node_times(trace, kept, Selection(steps="1"))
    assert read(times, kept.hierarchy.nodes.path, kept.hierarchy.first_outside) == {
        ("M", "1"): {"cpu": 150, "gpu": 37, "cpu_overhead": 135, "gpu_idle": 3},
        ("M/L", "1"): {"cpu": 100, "gpu": 37, "cpu_overhead": 85, "gpu_idle": 3},
    }
    # The row of a module counts the calls of it, not the backward work.
    calls = kept.hierarchy.range_call[kept.hierarchy.is_call]
    assert np.bincount(kept.hierarchy.call_node[calls]).tolist() == [1, 1]


def test_a_phase_has_its_part_of_every_node() -> None:
    trace = trained()
    kept = timed_modules(trace)
    parts = [
        read(
            node_times(trace, kept, Selection(steps="1", phase=phase)),
            kept.hierarchy.nodes.path,
            kept.hierarchy.first_outside,
        )
        for phase in ("forward", "backward")
    ]
    forward = {"cpu": 50, "gpu": 10, "cpu_overhead": 45, "gpu_idle": 0}
    assert parts[0]["M/L", "1"] == forward
    assert parts[1]["M/L", "1"] == {"cpu": 50, "gpu": 27, "cpu_overhead": 40, "gpu_idle": 3}
    assert parts[1]["M", "1"] == parts[1]["M/L", "1"]
