"""What counts as a call, and when it ran.

Covered: host ranges, metadata records with and without a range inside, kernels with launch, with
external id only, and alone; ranges on other threads; sizes; peers of point-to-point calls;
init / wait records; a launch from a coalesced range after the ranges inside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.communication.records import Records, records

META: dict[str, Any] = {
    "Collective name": "allreduce",
    "dtype": "Float",
    "In msg nelems": 1000,
    "Out msg nelems": 1000,
    "Group size": 8,
    "Process Group Name": "0",
    "Process Group Description": "default_pg",
    "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    "Seq": 41,
}
FLOAT: dict[str, Any] = {"Input type": ["float"]}
ALLREDUCE: dict[str, Any] = {"Collective name": "allreduce", "dtype": "Float"}


def ranges_of(result: Records) -> list[tuple[int, float, float]]:
    rows = zip(result.record, result.start_ns / 1000, result.end_ns / 1000, strict=True)
    return [(int(r), float(a), float(b)) for r, a, b in rows]


def test_a_range_whose_kernels_are_linked_is_only_the_launch() -> None:
    result = records(
        trace(
            [
                step(1, 0, 100),
                op("record_param_comms", 10, 20, **META),
                annotation("nccl:all_reduce", 12, 10),
                call("cudaLaunchKernelExC", 14, 2, corr=5),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 40, 30, corr=5, **META),
            ]
        )
    )
    assert ranges_of(result) == [(0, 40, 70)]
    row = result.frame.row(0, named=True)
    assert (row["name"], row["collective"], row["group"], row["sequence"], row["group_size"]) == (
        "nccl:all_reduce",
        "all_reduce",
        "0 (default_pg)",
        41,
        8,
    )
    assert (row["input_bytes"], row["output_bytes"], row["step"]) == (4000, 4000, 0)


def test_kernels_linked_by_external_id_alone_are_the_time_of_their_call() -> None:
    """The predecessor's own case (a range of 75 µs around a kernel of 16): NCCL's range on the host
    only enqueues, so it is no time of the transfer."""
    result = records(
        trace(
            [
                op("nccl:broadcast", 0, 75, ext=146, shape=[[53120]], **FLOAT),
                kernel("K", 16, 16, ext=146),
            ]
        )
    )
    assert ranges_of(result) == [(0, 16, 32)]
    assert result.frame["input_bytes"].to_list() == [212480]


@pytest.mark.parametrize("backend", ["nccl", "rccl", "xccl", "hccl", "mccl", "oneccl", "custom"])
def test_ranges_of_a_device_backend_are_never_timed_on_the_host(backend: str) -> None:
    result = records(trace([annotation(f"{backend}:all_reduce", 0, 10, shape=[[8]], **FLOAT)]))
    assert result.frame["input_bytes"].to_list() == [32]
    assert ranges_of(result) == []


@pytest.mark.parametrize("backend", ["gloo", "mpi"])
def test_ranges_of_a_host_backend_are_the_transfer(backend: str) -> None:
    assert ranges_of(records(trace([annotation(f"{backend}:all_reduce", 0, 10)]))) == [(0, 0, 10)]


@pytest.mark.parametrize(
    ("header", "on_host"),
    [
        ({}, False),
        ({"backend": "nccl"}, False),
        ({"backend": "gloo"}, True),
        ({"backend": "cpu:gloo,cuda:nccl"}, False),
        ({"backend": "nccl", "pg_config": [{"pg_name": "0", "backend_config": "cpu:gloo"}]}, True),
        (
            {"backend": "gloo", "pg_config": [{"pg_name": "0", "backend_config": "cuda:nccl"}]},
            False,
        ),
        ({"backend": "gloo", "pg_config": [{"pg_name": "1", "backend_config": "cuda:nccl"}]}, True),
    ],
)
def test_a_record_without_a_range_goes_by_the_backend_of_its_group(
    header: dict[str, Any], on_host: bool
) -> None:
    events = [op("record_param_comms", 0, 20, **META)]
    result = records(trace(events, distributedInfo={"rank": 0, "world_size": 8, **header}))
    assert result.frame.height == 1
    assert ranges_of(result) == ([(0, 0, 20)] if on_host else [])


def test_gloo_ranges_count_next_to_linked_nccl_ones() -> None:
    result = records(
        trace(
            [
                annotation("nccl:all_reduce", 0, 10),
                call("cudaLaunchKernel", 2, 2, corr=5),
                kernel("ncclDevKernel_AllReduce(x)", 30, 5, corr=5),
                annotation("gloo:barrier", 50, 10, tid=2),
            ]
        )
    )
    assert result.frame["name"].to_list() == ["nccl:all_reduce", "gloo:barrier"]
    assert ranges_of(result) == [(0, 30, 35), (1, 50, 60)]


def test_a_call_whose_kernel_is_not_recorded_has_no_range() -> None:
    result = records(
        trace(
            [
                annotation("nccl:all_reduce", 0, 10),
                call("cudaLaunchKernel", 2, 2, corr=5),
                kernel("ncclDevKernel_AllReduce(x)", 30, 5, corr=5),
                annotation("nccl:all_reduce", 40, 10),
            ]
        )
    )
    assert result.frame.height == 2
    assert ranges_of(result) == [(0, 30, 35)]


def test_a_metadata_record_without_a_range_is_a_call() -> None:
    result = records(
        trace(
            [
                op("record_param_comms", 0, 20, **META),
                call("cudaLaunchKernel", 2, 2, corr=5),
                kernel("ncclDevKernel_Generic_1(x)", 30, 5, corr=5),
            ]
        )
    )
    assert result.frame.select("name", "collective").rows() == [("all_reduce", "all_reduce")]
    assert ranges_of(result) == [(0, 30, 35)]


def test_init_and_wait_records_are_no_calls() -> None:
    events = [
        op("record_param_comms", 0, 20, **{**META, "Collective name": "wait"}),
        op("record_param_comms", 30, 20, **{**META, "Collective name": "init"}),
    ]
    assert records(trace(events)).frame.height == 0


def test_kernels_of_no_call_are_calls_of_their_own() -> None:
    result = records(
        trace(
            [
                kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", 0, 5),
                kernel("void vllm::cross_device_reduce_1stage<float, 8>(x)", 10, 5),
                kernel("ncclDevKernel_Generic_4(x)", 20, 5),
                kernel("volta_sgemm_128x32_nn", 30, 5),
            ]
        )
    )
    assert result.frame["name"].to_list() == [
        "nccl:reduce_scatter",
        "all_reduce",
        "ncclDevKernel_Generic_4",
    ]
    assert ranges_of(result) == [(0, 0, 5), (1, 10, 15), (2, 20, 25)]


def test_a_launch_after_the_inner_ranges_belongs_to_the_coalesced_range() -> None:
    result = records(
        trace(
            [
                annotation("nccl:coalesced", 0, 50),
                annotation("nccl:_all_gather_base", 2, 10),
                annotation("nccl:_all_gather_base", 14, 10),
                call("cudaLaunchKernel", 30, 2, corr=5),
                kernel("ncclDevKernel_AllGather_RING_LL(x)", 60, 5, corr=5),
            ]
        )
    )
    assert ranges_of(result) == [(0, 60, 65)]
    assert result.frame["collective"].to_list() == ["coalesced", "all_gather", "all_gather"]


@pytest.mark.parametrize(
    ("kernel_name", "collective"),
    [
        ("ncclDevKernel_SendRecv(x)", "send_recv"),
        ("ncclDevKernel_AllGather_RING_LL(x)", "coalesced"),
    ],
)
def test_what_a_coalesced_call_is_its_kernel_says(kernel_name: str, collective: str) -> None:
    events = [
        annotation("nccl:coalesced", 0, 50),
        call("cudaLaunchKernel", 30, 2, corr=5),
        kernel(kernel_name, 60, 5, corr=5),
    ]
    assert records(trace(events)).frame["collective"].to_list() == [collective]


def test_peers_by_name_by_metadata_and_by_the_caller() -> None:
    send: dict[str, Any] = {**META, "Collective name": "send", "Src Rank": 2, "Dst Rank": 3}
    caller: dict[str, Any] = {"Concrete Inputs": ["", "", "1", "0"]}
    events = [
        annotation("nccl:send 0->1", 0, 5),
        annotation("nccl:recv 0<-1", 10, 5),
        op("record_param_comms", 20, 5, **send),
        op("c10d::send", 30, 5, **caller),
        annotation("gloo:send", 32, 9),
        annotation("gloo:send", 50, 5),
        annotation("gloo:all_reduce", 60, 5),
    ]
    raw = trace(events, distributedInfo={"rank": 7, "world_size": 8})
    pairs = records(raw).frame["pair"].to_list()
    assert pairs[:3] == ["0->1", "1->0", "2->3"]
    assert pairs[3:] == ["7->1", None, None]


def test_ranges_are_ordered_longer_first() -> None:
    result = records(trace([annotation("gloo:barrier", 5, 1), annotation("gloo:reduce", 5, 9)]))
    assert result.frame["name"].to_list() == ["gloo:reduce", "gloo:barrier"]
    assert np.all(np.diff(result.record) >= 0)


def test_absurd_sizes_are_unknown() -> None:
    events = [
        annotation("nccl:all_reduce", 0, 5, **{"Input Dims": [[2**40] * 3], "Input type": ["int"]}),
        op(
            "record_param_comms",
            10,
            5,
            **{**ALLREDUCE, "In msg nelems": 2**62},
        ),
        op(
            "record_param_comms",
            20,
            5,
            **{**ALLREDUCE, "In msg nelems": -4},
        ),
        annotation("nccl:all_reduce", 30, 5, **{"Input Dims": [[2]], "Input type": ["int"]}),
    ]
    assert records(trace(events)).frame["input_bytes"].to_list() == [None, None, None, 8]
