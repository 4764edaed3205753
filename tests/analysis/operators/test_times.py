"""Times of calls against looking at every moment of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.opening import open_file
from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from tests.views.slow_times import SlowTimes, is_inside
from torch_tb_profiler.analysis.operators.calls import selected_operator_calls
from torch_tb_profiler.analysis.operators.times import call_times, has_runtime, times_by_group
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

EVERYTHING = Selection()


def calls_of(recorded: Trace, selection: Selection) -> pl.DataFrame:
    calls = selected_operator_calls(recorded, selection)
    return calls.hstack(call_times(recorded, selection, calls))


def a_call_with_two_kernels() -> list[Event]:
    return [
        step(1, 0, 100),
        op("aten::linear", 0, 50),
        op("aten::mm", 5, 30),
        call("cudaLaunchKernel", 10, 5, corr=1),
        call("cudaLaunchKernel", 20, 5, corr=2),
        call("cudaMemcpyAsync", 40, 5, corr=3),
        call("cudaLaunchKernel", 41, 20, corr=4, tid=2),
        kernel("a", 100, 10, corr=1),
        kernel("b", 105, 10, corr=2, stream=8),
        memcpy(120, 10, corr=3),
    ]


def test_overhead_idle_and_kernels_of_calls() -> None:
    calls = calls_of(trace(a_call_with_two_kernels()), EVERYTHING)
    columns = calls.select("cpu_overhead_ns", "gpu_idle_ns", "kernel_calls")
    # Of the linear 35 of its 50 us are outside calls; between its kernels and its copy 5 us pass.
    assert columns.rows() == [(35_000, 5_000, 2), (20_000, 0, 2)]


def test_a_call_inside_one_of_its_name_counts_with_it() -> None:
    events = [
        op("aten::sum", 0, 50),
        op("aten::to", 2, 40),
        op("aten::sum", 5, 30),
        call("cudaLaunchKernel", 10, 5, corr=1),
        kernel("a", 100, 10, corr=1),
        op("aten::sum", 60, 10),
    ]
    row = times_by_group(calls_of(trace(events), EVERYTHING), ["name_code"]).row(0, named=True)
    assert [row[f"cpu_{key}"] for key in ("total", "mean", "min", "max")] == [
        60_000,
        30_000,
        10_000,
        50_000,
    ]
    assert (row["gpu_total"], row["gpu_mean"], row["kernel_calls"]) == (10_000, 5_000, 1)
    assert row["cpu_overhead_total"] == 55_000


def test_a_recording_without_calls_into_a_runtime_says_so() -> None:
    assert not has_runtime(trace([op("aten::mm", 0, 5)]))
    assert has_runtime(trace(a_call_with_two_kernels()))


@examples(40)
@given(recordings())
def test_times_of_random_calls_agree_with_every_moment(recording: Recording) -> None:
    recorded = trace(recording.events)
    slow = SlowTimes(recorded, recording)
    calls = calls_of(recorded, recording.selection)
    expected = [
        (
            node.start,
            slow.overhead(node) if slow.is_called(node.start) else 0,
            slow.idle(node),
            slow.kernels(node),
        )
        for node in slow.shown()
    ]
    columns = ("start_ns", "cpu_overhead_ns", "gpu_idle_ns", "kernel_calls")
    assert sorted(calls.select(columns).rows()) == sorted(expected)


@examples(40)
@given(recordings())
def test_times_of_groups_agree_with_the_outermost_calls(recording: Recording) -> None:
    recorded = trace(recording.events)
    slow = SlowTimes(recorded, recording)
    table = times_by_group(calls_of(recorded, recording.selection), ["name_code"])
    found = {recorded.text(row.pop("name_code")): row for row in table.iter_rows(named=True)}
    shown = slow.shown()
    assert found.keys() == {node.name for node in shown}
    for name, row in found.items():
        nodes = [node for node in shown if node.name == name]
        of_work = [node for node in nodes if not is_inside(node, nodes)]
        called = [node for node in nodes if slow.is_called(node.start)]
        single = [node for node in called if not is_inside(node, called)]
        assert row["kernel_calls"] == sum(map(slow.kernels, of_work))
        for key, value, summed in (
            ("cpu", lambda node: node.dur, single),
            ("cpu_overhead", slow.overhead, single),
            ("gpu", slow.gpu, of_work),
            ("gpu_idle", slow.idle, of_work),
        ):
            values = [value(node) for node in single]
            assert row[f"{key}_total"] == sum(value(node) for node in summed)
            assert _statistics(row, key) == (
                (sum(values) / len(values), min(values), max(values)) if values else (None,) * 3
            )


def _statistics(row: dict[str, Any], key: str) -> tuple[Any, ...]:
    return row[f"{key}_mean"], row[f"{key}_min"], row[f"{key}_max"]


@pytest.mark.parametrize("sample", ["h100_bert_small", "torch_compile_triton"])
def test_times_of_real_calls_are_those_of_the_raw_events(samples: Path, sample: str) -> None:
    [path] = sorted((samples / sample).glob("*.json.gz"))
    events = reference.load(path)
    read = reference.read(events)
    calls = calls_of(open_file(open_location(str(path)), cache=None), EVERYTHING)
    runtime = [event for event in events if event.get("ph") == "X" and reference.is_call(event)]
    expected = []
    for node in read.operators:
        work = [piece for inner in node.subtree() for piece in inner.work]
        spans = [_span(piece) for piece in work]
        inside = [
            (max(start, node.start), min(end, node.end))
            for call_event in runtime
            if (str(call_event["pid"]), str(call_event["tid"])) == node.thread
            for start, end in [_span(call_event)]
        ]
        whole = max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0
        kernels = sum(piece["cat"] == "kernel" for piece in work)
        expected.append((node.dur - covered(inside), whole - covered(spans), kernels))
    found = calls.select("cpu_overhead_ns", "gpu_idle_ns", "kernel_calls").rows()
    assert sorted(found) == sorted(expected)


def _span(event: Event) -> tuple[int, int]:
    start = reference.ns(event["ts"])
    return start, start + reference.ns(event["dur"])


def covered(spans: list[tuple[int, int]]) -> int:
    """What spans cover, one after the other."""
    length, reach = 0, -(2**63)
    for start, end in sorted(spans):
        length += max(0, end - max(start, reach))
        reach = max(reach, end)
    return length
