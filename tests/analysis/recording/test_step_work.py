"""The work of a rank by kind: the same launch is the same kind on every rank."""

from __future__ import annotations

import pytest

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.recording import step_work as module
from torch_tb_profiler.analysis.recording.step_work import (
    COMPUTE,
    EXPERT,
    HOST,
    MEMORY,
    STEP_WORK,
    step_work,
)
from torch_tb_profiler.trace.model import Trace


def launched(*kernels: tuple[str, float, list[list[int]], list[int]]) -> Trace:
    events = [step(1, 90, 900)]
    for number, (name, dur, shape, grid) in enumerate(kernels):
        at = 100 + 50 * number
        events += [
            op("aten::mm", at, 10, ext=number, shape=shape),
            call("cudaLaunchKernel", at + 1, 4, corr=number + 1, ext=number),
            kernel(name, at + 10, dur, corr=number + 1, ext=number, grid=grid, block=[1, 1, 1]),
        ]
    return trace(events)


GEMM = "ampere_sgemm_128x64_nn"


def test_shapes_and_grids_tell_work_apart() -> None:
    small, large = [[8, 8], [8, 8]], [[64, 8], [8, 8]]
    frame = step_work(
        launched((GEMM, 20, small, [4]), (GEMM, 22, small, [4]), (GEMM, 30, large, [4]))
    )
    assert frame.schema == STEP_WORK
    assert sorted(frame["calls"].to_list()) == [1, 2]
    assert frame["name"].n_unique() == 1
    assert set(frame["limit"].to_list()) == {COMPUTE}
    other = step_work(launched((GEMM, 99, large, [4])))
    assert set(other["kind"].to_list()) < set(frame["kind"].to_list())


def test_what_limits_kernels() -> None:
    frame = step_work(
        launched(
            ("void at::native::vectorized_elementwise_kernel<4>", 5, [[1]], [1]),
            ("fused_moe_kernel", 50, [[1]], [1]),
        )
    )
    assert sorted(frame["limit"].to_list()) == [MEMORY, EXPERT]


def test_kernels_of_experts_are_one_kind_however_many_tokens_they_get() -> None:
    frame = step_work(
        launched(*(("fused_moe_kernel", 50, [[rows, 8]], [rows]) for rows in range(1, 16)))
    )
    assert frame["calls"].to_list() == [15]
    assert frame["limit"].to_list() == [EXPERT]


def test_a_rank_without_kernels_has_operators() -> None:
    frame = step_work(trace([step(1, 90, 200), op("aten::mm", 100, 20, shape=[[2, 2]])]))
    assert frame["limit"].to_list() == [HOST]
    assert frame["total_ns"].to_list() == [20_000]


def test_of_many_kinds_the_rest_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KINDS", 1)
    frame = step_work(
        launched((GEMM, 20, [[1]], [1]), (GEMM, 10, [[2]], [1]), (GEMM, 9, [[3]], [1]))
    )
    assert sorted(frame["calls"].to_list()) == [1, 2]
    assert frame.filter(frame["kind"] == 0)["total_ns"].to_list() == [19_000]
