"""Launches of graphs and their times, against a look at every event.

Cases: launches told by calls, by nodes alone, without any work; calls of drivers inside those of
runtimes; wide node numbers; kernels of other launches between; whole graphs of Nsight.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.graphs import GEMM, launch
from tests.helpers.nsys import whole_graphs, write_export
from tests.helpers.opening import open_file
from tests.helpers.traces import Event, call, kernel, trace
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.storage.locations import open_location


def test_a_launch_is_what_shares_its_call() -> None:
    recording = trace(
        [
            *launch(0, 1, ("a", "b")),
            call("cudaLaunchKernel", 6, 2, corr=2),
            kernel("eager", 40, 5, corr=2),
            *launch(100, 3, ("a", "b"), graph=None),
        ]
    )
    result = graph_launches(recording)
    assert result.count == 2
    assert result.graph.tolist() == [5, -1]
    assert result.node.tolist() == [1, 2, -1, -1]
    names = recording.device_work["name_code"].to_numpy()[result.row]
    assert [recording.text(int(code)) for code in names] == ["a", "b", "a", "b"]


def test_calls_without_work_and_calls_in_calls() -> None:
    result = graph_launches(
        trace(
            [
                *launch(0, 1, ("a",)),
                call("cuGraphLaunch", 1, 3, corr=1, cat="cuda_driver"),
                call("cudaGraphLaunch", 50, 5, corr=9),
                call("cudaGraphInstantiate", 60, 5, corr=10),
            ]
        )
    )
    assert result.count == 1
    assert len(result.without_work) == 1


def test_work_that_names_a_node_needs_no_call() -> None:
    def of_node(node: int, at: float, corr: int | None) -> Event:
        args: dict[str, Any] = {"graph node id": node}
        return kernel("a", at, 5, corr=corr, **args)

    wide = (7 << 32) | 3
    result = graph_launches(
        trace(
            [
                of_node(wide, 10, 4),
                of_node(wide + 1, 20, 4),
                of_node(0, 30, 5),
                of_node(8, 40, None),
            ]
        )
    )
    assert result.slice.tolist() == [-1]
    assert result.graph.tolist() == [7]
    assert result.node.tolist() == [3, 4]


def test_graphs_that_nsight_records_as_a_whole(tmp_path: Path) -> None:
    recording = open_file(
        open_location(str(write_export(tmp_path / "whole.sqlite", whole_graphs()))), cache=None
    )
    result = graph_launches(recording)
    assert result.count > 0
    assert result.is_whole.all()
    names = recording.device_work["name_code"].to_numpy()[result.row]
    reported = {f"CUDA graph {number}" for number in result.graph.tolist()}
    assert {recording.text(int(code)) for code in names} == reported


WORK = st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 9), st.integers(7, 8))


@given(st.lists(WORK, min_size=1, max_size=12))
def test_times_of_launches(work: Sequence[tuple[int, int, int, int]]) -> None:
    calls = [call("hipGraphLaunch", 0, 1, corr=corr + 1) for corr in range(4)]
    events = [
        kernel(f"k{at}", 10 + start, dur, corr=corr + 1, stream=stream)
        for at, (corr, start, dur, stream) in enumerate(work)
    ]
    recording = trace([*calls, *events])
    result, times = graph_launches(recording), graph_times(recording)
    groups = {corr: [each for each in work if each[0] == corr] for corr, *_ in work}
    in_order = sorted(groups.values(), key=lambda group: min(each[1] for each in group))
    assert sorted(zip(times.span_ns.tolist(), times.busy_ns.tolist(), strict=True)) == sorted(
        (_span(group), _busy(group)) for group in in_order
    )
    assert result.count == len(groups)
    gaps = times.gap_before_ns
    assert (gaps[result.first[:-1]] == -1).all()
    inside = gaps.copy()
    inside[result.first[:-1]] = 0
    sums = [int(inside[a:b].sum()) for a, b in zip(result.first, result.first[1:], strict=False)]
    assert sums == (times.span_ns - times.busy_ns).tolist()


def _span(group: Sequence[tuple[int, int, int, int]]) -> int:
    return 1000 * (max(a + d for _, a, d, _ in group) - min(a for _, a, _, _ in group))


def _busy(group: Sequence[tuple[int, int, int, int]]) -> int:
    return 1000 * sum(any(a <= t < a + d for _, a, d, _ in group) for t in range(60))


def test_the_fused_kernels_of_a_layer_are_in_order() -> None:
    recording = trace(launch(0, 1, (GEMM, GEMM), dur=3, gap=2))
    assert graph_times(recording).gap_before_ns.tolist() == [-1, 2000]
    assert graph_times(recording).longest_gap_ns.tolist() == [2000]
