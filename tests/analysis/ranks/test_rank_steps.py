"""The steps of a rank: parts that add up, and what is not recorded."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.opening import open_file
from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.ranks.rank_steps import RANK_STEPS, rank_steps
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot


def test_one_row_per_step() -> None:
    events = []
    for number, at in enumerate((100, 300)):
        events += [
            step(number, at, 190),
            op("aten::mm", at + 5, 10, ext=number),
            call("cudaLaunchKernel", at + 6, 4, corr=number + 1, ext=number),
            kernel("gemm", at + 20, 100 + number, corr=number + 1, ext=number),
        ]
    frame = rank_steps(trace(events))
    assert frame.schema == RANK_STEPS
    assert frame["busy_ns"].to_list() == [100_000, 101_000]
    assert frame["kernels"].to_list() == [1, 1]
    assert frame["memory_peak_bytes"].to_list() == [None, None]
    assert frame["communication_wait_ns"].to_list() == [0, 0]


def test_the_parts_add_up_to_the_step(samples: Path) -> None:
    parts = (
        "computation_ns", "communication_wait_ns", "input_wait_ns", "host_wait_ns", "pause_ns",
        "device_wait_ns",
    )  # fmt: skip
    for run in ("cpu_ddp4_gloo", "dlrm_8_ranks"):
        contents = Catalog([TraceRoot(str(samples / run))], cache=None).contents()
        for workers in contents.runs.values():
            for spans in workers.values():
                frame = rank_steps(open_file(next(iter(spans.values())).location, cache=None))
                summed = frame.select(total=sum(frame[name] for name in parts))["total"]
                assert summed.to_list() == frame["duration_ns"].to_list()
