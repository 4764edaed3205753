"""Critical paths of small traces: by hand, and what holds of any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, frame, kernel, memcpy, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.idle.critical_path.graph import longest_paths
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath, critical_path
from torch_tb_profiler.analysis.idle.critical_path.step_graph import StepBounds
from torch_tb_profiler.analysis.idle.critical_path.what_if import WhatIf, estimate_step_ns
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.model import Trace

Parts = list[tuple[float, float, str]]


def path_of(recording: Trace, number: int = 0) -> CriticalPath:
    windows = step_windows(recording, Selection())
    rows = np.flatnonzero(windows.of_step == number)
    start, end = int(windows.start_ns[number]), int(windows.end_ns[number])
    return critical_path(recording, StepBounds(start, end, tuple(rows.tolist())))


def parts(path: CriticalPath) -> Parts:
    pieces = path.pieces
    return [
        (start / 1000, end / 1000, PathPart(part).name)
        for start, end, part in zip(
            pieces.start_ns.tolist(), pieces.end_ns.tolist(), pieces.part.tolist(), strict=True
        )
    ]


def launched(corr: int, at: float, start: float, dur: float, **more: Any) -> list[Event]:
    """A launch of 5 µs and its kernel."""
    return [
        call("cudaLaunchKernel", at, 5, corr=corr),
        kernel("gemm", start, dur, corr=corr, **more),
    ]


def test_a_device_that_works_hides_the_host() -> None:
    recording = trace([
        step(1, 0, 100), op("aten::mm", 10, 20), *launched(1, 15, 22, 100),
        op("aten::mm", 40, 20), *launched(2, 45, 123, 50),
    ])  # fmt: skip
    assert parts(path_of(recording)) == [
        (0, 10, "PYTHON"), (10, 15, "OPERATOR"), (15, 20, "RUNTIME"), (20, 22, "LAUNCH"),
        (22, 122, "COMPUTE"), (122, 123, "KERNEL_GAP"), (123, 173, "COMPUTE"),
    ]  # fmt: skip


def test_a_late_launch_brings_the_path_back_to_the_host() -> None:
    recording = trace([
        step(1, 0, 60), op("aten::mm", 10, 20), *launched(1, 15, 22, 10),
        op("aten::mm", 40, 20), *launched(2, 45, 53, 50),
    ])  # fmt: skip
    assert parts(path_of(recording))[3:] == [
        (20, 30, "OPERATOR"), (30, 40, "PYTHON"), (40, 45, "OPERATOR"), (45, 50, "RUNTIME"),
        (50, 53, "LAUNCH"), (53, 103, "COMPUTE"),
    ]  # fmt: skip


def test_a_kernel_that_starts_during_its_call_waits_for_the_begin_of_the_call() -> None:
    recording = trace([step(1, 0, 30), op("aten::mm", 10, 20), *launched(1, 15, 17, 100)])
    assert parts(path_of(recording)) == [
        (0, 10, "PYTHON"), (10, 15, "OPERATOR"), (15, 17, "LAUNCH"), (17, 117, "COMPUTE"),
    ]  # fmt: skip


def test_a_synchronization_is_the_work_it_waits_for() -> None:
    recording = trace([
        step(1, 0, 200), *launched(1, 15, 22, 100),
        call("cudaDeviceSynchronize", 30, 100), op("aten::add", 140, 60),
    ])  # fmt: skip
    assert parts(path_of(recording)) == [
        (0, 15, "PYTHON"), (15, 20, "RUNTIME"), (20, 22, "LAUNCH"), (22, 122, "COMPUTE"),
        (122, 130, "SYNC_RETURN"), (130, 140, "PYTHON"), (140, 200, "OPERATOR"),
    ]  # fmt: skip


def test_a_copy_to_the_host_waits_for_its_own_copy() -> None:
    recording = trace([
        step(1, 0, 200), *launched(1, 15, 22, 80),
        call("cudaMemcpy", 30, 90, corr=2), memcpy(103, 10, name="Memcpy DtoH", corr=2),
        *launched(3, 150, 160, 10, stream=9), op("aten::add", 170, 30),
    ])  # fmt: skip
    assert parts(path_of(recording))[3:] == [
        (22, 102, "COMPUTE"), (102, 103, "KERNEL_GAP"), (103, 113, "COPY"),
        (113, 120, "SYNC_RETURN"), (120, 150, "PYTHON"), (150, 155, "RUNTIME"),
        (155, 170, "PYTHON"), (170, 200, "OPERATOR"),
    ]  # fmt: skip


def test_backward_on_its_own_thread_is_on_the_path() -> None:
    forward: dict[str, Any] = {"Sequence number": 5}
    backward: dict[str, Any] = {"Sequence number": 5, "Fwd thread id": 1}
    recording = trace([
        step(1, 0, 200), frame("train.py(1): step", 0, 200), op("aten::mm", 10, 20, **forward),
        op("MmBackward0", 60, 90, tid=2, **backward),
        op("aten::add_", 160, 30),
    ])  # fmt: skip
    assert parts(path_of(recording)) == [
        (0, 10, "PYTHON"), (10, 30, "OPERATOR"), (30, 60, "PYTHON"), (60, 150, "OPERATOR"),
        (150, 160, "PYTHON"), (160, 190, "OPERATOR"), (190, 200, "PYTHON"),
    ]  # fmt: skip
    pieces = path_of(recording)
    tids = pieces.step_graph.track[pieces.pieces.node]
    assert len(set(tids.tolist())) == 2


def test_another_stream_is_waited_for() -> None:
    recording = trace([
        step(1, 0, 60), *launched(1, 10, 20, 100, stream=7), *launched(2, 30, 123, 40, stream=9),
    ])  # fmt: skip
    assert parts(path_of(recording))[2:] == [
        (15, 20, "LAUNCH"), (20, 120, "COMPUTE"), (120, 123, "STREAM_WAIT"), (123, 163, "COMPUTE"),
    ]  # fmt: skip


def saved(path: CriticalPath, name: str, recording: Trace, way: Any) -> float:
    code = recording.strings.tolist().index(name)
    names = recording.slices["name_code"].to_numpy()
    nodes = np.where(path.step_graph.slice >= 0, names[path.step_graph.slice], -1) == code
    return (
        path.step_graph.graph.length_ns - estimate_step_ns(path, [WhatIf(nodes, None, way)])[0]
    ) / 1000


def test_what_would_be_saved() -> None:
    recording = trace([
        step(1, 0, 60), *launched(1, 10, 20, 40),
        call("cudaLaunchKernel", 30, 5, corr=2), kernel("relu", 62, 100, corr=2),
    ])  # fmt: skip
    path = path_of(recording)
    # Half of the first kernel: the second starts at 42. Without it: when it was launched (35), by
    # what a launch usually takes (5), or 2 after the first, which ends at 20: at 40.
    assert saved(path, "gemm", recording, "halve") == 20
    assert saved(path, "gemm", recording, "remove") == 22
    assert saved(path, "relu", recording, "remove") == 100
    # Beside everything else it still has to end: 62 + 100.
    assert saved(path, "relu", recording, "overlap") == 0
    assert saved(path, "gemm", recording, "overlap") == 22


@examples(60)
@given(recordings())
def test_pieces_cover_the_step_and_are_its_longest_path(recording: Recording) -> None:
    built = trace(recording.events)
    windows = step_windows(built, Selection())
    for number in range(len(windows.names)):
        if windows.end_ns[number] <= windows.start_ns[number]:
            continue
        path = path_of(built, number)
        pieces, graph = path.pieces, path.step_graph.graph
        assert pieces.start_ns[0] == windows.start_ns[number]
        assert pieces.end_ns[-1] == windows.end_ns[number]
        assert (pieces.start_ns[1:] == pieces.end_ns[:-1]).all()
        assert (pieces.end_ns > pieces.start_ns).all()
        weight = graph.end_ns - graph.start_ns
        assert (weight > 0).all()
        if not len(weight):  # nothing but the step itself
            assert parts(path)[0][2] == "UNKNOWN"
            continue
        costs = (weight, path.costs.chain_lag_ns, path.costs.edge_lag_ns)
        paths, sums = longest_paths(graph, path.edge_order, [costs])
        ends = paths.at(np.arange(len(weight)), sums[0], 0)
        assert (ends == graph.end_ns).all()
        nothing = WhatIf(np.zeros(len(weight), np.bool_), None, "halve")
        everything = WhatIf(np.ones(len(weight), np.bool_), None, "remove")
        same, less = estimate_step_ns(path, [nothing, everything])
        assert same == graph.length_ns >= less


def test_a_step_in_which_nothing_was_recorded() -> None:
    recording = trace([step(1, 0, 100), op("aten::mm", 0, 100), step(2, 100, 100)])
    path = critical_path(recording, StepBounds(120_000, 180_000, ()))
    assert parts(path) == [(120, 180, "UNKNOWN")]


@pytest.mark.parametrize("count", [1, 12])
def test_only_the_last_paths_are_cached(count: int) -> None:
    recording = trace(
        [step(n, 100 * n, 100) for n in range(count)] + [op("aten::mm", 0, 100 * count)]
    )
    first = path_of(recording)
    for number in range(1, count):
        path_of(recording, number)
    assert (path_of(recording) is first) == (count == 1)
