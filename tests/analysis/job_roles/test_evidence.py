"""The evidence of a rank for its role: outermost ranges, windows of a scheduler, kernels."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, trace
from torch_tb_profiler.analysis.job_roles.evidence import (
    KERNEL,
    MAX_PERIODS,
    RANGE,
    WINDOW,
    role_evidence,
)


def test_ranges_of_one_name_are_periods_and_inner_ones_are_part_of_the_outer() -> None:
    made = trace(
        [
            annotation("generate_sequences", 0, 100),
            annotation("execute_context_1(64)_generation_0(0)", 10, 30),
            annotation("update_actor", 200, 100),
            annotation("compute_log_prob", 210, 20),  # inside: a part of the update
            annotation("generate_sequences", 400, 100),
            annotation("unrelated", 600, 10),
        ]
    )
    rows = role_evidence(made).filter(source=RANGE)
    assert rows.select("role", "phase", "start_ns", "end_ns", "calls").rows() == [
        ("rollout", "generate_sequences", 0, 100_000, 1),
        ("training", "update_actor", 200_000, 300_000, 1),
        ("rollout", "generate_sequences", 400_000, 500_000, 1),
    ]


def test_ranges_that_touch_or_overlap_are_one_period() -> None:
    made = trace(
        [
            annotation("generate_sequences", 0, 100),
            annotation("generate_sequences", 100, 50),
            annotation("generate_sequences", 120, 60, tid=2),
        ]
    )
    (row,) = role_evidence(made).rows(named=True)
    assert (row["start_ns"], row["end_ns"], row["calls"]) == (0, 180_000, 3)
    assert row["duration_ns"] == 180_000


def test_many_periods_are_joined_over_their_shortest_gaps() -> None:
    events, at = [], 0
    for number in range(300):
        events.append(annotation("generate_sequences", at, 10))
        at += 10 + (1 if number % 3 else 100)
    rows = role_evidence(trace(events))
    assert 1 <= rows.height <= MAX_PERIODS
    assert rows["calls"].sum() == 300
    assert rows["duration_ns"].sum() == 300 * 10_000
    gaps = rows["start_ns"][1:] - rows["end_ns"][:-1]
    assert gaps.min() == 100_000, "only short gaps are closed"


def test_windows_of_a_scheduler_are_summed_by_kind() -> None:
    made = trace(
        [
            annotation("step[EXTEND bs=1 toks=64]", 0, 40),
            annotation("step[DECODE bs=8]", 50, 10),
            annotation("step[DECODE bs=8]", 70, 10),
        ]
    )
    rows = role_evidence(made).filter(source=WINDOW).select("role", "calls", "duration_ns").rows()
    assert rows == [("decode", 2, 20_000), ("prefill", 1, 40_000)]


def test_kernels_and_optimizer_ranges_of_one_role() -> None:
    made = trace(
        [
            annotation("Optimizer.step#AdamW.step", 0, 20),
            call("cudaLaunchKernel", 30, 1, corr=1),
            kernel("void vllm::reshape_and_cache_flash_kernel<float>", 40, 5, corr=1),
            call("cudaLaunchKernel", 50, 1, corr=2),
            kernel("ampere_sgemm_128x64_nn", 60, 5, corr=2),
        ]
    )
    rows = role_evidence(made).filter(source=KERNEL).select("role", "calls", "duration_ns").rows()
    assert rows == [("rollout", 1, 5_000), ("training", 1, 20_000)]


def test_a_trace_without_any_has_no_rows() -> None:
    assert role_evidence(trace([op("aten::mm", 0, 10)])).height == 0
