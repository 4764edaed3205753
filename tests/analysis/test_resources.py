"""Every moment of a window is given to one resource of each GPU: against counting moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.traces import annotation, call, kernel, memcpy, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.resources import (
    DEVICE_RESOURCES,
    Resource,
    gpu_resources,
    resource_costs,
    unknown_resources,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.step_costs import NO_DEVICE, NO_HOST, NO_WORK
from torch_tb_profiler.analysis.step_windows import step_windows
from torch_tb_profiler.trace.columns import Int64

VERDICTS = {
    "volta_s884gemm": True,
    "vectorized_elementwise_kernel": False,
    "ncclKernel_AllReduce": False,
}
HOST = ("cpu_op", "user_annotation", "cuda_runtime")
GEMM, ADD = "volta_s884gemm", "vectorized_elementwise_kernel"


def windows_of(*bounds: tuple[int, int]) -> tuple[Int64, Int64]:
    start, end = np.array(bounds, np.int64).reshape(-1, 2).T * 1000
    return start, end


@given(recordings())
def test_costs_agree_with_counted_moments(recording: Recording) -> None:
    recorded = trace(recording.events)
    windows = step_windows(recorded, recording.selection)
    costs = resource_costs(recorded, windows.start_ns, windows.end_ns)
    spans = [(e, round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in recording.events]
    of_device = [x for x in spans if x[0]["cat"] not in HOST]
    assert list(costs.gpus) == sorted({e["args"]["device"] for e, *_ in of_device})
    assert (costs.per_gpu_ns.sum(axis=2) == windows.end_ns - windows.start_ns).all()
    for place, gpu in enumerate(costs.gpus or (None,)):
        mine = [x for x in of_device if x[0]["args"]["device"] == gpu]
        for window, (start, end) in enumerate(zip(windows.start_ns, windows.end_ns, strict=True)):
            expected, unknown = [0] * len(Resource), 0
            for moment in range(start, end):
                now = [e for e, s, d in mine if s <= moment < s + d]
                kernels = [e["name"] for e in now if e["cat"] == "kernel"]
                # Of a name that no rule knows the range that launched it may tell what it is.
                if any(VERDICTS.get(name) for name in kernels):
                    expected[Resource.TENSOR_CORE] += 1
                elif kernels:
                    expected[Resource.OTHER_KERNELS] += 1
                    unknown += any(name not in VERDICTS for name in kernels)
                elif now:
                    expected[Resource.MEMORY] += 1
                elif any(s <= moment < s + d for e, s, d in spans if _is_host(e)):
                    expected[Resource.CPU] += 1
                else:
                    expected[Resource.OTHER] += 1
            assert costs.per_gpu_ns[place, window].tolist() == expected
            assert costs.unknown_ns[place, window] <= unknown


def _is_host(event: dict[str, object]) -> bool:
    return event["cat"] in HOST and not str(event["name"]).startswith("ProfilerStep#")


def test_the_mean_over_gpus_and_each() -> None:
    recorded = trace(
        [
            step(1, 0, 100),
            op("aten::mm", 0, 40),
            call("cudaLaunchKernel", 5, 5, corr=1),
            kernel(GEMM, 10, 20, corr=1),
            kernel(ADD, 20, 20, corr=1, stream=8),
            kernel("nobody knows this", 30, 20, corr=1, stream=9),
            memcpy(45, 15, corr=1),
            kernel(ADD, 90, 20, device=1),
        ]
    )
    costs = resource_costs(recorded, *windows_of((0, 100)))
    assert costs.gpus == (0, 1)
    assert (costs.per_gpu_ns // 1000).tolist() == [[[20, 20, 10, 10, 40]], [[0, 10, 0, 40, 50]]]
    assert costs.unknown_ns.tolist() == [[20_000], [0]]
    assert costs.mean_ns.tolist() == [[10_000, 15_000, 5_000, 25_000, 45_000]]
    assert costs.mean_unknown_ns.tolist() == [10_000]
    assert unknown_resources(recorded) == {}


def test_windows_may_overlap_and_be_empty() -> None:
    recorded = trace([op("aten::mm", 0, 40), kernel(GEMM, 10, 20)])
    costs = resource_costs(recorded, *windows_of((20, 60), (0, 25), (7, 7)))
    assert (costs.per_gpu_ns[0] // 1000).tolist() == [
        [10, 0, 0, 10, 20],
        [15, 0, 0, 10, 0],
        [0, 0, 0, 0, 0],
    ]


def test_without_device_work_the_host_is_told_and_the_rest_unknown() -> None:
    recorded = trace([step(1, 0, 100), op("aten::mm", 10, 20), annotation("gloo:send", 50, 10)])
    costs = resource_costs(recorded, *windows_of((0, 100)))
    assert (costs.gpus, costs.per_gpu_ns.tolist()) == ((), [[[0, 0, 0, 30_000, 70_000]]])
    assert unknown_resources(recorded) == dict.fromkeys(DEVICE_RESOURCES, NO_DEVICE)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([kernel(GEMM, 0, 5)], {Resource.CPU: NO_HOST}),
        ([call("cudaLaunchKernel", 0, 5), kernel(GEMM, 0, 5)], {}),
        (
            [op("aten::mm", 0, 9), call("cudaLaunchKernel", 0, 5, corr=3)],
            dict.fromkeys(DEVICE_RESOURCES, NO_WORK),
        ),
    ],
)
def test_what_a_recording_cannot_tell_has_a_reason(events: list[object], expected: object) -> None:
    assert unknown_resources(trace(events)) == expected  # type: ignore[arg-type]


def test_device_work_of_no_numbered_device_is_one_gpu_only_where_no_other_is() -> None:
    unnumbered = kernel(GEMM, 0, 5)
    unnumbered["args"].pop("device")
    unnumbered["pid"] = "somewhere"
    recorded = trace([op("aten::mm", 0, 9), unnumbered])
    assert list(gpu_resources(recorded)) == [-1]
    costs = resource_costs(recorded, *windows_of((0, 10)))
    assert (costs.per_gpu_ns[0, 0] // 1000).tolist() == [5, 0, 0, 4, 1]
    both = trace([op("aten::mm", 0, 9), unnumbered, kernel(ADD, 6, 1)])
    assert list(gpu_resources(both)) == [0]


def test_no_window() -> None:
    costs = resource_costs(trace([]), *windows_of())
    assert costs.per_gpu_ns.shape == (1, 0, len(Resource))
    assert step_windows(trace([]), Selection()).names == []
