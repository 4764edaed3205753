"""Launch links in the cases real traces have: graphs, shared and absent ids, untrusted ids."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import Event, annotation, call, columns, kernel, op, step, trace
from torch_tb_profiler.trace import links
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.model import Trace


def owner_names(built: Trace) -> list[str | None]:
    names = built.slices["name_code"]
    owners = built.device_work.sort("start_ns")["owner"].to_list()
    return [None if owner is None else built.text(names[owner]) for owner in owners]


def launch_names(built: Trace) -> list[str | None]:
    names = built.slices["name_code"]
    launches = built.device_work.sort("start_ns")["launch"].to_list()
    return [None if launch is None else built.text(names[launch]) for launch in launches]


def test_one_graph_launch_owns_all_its_kernels() -> None:
    kernels = [kernel(f"k{i}", 100 + 10 * i, 5, corr=7) for i in range(300)]
    built = trace([op("replay", 0, 50), call("cudaGraphLaunch", 10, 5, corr=7), *kernels])
    assert owner_names(built) == ["replay"] * 300
    assert built.slices["device_total_ns"].max() == 300 * 5000


@pytest.mark.parametrize(
    "cat",
    ["cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "privateuse1_driver", "Runtime"],
)
def test_every_vendors_calls_launch(cat: str) -> None:
    launch = call("launch", 10, 5, corr=7, cat=cat)
    built = trace([op("aten::mm", 0, 50), launch, kernel("k", 100, 5, corr=7)])
    assert owner_names(built) == ["aten::mm"]


@pytest.mark.parametrize("corr", [0, -1, None])
def test_ids_that_mean_none_link_nothing(corr: int | None) -> None:
    launch = call("cudaLaunchKernel", 10, 5, corr=corr)
    built = trace([op("aten::mm", 0, 50), launch, kernel("k", 100, 5, corr=corr)])
    assert launch_names(built) == [None]
    assert built.device_work["orphan_reason"].to_list() == ["no_launch"]


def test_of_calls_that_share_an_id_the_one_that_launches_counts() -> None:
    calls = [
        call("cudaStreamSynchronize", 10, 1, corr=7),
        call("cudaLaunchKernel", 20, 5, corr=7),
        call("cuLaunchKernel", 21, 3, corr=7, cat="cuda_driver"),
    ]
    built = trace([op("aten::mm", 0, 50), *calls, kernel("k", 100, 5, corr=7)])
    assert launch_names(built) == ["cudaLaunchKernel"]
    assert built.quality.counts["duplicate_correlation"] == 2
    mm = built.slices.row(0, named=True)
    assert mm["self_ns"] == (50 - 1 - 5) * 1000, "the driver call lies in the runtime call"
    assert built.slices["depth"].to_list()[:4] == [0, 1, 1, 2]


def test_a_call_belongs_to_the_operator_around_a_range() -> None:
    host = [
        step(1, 0, 100),
        op("record_param_comms", 10, 50),
        annotation("nccl:all_reduce", 20, 30),
        call("cudaLaunchKernel", 25, 5, corr=7),
    ]
    built = trace([*host, kernel("ncclDevKernel", 200, 40, corr=7)])
    assert owner_names(built) == ["record_param_comms"]
    self_times = dict(zip(built.slices["start_ns"], built.slices["self_ns"], strict=True))
    assert self_times[20_000] == 25_000, "its time is taken from the range it lies in"


def test_the_first_slice_of_a_file_may_be_the_operator_around_a_range() -> None:
    host = [op("aten::mm", 0, 50), annotation("mine", 10, 30), call("launch", 15, 1, corr=7)]
    assert owner_names(trace([*host, kernel("k", 100, 5, corr=7)])) == ["aten::mm"]


def test_without_an_operator_the_range_or_step_is_the_owner() -> None:
    host = [step(1, 0, 100), annotation("mine", 10, 20), call("cudaLaunchKernel", 15, 1, corr=7)]
    more = [call("cudaLaunchKernel", 50, 1, corr=8), call("cudaLaunchKernel", 150, 1, corr=9)]
    work = [kernel("k", 200 + corr, 1, corr=corr) for corr in (7, 8, 9)]
    built = trace([*host, *more, *work])
    assert owner_names(built) == ["mine", "ProfilerStep#1", None]
    assert built.device_work["orphan_reason"].to_list() == [None, None, "no_operator"]
    assert built.quality.counts["launch_without_operator"] == 1


def test_a_call_on_another_thread_at_the_same_time_is_not_taken() -> None:
    launch = call("cudaLaunchKernel", 10, 5, tid=2, corr=7)
    built = trace([op("aten::mm", 0, 50, tid=1), launch, kernel("k", 100, 5, corr=7)])
    assert owner_names(built) == [None]


def repeating(external: bool) -> list[Event]:
    """Two operators; the external ids of calls repeat their correlation ids, which are also the
    ids of operators."""
    return [
        op("outer", 0, 100, ext=2),
        op("inner", 10, 20, ext=1),
        call("cudaLaunchKernel", 15, 1, corr=2, ext=2 if external else None),
        call("cudaLaunchKernel", 50, 1, corr=1, ext=1 if external else None),
        kernel("k", 200, 1, corr=2, ext=2),
        kernel("k", 210, 1, corr=1, ext=1),
    ]


@pytest.mark.parametrize("external", [True, False])
def test_external_ids_that_repeat_the_correlation_are_not_believed(external: bool) -> None:
    built = trace(repeating(external))
    assert owner_names(built) == ["inner", "outer"]
    assert built.quality.counts["external_id_untrusted"] == (4 if external else 2)


def test_an_external_id_decides_at_the_edges_of_an_operator() -> None:
    events = [
        op("outer", 0, 100, ext=9),
        op("before", 10, 20, ext=1),
        op("after", 30, 20, ext=2),
        call("cudaLaunchKernel", 30, 1, corr=101, ext=1),
        call("cudaLaunchKernel", 50, 1, corr=102, ext=2),
        call("cudaLaunchKernel", 60, 1, corr=103, ext=2),
        *[kernel("k", 200 + corr, 1, corr=corr) for corr in (101, 102, 103)],
    ]
    assert owner_names(trace(events)) == ["before", "after", "outer"]


def test_an_external_id_of_an_operator_elsewhere_is_not_believed() -> None:
    events = [
        op("here", 0, 50, ext=1),
        op("later", 60, 50, ext=2),
        op("other thread", 0, 50, ext=3, tid=2),
        call("cudaLaunchKernel", 10, 1, corr=101, ext=2),
        call("cudaLaunchKernel", 20, 1, corr=102, ext=3),
        kernel("k", 200, 1, corr=101),
        kernel("k", 210, 1, corr=102),
    ]
    assert owner_names(trace(events)) == ["here", "here"]


@pytest.mark.parametrize("other", [0, 2])
def test_an_external_id_of_an_operator_on_any_other_thread_is_not_believed(other: int) -> None:
    events = [
        op("other thread", 0, 50, ext=3, tid=other),
        op("here", 0, 50, ext=1, tid=1),
        call("cudaLaunchKernel", 20, 1, corr=102, ext=3, tid=1),
        kernel("k", 210, 1, corr=102),
    ]
    assert owner_names(trace(events)) == ["here"]


def test_an_external_id_that_several_operators_carry_names_none() -> None:
    events = [op("a", 0, 50, ext=1), op("b", 10, 50, ext=1), kernel("k", 200, 1, corr=9, ext=1)]
    assert owner_names(trace(events)) == [None]


def test_work_without_its_launch_has_the_operator_its_own_id_names() -> None:
    events = [op("aten::mm", 0, 50, ext=5), kernel("k", 20, 10, corr=101, ext=5)]
    built = trace(events)
    assert owner_names(built) == ["aten::mm"]
    assert launch_names(built) == [None]
    assert built.device_work["orphan_reason"].to_list() == [None]
    assert built.device_work["launch_delay_ns"].to_list() == [None]
    assert built.quality.counts["kernel_without_launch"] == 1


def test_a_kernel_before_its_launch_has_no_delay_and_is_counted() -> None:
    events = [call("cudaLaunchKernel", 10, 5, corr=7), kernel("k", 9, 5, corr=7)]
    built = trace(events)
    assert built.device_work["launch_delay_ns"].to_list() == [0]
    assert built.quality.counts["kernel_before_launch"] == 1


def test_launches_whose_work_is_not_in_the_file_are_counted() -> None:
    calls = [call(name, 10, 1, corr=i + 1) for i, name in enumerate(["cudaLaunchKernel"] * 2)]
    built = trace(
        [*calls, call("cudaDeviceSynchronize", 30, 1, corr=9), kernel("k", 50, 1, corr=1)]
    )
    assert built.quality.counts["launch_without_kernel"] == 1


@pytest.mark.parametrize("climbs", [0, 3, 1000])
def test_the_operator_around_any_number_of_ranges(
    climbs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MAX_STEPS_UP", climbs)
    depth = 200
    nested = [
        op(f"op{i}", i, 2 * depth - 2 * i)
        if i in (20, 120)
        else annotation(f"range{i}", i, 2 * depth - 2 * i)
        for i in range(depth)
    ]
    launches = [call("cudaLaunchKernel", i + 0.5, 0.1, corr=i + 1) for i in range(depth)]
    kernels = [kernel("k", 1000 + 10 * i, 5, corr=i + 1) for i in range(depth)]
    names = owner_names(trace([*nested, *launches, *kernels]))
    assert names[:20] == [f"range{i}" for i in range(20)], "the range itself where none is around"
    assert names[20:] == ["op20"] * 100 + ["op120"] * 80


def test_an_owner_that_the_format_names_comes_before_what_lies_around_the_call() -> None:
    events = columns(
        [
            op("aten::mm", 0, 50, tid=1),
            op("dequeue", 0, 90, tid=2),
            call("launch", 60, 5, tid=2, corr=7),
            kernel("k", 100, 5, corr=7),
        ]
    )
    events.owner = np.array([ABSENT, ABSENT, 0, ABSENT])
    built = build_trace(events)
    names = built.slices["name_code"].to_list()
    (owner,), (launch,) = (
        built.device_work["owner"].to_list(),
        built.device_work["launch"].to_list(),
    )
    assert built.text(names[owner]) == "aten::mm"
    assert built.text(names[launch]) == "launch"
    assert built.slices["device_total_ns"][owner] == 5000
    assert built.slices["parent"][launch] == owner


def test_what_puts_work_on_a_queue_stands_for_the_operator_around_it() -> None:
    events = columns(
        [
            op("aten::mm", 0, 50, tid=1),
            op("enqueue", 10, 5, tid=1, cat="enqueue"),
            call("launch", 60, 5, tid=2, corr=7),
            kernel("k", 100, 5, corr=7),
        ]
    )
    events.owner = np.array([ABSENT, ABSENT, 1, ABSENT])
    assert owner_names(build_trace(events)) == ["aten::mm"]


def test_what_puts_work_on_a_queue_outside_operators_leaves_the_owner_of_the_call() -> None:
    events = columns(
        [
            op("aten::mm", 0, 50, tid=2),
            op("enqueue", 10, 5, tid=1, cat="enqueue"),
            call("launch", 20, 5, tid=2, corr=7),
            kernel("k", 100, 5, corr=7),
        ]
    )
    events.owner = np.array([ABSENT, ABSENT, 1, ABSENT])
    assert owner_names(build_trace(events)) == ["aten::mm"]


@pytest.mark.parametrize("calls", [0, 1])
def test_an_operator_that_the_format_names_as_launch_is_the_owner(calls: int) -> None:
    """Whatever calls of other operators are in the file."""
    more = [op("aten::add", 60, 50), call("launch", 70, 5)] * calls
    events = columns([op("aten::mm", 0, 50), kernel("k", 100, 5), *more])
    events.launch = np.array([ABSENT, 0] + [ABSENT] * len(more))
    assert owner_names(build_trace(events)) == ["aten::mm"]


def test_an_owner_that_is_no_node_is_none() -> None:
    events = columns([call("launch", 10, 5, corr=7), kernel("k", 100, 5, corr=7)])
    events.owner = np.array([ABSENT, 0])
    assert build_trace(events).device_work["owner"].to_list() == [None]
