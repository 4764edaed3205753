"""Calls summed by name: ranges of users against one call at a time, copies and sets worked."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import annotation, call, kernel, memcpy, memset, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.kernels.function_summary import function_name
from torch_tb_profiler.analysis.kernels.memory_operations import memory_operations
from torch_tb_profiler.analysis.operators.summaries.calls import step_time_ns
from torch_tb_profiler.analysis.operators.summaries.operators import operator_parts
from torch_tb_profiler.analysis.operators.summaries.user_ranges import user_ranges
from torch_tb_profiler.analysis.selection import Selection


@examples(40)
@given(recordings())
def test_ranges_have_the_times_of_their_outermost_calls(recording: Recording) -> None:
    read = reference.read(recording.events)
    steps = "ProfilerStep#"
    ranges = [n for n in read.nodes if not n.is_operator and not n.name.startswith(steps)]
    known = {id(node) for node in ranges}
    expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for node in ranges:
        row = expected[node.name, node.thread[1]]
        row[0] += 1
        above = node.parent
        while above is not None and (id(above) not in known or above.name != node.name):
            above = above.parent
        row[1] += node.dur if above is None else 0
    recorded = trace(recording.events)
    found = user_ranges(recorded, Selection(), by_thread=True)
    rows = found.select("name", "thread", "calls", "cpu_total_ns").iter_rows()
    assert {(name, thread): [calls, time] for name, thread, calls, time in rows} == expected
    merged = user_ranges(recorded, Selection())
    assert set(merged["thread"]) <= {"all"}
    assert merged["cpu_total_ns"].sum() == found["cpu_total_ns"].sum()


def test_calls_of_a_range_that_overlap_without_nesting_count_each() -> None:
    """As ranges do that a server begins before it ends the one before."""
    events = [annotation("batch", 100 * number, 130) for number in range(4)]
    events.append(annotation("batch", 310, 20))  # inside the last
    (row,) = user_ranges(trace(events), Selection()).rows(named=True)
    assert (row["calls"], row["cpu_total_ns"], row["cpu_min_ns"]) == (5, 4 * 130_000, 130_000)


def test_domains_of_ranges_and_device_time() -> None:
    events = [
        annotation("load", 0, 100),
        op("aten::copy_", 10, 50, ext=1),
        call("cudaMemcpyAsync", 20, 10, corr=1, ext=1),
        memcpy(30, 40, corr=1, ext=1),
        annotation("Optimizer.step#SGD.step", 200, 10),
        annotation("nccl:all_reduce", 300, 10),
    ]
    found = user_ranges(trace(events), Selection())
    assert found.select("name", "domain", "gpu_total_ns").rows() == [
        ("load", "user", 40_000),
        ("nccl:all_reduce", "pytorch", 0),
    ]
    assert user_ranges(trace(events), Selection(), domain="user")["name"].to_list() == ["load"]


def test_copies_by_direction_and_by_what_the_host_called() -> None:
    def copies(at: int, corr: int, **more: Any) -> list[Any]:
        name = "Memcpy DtoH (Device -> Pinned)"
        return [
            call("cudaMemcpyAsync", at, 4, corr=corr),
            memcpy(at + 5, 10, name=name, corr=corr, bytes=1000, **more),
        ]

    events = [
        *copies(0, 1),
        *copies(20, 2),
        annotation("my memcpy", 39, 20),
        *copies(40, 3),
        call("cudaMemsetAsync", 70, 2, corr=4),  # its device work was not recorded
        call("cudaGraphLaunch", 80, 3, corr=5),
        memset(90, 6, corr=5),
        call("cudaLaunchKernel", 100, 2, corr=6),
        kernel("gemm", 101, 5, corr=6),
    ]
    found = memory_operations(trace(events), Selection())
    keys = ("name", "host_call", "calls", "cpu_total_ns", "gpu_total_ns", "bytes", "sized_ns")
    assert sorted(found.select(keys).rows(), key=str) == [
        ("Memcpy DtoH", "cudaMemcpyAsync", 2, 8_000, 20_000, 2000, 20_000),
        ("Memcpy DtoH", "my memcpy", 1, 20_000, 10_000, 1000, 10_000),
        ("Memset", "cudaGraphLaunch", 1, None, 6_000, None, 0),
        ("Memset", "cudaMemsetAsync", 1, 2_000, None, None, 0),
    ]


def test_parts_of_operators_are_those_directly_inside() -> None:
    events = [
        op("aten::linear", 0, 50, ext=1),
        op("aten::addmm", 5, 30, ext=2),
        op("aten::empty", 6, 2),
        call("cudaLaunchKernel", 20, 5, corr=1, ext=2),
        kernel("gemm", 30, 7, corr=1, ext=2),
    ]
    found = operator_parts(trace(events), Selection())
    assert found.select("operator", "kind", "name", "cpu_total_ns", "gpu_total_ns").rows() == [
        ("aten::linear", "inner", "aten::addmm", 30_000, 7_000),
        ("aten::addmm", "inner", "aten::empty", 2_000, 0),
        ("aten::addmm", "device", "gemm", None, 7_000),
    ]


def test_time_of_steps_is_that_of_their_ranges_on_the_host() -> None:
    recorded = trace([step(1, 0, 50), step(2, 60, 40), op("a", 10, 5)])
    assert step_time_ns(recorded, Selection()) == 90_000
    assert step_time_ns(recorded, Selection(steps="2")) == 40_000
    assert step_time_ns(recorded, Selection(start_ns=30_000, end_ns=70_000)) == 30_000


def test_functions_of_kernels() -> None:
    names = {
        "void at::native::(anonymous namespace)::softmax<float, 4>(int)": "at::native::softmax",
        "ampere_sgemm_128x64": "ampere_sgemm_128x64",
        "gemm(float*)": "gemm",
        "<lambda>": "<lambda>",
    }
    assert {name: function_name(name) for name in names} == names
