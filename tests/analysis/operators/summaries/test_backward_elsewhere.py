"""Ranges around backward passes of another thread, against a count of the launches in the file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.helpers.opening import open_file
from tests.helpers.traces import annotation, call, kernel, op, trace
from torch_tb_profiler.analysis.operators.summaries.backward_elsewhere import backward_elsewhere
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.views.backward_note import backward_note

NODE = "autograd::engine::evaluate_function: "


def counted_us(path: Path, name: str) -> float:
    """The device time of what autograd's nodes on other threads launched, of the nodes that began
    during ranges of a name."""
    events = [
        event
        for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        if event.get("ph") == "X"
    ]
    ranges = [
        event for event in events
        if event["name"] == name and event.get("cat") == "user_annotation"
    ]  # fmt: skip
    nodes = [
        node
        for node in events
        if node["name"].startswith(NODE)
        and any(
            each["ts"] <= node["ts"] < each["ts"] + each["dur"] and each["tid"] != node["tid"]
            for each in ranges
        )
    ]
    launched = {
        event["args"]["correlation"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and any(
            node["tid"] == event["tid"] and node["ts"] <= event["ts"] <= node["ts"] + node["dur"]
            for node in nodes
        )
    }
    return sum(
        float(event["dur"])
        for event in events
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
        and event["args"].get("correlation") in launched
    )


def test_a_recording_by_its_file(corpus: Path) -> None:
    path = corpus / "inference" / "a100_negative_queue_rank0.json.gz"
    recorded = open_file(open_location(str(path)), cache=None)
    (row,) = backward_elsewhere(recorded, Selection()).rows(named=True)
    assert row["name"] == "## backward ##"
    assert row["gpu_ns"] == 45_000
    assert row["elsewhere_ns"] / 1000 == pytest.approx(counted_us(path, "## backward ##"))


def test_only_backward_passes_of_other_threads_count() -> None:
    """One node of 40 µs of device time begins in the range, one of 9 behind it; the range itself
    launches 10 µs. A range that launches more than it leaves out is not named."""
    events = [
        annotation("backward", 0, 100),
        call("cudaLaunchKernel", 5, 2, corr=1), kernel("mul", 20, 10, corr=1),
        annotation("all", 200, 100),
        call("cudaLaunchKernel", 205, 2, corr=4), kernel("mul", 220, 70, corr=4),
        op(f"{NODE}MulBackward0", 10, 80, tid=2),
        call("cudaLaunchKernel", 15, 2, corr=2, tid=2), kernel("mul", 40, 40, corr=2),
        op(f"{NODE}AddBackward0", 210, 20, tid=2),
        call("cudaLaunchKernel", 215, 2, corr=3, tid=2), kernel("add", 300, 9, corr=3),
    ]  # fmt: skip
    recorded = trace(events)
    assert backward_elsewhere(recorded, Selection()).rows() == [("backward", 10_000, 40_000)]
    (note,) = backward_note(recorded, Selection())
    assert "'backward' 40.0 µs besides its own 10.0 µs" in note.text
    assert backward_note(trace(events[:5]), Selection()) == ()
