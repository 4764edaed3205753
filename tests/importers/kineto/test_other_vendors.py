"""Cases: what torch's recorders of Intel and AMD write into devices and device work."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.traces import kernel, slice_event
from torch_tb_profiler.analysis.recording.launch_measures import launch_measures
from torch_tb_profiler.importers import Reading, import_trace
from torch_tb_profiler.importers.protocol import ReadOptions
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

XPU = {"id": 0, "name": "Intel(R) Data Center GPU Max 1550", "totalGlobalMem": 137438953472}


def read(events: list[Any], *arguments: str, **header: Any) -> Trace:
    text = json.dumps({**header, "traceEvents": events}).encode()
    reading = Reading(options=ReadOptions(arguments=arguments))
    return build_trace(import_trace([text], name="x", reading=reading))


def test_devices_of_intel_have_name_and_memory() -> None:
    event = slice_event(
        "kernel", "gemm", 5, 3, pid=0, tid=2, device=0, correlation=7, context="0x12",
        **{"sycl queue": 2, "l0 queue": "0x34", "appended": "1.5"},
    )  # fmt: skip
    trace = read([event], deviceProperties=[XPU])
    assert trace.devices.select("device", "name", "memory_bytes", "sm_count", "used").rows() == [
        (0, XPU["name"], XPU["totalGlobalMem"], None, True)
    ]
    assert trace.device_work.select("device", "stream").rows() == [(0, 2)]
    assert launch_measures(trace).rows() == [(None, None)]
    assert trace.quality.counts.keys() == {"kernel_without_launch", "no_steps"}


def test_the_queue_of_hsa_is_no_annotation_and_is_read_on_request() -> None:
    args: dict[str, Any] = {"graph id": 3, "graph node id": 5, "hsa_queue": "0x7f3c"}
    trace = read([kernel("k", 0, 5, stream=4, **args)])
    assert trace.stated.is_empty()
    assert trace.device_work["stream"].to_list() == [4]
    trace = read([kernel("k", 0, 5, stream=4, **args)], "hsa_queue")
    (row,) = trace.arguments.iter_rows(named=True)
    assert (trace.text(row["key_code"]), trace.text(row["text_code"])) == ("hsa_queue", "0x7f3c")
