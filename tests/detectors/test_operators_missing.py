"""Kernels without anything of the framework."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.recorded import recorded
from tests.helpers.traces import kernel, op, step
from torch_tb_profiler.detectors.operators_missing import detect


def test_kernels_and_calls_alone_have_no_layer() -> None:
    events = [*launched("k", 10, 10, 1), *launched("j", 30, 20, 2)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == 100
    assert advice.rows[0] == {"kernel": "j", "calls": 1, "total_us": 20.0}
    assert "ProfilerActivity.CPU" in advice.text


@pytest.mark.parametrize(
    ("recorder", "advised", "others"),
    [
        ("rocprofv3", "rocprofv3 --marker-trace", "nsys"),
        ("Nsight Systems", "nsys profile --trace=cuda,nvtx", "rocprofv3"),
        ("someone's", "Record the ranges of the framework", "emit_nvtx"),
    ],
)
def test_only_the_recorder_of_the_trace_is_advised(
    recorder: str, advised: str, others: str
) -> None:
    trace = recorded([step(1, 0, 1000), *launched("k", 10, 10, 1)], recorder=recorder)
    text = str(finding(detect(context(trace))).values["recording"])
    assert advised in text
    assert others not in text


def test_a_recording_with_operators_is_left_alone() -> None:
    """Also where most kernels have none: those of graphs."""
    events = [op("aten::mm", 1, 10), *launched("k", 10, 10, 1), kernel("j", 30, 20)]
    assert detect(context(one_step(events))) is None


def test_a_recording_without_kernels_is_left_alone() -> None:
    assert detect(context(one_step([]))) is None
