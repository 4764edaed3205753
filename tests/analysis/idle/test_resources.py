"""Every moment is given to one resource: compared with a walk over the single microseconds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.idle.resources import (
    NO_GPU,
    OF_DEVICE,
    Resource,
    maybe_tensor_core_times,
    mean_of_visible,
    mean_resource_times,
    resource_intervals,
    resource_times,
    unknown_resources,
    unused_gpus,
)
from torch_tb_profiler.analysis.steps.costs import NO_DEVICE, NO_HOST, NO_WORK
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.info import NotRecorded

GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
PLAIN = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)"


def _array(*values: float) -> Int64:
    return np.array(values, np.int64) * 1000


def test_stronger_resources_come_first() -> None:
    recorded = trace(
        [
            op("aten::mm", 0, 50),
            call("cudaLaunchKernel", 2, 4, corr=1),
            call("cudaLaunchKernel", 8, 4, corr=2),
            kernel(GEMM, 10, 20, corr=1),
            kernel(PLAIN, 20, 20, corr=2),
            memcpy(35, 10, corr=3),
        ]
    )
    times = resource_times(recorded, 0, _array(0), _array(60)) // 1000
    assert times.tolist() == [[20, 10, 5, 15, 10]]


@st.composite
def _work(draw: st.DrawFn) -> list[Event]:
    spans = st.tuples(st.integers(0, 40), st.integers(1, 12))
    events: list[Event] = [op("aten::mm", *draw(spans)) for _ in range(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(1, 6))):
        start, length = draw(spans)
        gpu, kind = draw(st.integers(0, 1)), draw(st.integers(0, 2))
        if kind == 2:
            events.append(memcpy(start, length, device=gpu, stream=draw(st.integers(7, 9))))
        else:
            name = (GEMM, PLAIN)[kind]
            stream = draw(st.integers(7, 9))
            events.append(kernel(name, start, length, device=gpu, stream=stream))
    return events


@examples(40)
@given(_work(), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1))
def test_agrees_with_a_walk_over_single_moments(
    events: list[Event], spans: list[tuple[int, int]]
) -> None:
    recorded = trace(events)
    start, end = _array(*(s for s, _ in spans)), _array(*(s + d for s, d in spans))
    gpus = sorted({event["pid"] for event in events if event["cat"] != "cpu_op"})
    assert list(resource_intervals(recorded)) == gpus
    rows = [
        [_walked(events, gpu, begin, begin + length) for begin, length in spans] for gpu in gpus
    ]
    for gpu, expected in zip(gpus, rows, strict=True):
        assert (resource_times(recorded, gpu, start, end) // 1000).tolist() == expected
    mean = mean_resource_times(recorded, start, end)
    assert mean == pytest.approx(np.mean(rows, axis=0) * 1000)
    assert mean.sum(axis=1) == pytest.approx(end - start)


def _walked(events: list[Event], gpu: int, start: int, end: int) -> list[int]:
    counts = [0] * len(Resource)
    for moment in range(start, end):
        active = [
            _resource(event)
            for event in events
            if event["ts"] <= moment < event["ts"] + event["dur"]
            and (event["cat"] == "cpu_op" or event["pid"] == gpu)
        ]
        counts[min(active, default=Resource.OTHER)] += 1
    return counts


def _resource(event: Event) -> Resource:
    if event["cat"] == "cpu_op":
        return Resource.CPU
    if event["cat"] == "gpu_memcpy":
        return Resource.MEMORY
    return Resource.TENSOR_CORE if event["name"] == GEMM else Resource.OTHER_KERNELS


def test_without_devices_their_resources_are_unknown() -> None:
    recorded = trace(
        [step(1, 0, 100), op("aten::mm", 10, 20), annotation("gloo:all_reduce", 40, 5)]
    )
    assert unknown_resources(recorded) == dict.fromkeys(OF_DEVICE, NO_DEVICE)
    assert list(resource_intervals(recorded)) == [NO_GPU]
    times = resource_times(recorded, NO_GPU, _array(0), _array(100)) // 1000
    assert times.tolist() == [[0, 0, 0, 25, 75]]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([kernel(GEMM, 0, 5)], {Resource.CPU: NO_HOST}),
        ([call("cudaLaunchKernel", 0, 5), kernel(GEMM, 0, 5)], {}),
        (
            [op("aten::mm", 0, 9), call("cudaLaunchKernel", 0, 5, corr=3)],
            dict.fromkeys(OF_DEVICE, NO_WORK),
        ),
    ],
)
def test_unknown_resources(events: list[Event], expected: dict[Resource, str]) -> None:
    assert unknown_resources(trace(events)) == expected


def test_without_operators_for_a_stated_reason_data_loading_is_not_all_of_the_host() -> None:
    """As in the step times of a whole run: its loaders are recorded, its operators are not."""
    recorded = trace([step(1, 0, 100), annotation(LOADER, 10, 20)])
    reason = "the windows are the other spans"
    info = replace(recorded.meta.info, not_recorded=(NotRecorded("operators", reason),))
    lacking = replace(recorded, meta=replace(recorded.meta, info=info))
    unknown = unknown_resources(lacking)
    assert unknown[Resource.CPU] == unknown[Resource.OTHER] == "The windows are the other spans."


def test_the_mean_of_visible_devices_counts_unused_ones() -> None:
    """One of four runs a kernel of 40 µs while the host is active for 50 of 100 µs."""
    recorded = trace(
        [
            op("aten::mm", 0, 50),
            call("cudaLaunchKernel", 5, 5, corr=1),
            kernel(GEMM, 20, 40, corr=1),
        ],
        deviceProperties=[{"id": number} for number in range(4)],
    )
    assert unused_gpus(recorded) == 3
    mean = mean_of_visible(recorded, _array(0), _array(100))
    assert mean is not None
    alone = np.array([40, 0, 0, 20, 40])
    unused = np.array([0, 0, 0, 50, 50])
    assert mean.tolist() == ((alone + 3 * unused) / 4 * 1000).tolist()


def test_unused_devices_may_be_those_of_other_ranks() -> None:
    recorded = trace(
        [kernel(GEMM, 20, 40)],
        deviceProperties=[{"id": number} for number in range(4)],
        distributedInfo={"rank": 0, "world_size": 4},
    )
    assert unused_gpus(recorded) is None
    assert mean_of_visible(recorded, _array(0), _array(100)) is None


def test_time_of_kernels_that_no_rule_knows_may_be_tensor_core_time() -> None:
    recorded = trace(
        [
            op("aten::mm", 0, 9),
            kernel(GEMM, 10, 10, stream=7),
            kernel("nobody knows this", 5, 20, stream=8),
            kernel(PLAIN, 0, 30, stream=9),
        ]
    )
    window = _array(7), _array(40)
    assert (resource_times(recorded, 0, *window) // 1000).tolist() == [[10, 13, 0, 0, 10]]
    assert (maybe_tensor_core_times(recorded, 0, *window) // 1000).tolist() == [8]


def test_device_work_without_a_device_number() -> None:
    unnumbered = kernel(GEMM, 0, 5)
    unnumbered["args"].pop("device")
    unnumbered["pid"] = "somewhere"
    recorded = trace([op("aten::mm", 0, 9), unnumbered])
    assert (resource_times(recorded, NO_GPU, _array(0), _array(10)) // 1000).tolist() == [
        [5, 0, 0, 4, 1]
    ]
    assert list(resource_intervals(trace([unnumbered, kernel(PLAIN, 6, 1)]))) == [0]
