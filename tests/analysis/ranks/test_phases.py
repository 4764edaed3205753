"""The phases of each step of a rank, by hand and against the view of phases."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.helpers.opening import open_file
from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.ranks.device_use import DEVICE_USE, device_use
from torch_tb_profiler.analysis.ranks.phases import RANK_PHASES, rank_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot


def test_by_hand() -> None:
    each = trace(
        [
            step(1, 100, 200),
            annotation("forward", 110, 50),
            op("aten::mm", 115, 10, ext=1),
            call("cudaLaunchKernel", 116, 4, corr=1, ext=1),
            kernel("gemm", 140, 60, corr=1, ext=1),
            annotation("Optimizer.step#SGD.step", 250, 30),
        ]
    )
    rows = rank_phases(each)
    assert rows.schema == RANK_PHASES
    named = {Phase(phase).name: times for _, phase, *times in rows.iter_rows()}
    # The kernel ran during the last 20 µs of the forward pass, and 40 µs after it.
    assert named["FORWARD"] == [50_000, 60_000, 20_000]
    assert named["OPTIMIZER"] == [30_000, 0, 0]
    assert named["OTHER"] == [120_000, 0, 40_000]
    use = device_use(each)
    assert use.schema == DEVICE_USE
    assert use.rows() == [(0, 0, 60_000)]


def test_phases_add_up_to_the_host_time_of_each_step(samples: Path) -> None:
    root = TraceRoot(str(samples / "kineto_resnet50_nw0"))
    files = Catalog([root], cache=None).contents().files()
    each = open_file(files[0].location, cache=None)
    summed = rank_phases(each).group_by("step").agg(pl.col("host_ns", "busy_ns").sum()).sort("step")
    steps = each.steps
    assert summed["host_ns"].to_list() == (steps["host_end_ns"] - steps["host_start_ns"]).to_list()
    assert (summed["busy_ns"] <= summed["host_ns"]).all()


def test_without_evidence_of_phases_there_are_no_rows() -> None:
    assert rank_phases(trace([step(1, 0, 10), op("aten::mm", 1, 2)])).is_empty()
    assert device_use(trace([])).is_empty()
