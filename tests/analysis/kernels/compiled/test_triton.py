"""Generated kernels: device time, stated work, source."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.helpers.recorded import side_table
from tests.helpers.traces import Event, call, kernel, op, trace
from torch_tb_profiler.analysis.kernels.compiled.triton import generated_calls, parse_source_frames
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled.view import compiled

TRACEBACK = (
    '  File "/home/u/train.py", line 40, in main\n    loss = model(x)\n'
    '  File "/home/u/model.py", line 12, in forward\n    return x.relu()\n'
)


@pytest.mark.parametrize(
    ("texts", "stack"),
    [
        ([TRACEBACK], "/home/u/model.py(12): forward;/home/u/train.py(40): main"),
        (["model.py:12, train.py:40"], "model.py(12): ;train.py(40): "),
        (["nothing"], None),
        ([], None),
        ([TRACEBACK, TRACEBACK], "/home/u/model.py(12): forward;/home/u/train.py(40): main"),
    ],
)
def test_call_stacks_of_sources(texts: list[str], stack: str | None) -> None:
    assert parse_source_frames(texts) == stack


def _launch(at: float, corr: int, dur: float, **args: object) -> list[Event]:
    more = {"kernel_file": "/tmp/cab.py", "kernel_kwargs": "XBLOCK=128", **args}
    return [
        op("triton_poi_fused_relu_0", at, 10, **more),  # type: ignore[arg-type]
        call("cuLaunchKernel", at + 1, 2, corr=corr),
        kernel("triton_poi_fused_relu_0", at + 20, dur, corr=corr),
    ]


def _table(recording: Trace) -> dict[str, object]:
    (row,) = compiled(recording, Selection()).tables["triton_kernels"].frame.rows(named=True)
    return dict(row)


def test_time_and_rates_of_a_kernel() -> None:
    work = {"kernel_flop": 2_000_000, "kernel_num_gb": 0.001}
    recording = trace([*_launch(0, 1, 10, **work), *_launch(100, 2, 30, **work)])
    assert generated_calls(recording)["device_ns"].to_list() == [10_000, 30_000]
    row = _table(recording)
    assert (row["calls"], row["total_us"], row["mean_us"]) == (2, 40.0, 20.0)
    assert row["flops"] == 2_000_000
    assert row["tflops_per_s"] == pytest.approx(4e6 / 40e-6 / 1e12)
    assert row["gbytes_per_s"] == pytest.approx(0.002 / 40e-6)
    assert row["options"] == "XBLOCK=128"
    assert row["source"] is None


def test_the_source_comes_from_its_launch_else_from_provenance() -> None:
    rows = [{"kernel": "triton_poi_fused_relu_0", "stacks": TRACEBACK, "nodes": "relu"}]
    side = {"kernel_provenance": side_table("kernel_provenance", "file", rows)}
    row = _table(replace(trace(_launch(0, 1, 5)), side=side))
    assert (row["source"], row["nodes"]) == ("/home/u/model.py:12", "relu")
    events = _launch(0, 1, 5)
    events[2]["args"]["stack"] = "own.py:3"
    row = _table(replace(trace(events), side=side))
    assert (row["source"], row["nodes"]) == ("own.py:3", "relu")
