"""The table of iterations and its bars agree with a walk over the events."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.idle.resources import Resource
from torch_tb_profiler.analysis.recording.missing_reasons import NO_LAUNCHES
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import NO_DEVICE
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.views.energy import ENERGY_COLUMNS
from torch_tb_profiler.views.iterations.bars import (
    MOST_BARS,
    RESOURCE_KEYS,
    iteration_series,
    iterations_table,
)
from torch_tb_profiler.views.measured_columns import OF_STEP
from torch_tb_profiler.views.schema import Table

GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"
PLAIN = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)"
PARTS = [RESOURCE_KEYS[resource] for resource in Resource]


def _table(events: list[Event], selection: Selection, by: str | None = None) -> Table:
    recorded = split_iterations(trace(events), by)
    return iterations_table(recorded, iterations(recorded, selection))


def _two_steps() -> list[Event]:
    """On two GPUs: step 1 launches a product and an addition, step 2 a copy."""
    return [
        step(1, 0, 100),
        op("aten::mm", 10, 30),
        call("cudaLaunchKernel", 12, 4, corr=1),
        kernel(GEMM, 20, 40, corr=1, device=0),
        op("aten::add", 40, 20),
        call("cudaLaunchKernel", 42, 4, corr=2),
        kernel(PLAIN, 50, 80, corr=2, device=1),
        step(2, 100, 100),
        op("aten::copy_", 110, 30),
        call("cudaMemcpyAsync", 112, 4, corr=3),
        memcpy(140, 20, corr=3, device=0),
    ]


def test_columns_of_two_steps_on_two_gpus() -> None:
    table = _table(_two_steps(), Selection(steps="2"))
    rows = table.frame.select(
        "iteration", "start_us", "duration_us", "kernels", "tensor_core_kernels", "selected"
    ).rows()
    # The addition ends at 130: step 1 is stretched to it, and step 2 begins there.
    assert rows == [(1, 0.0, 130.0, 2, 1, False), (2, 130.0, 70.0, 0, 0, True)]
    assert table.frame["memory_operations"].to_list() == [0, 1]
    assert table.frame["gpu_time_mean_us"].to_list() == [60.0, 10.0]
    assert table.frame["gpu_time_pct"].to_list() == pytest.approx([100 * 60 / 130, 100 * 10 / 70])
    assert table.frame["tensor_core_time_mean_us"].to_list() == [20.0, 0.0]
    # GPU 0: the product 20-60, the host 10-20 and 110-130; GPU 1: the addition 50-130, the host
    # 10-50.
    first = table.frame.select(PARTS).row(0)
    assert first == (20.0, 40.0, 0.0, (30 + 40) / 2, (60 + 10) / 2)
    assert sum(first) == 130
    measured = {column.key for column in (*OF_STEP, *ENERGY_COLUMNS)}
    assert set(table.null_reasons) == measured


def test_parts_add_up_whatever_cuts() -> None:
    for by in (None, "name:aten::mm", "start:aten::add", "name:aten::*"):
        frame = _table(_two_steps(), Selection(), by).frame
        parts = frame.select(PARTS).sum_horizontal().to_list()
        assert parts == pytest.approx(frame["duration_us"].to_list(), abs=1e-9)
        assert frame["kernels"].sum() == 2
        assert frame["memory_operations"].sum() == 1


def test_without_devices_their_columns_are_unknown() -> None:
    table = _table([step(1, 0, 100), op("aten::mm", 10, 30), step(2, 100, 90)], Selection())
    unknown = ["kernels", "gpu_time_mean_us", "gpu_time_pct", "tensor_core_us", "memory_us"]
    assert {key: table.null_reasons[key] for key in unknown} == dict.fromkeys(unknown, NO_DEVICE)
    assert table.frame["cpu_us"].to_list() == [30.0, 0.0]
    assert table.frame["other_us"].to_list() == [70.0, 90.0]
    assert [line.name for line in iteration_series(table).lines] == ["CPU", "Other"]


def test_bars_of_many_iterations_are_means_of_neighbours() -> None:
    count = 2 * MOST_BARS + 1
    events = [op("aten::mm", 10 * number, 5) for number in range(count)]
    table = _table(events, Selection(), "name:aten::mm")
    assert table.frame.height == count
    cpu = iteration_series(table).lines[0]
    assert len(cpu.x) <= MOST_BARS
    assert cpu.x[:3] == [0.0, 3.0, 6.0]
    assert cpu.y[1:3] == [5.0, 5.0]


def test_device_work_that_nothing_is_known_to_have_launched_is_not_counted_as_none() -> None:
    events = [step(1, 0, 100), op("aten::mm", 10, 30), kernel(PLAIN, 20, 40)]
    table = _table(events, Selection())
    unknown = ("kernels", "tensor_core_kernels", "memory_operations", "gpu_time_mean_us")
    for key in (*unknown, "gpu_time_pct", "tensor_core_time_mean_us", "tensor_core_time_pct"):
        assert table.frame[key].to_list() == [None]
        assert table.null_reasons[key] == NO_LAUNCHES
    assert table.frame.select(PARTS).row(0) == (0.0, 40.0, 0.0, 10.0, 50.0)


def test_a_recording_of_kernels_alone_is_one_iteration_that_holds_them() -> None:
    table = _table([kernel(PLAIN, 20, 40), kernel(PLAIN, 60, 10)], Selection())
    assert table.frame.select("kernels", "gpu_time_mean_us", "gpu_time_pct").row(0) == (2, 50, 100)


def test_an_empty_trace_has_no_iterations() -> None:
    table = _table([], Selection())
    assert table.frame.is_empty()
    assert table.why_empty is not None
    assert all(line.x == [] for line in iteration_series(table).lines)
