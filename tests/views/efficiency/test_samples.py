"""MFU of the samples against the calculation by hand that docs/views-efficiency.md writes out."""

from __future__ import annotations

from pathlib import Path

import pytest

import torch_tb_profiler

ROOT = Path(__file__).resolve().parents[3]
FLOPS = 17 * 2 * 141 * 512 * 512 + 8 * 2 * 141 * 512 * 2048 + 2 * 141 * 512 * 30522 + (
    4 * 2 * 2 * 8 * 141 * 141 * 64
)  # fmt: skip
BYTES_OF_HEAD = 2 * (141 * 512 + 512 * 30522 + 30522 + 141 * 30522)


@pytest.mark.parametrize(
    ("sample", "scope", "step_us", "peak_tflops", "bandwidth", "mfu_pct"),
    [
        ("h100_bert_small", "GPU 0", 4426.114, 989.4, 3350, 0.18707),
        ("mi300_bert_small", "GPU 2", 4007.334, 1307.4, 5300, 0.15636),
    ],
)
def test_a_sample_has_the_mfu_of_the_hand_calculation(  # noqa: PLR0917
    sample: str, scope: str, step_us: float, peak_tflops: float, bandwidth: float, mfu_pct: float
) -> None:
    with torch_tb_profiler.open_trace(ROOT / "samples" / sample, cache=False) as trace:
        view = trace.view("efficiency", group_by="operator+input_shape")
        steps = trace.view("efficiency", group_by="step").frame
    assert FLOPS == 8_192_059_392
    assert FLOPS / (step_us * 1e-6) / (peak_tflops * 1e12) * 100 == pytest.approx(mfu_pct, rel=1e-4)
    facts = {(fact.key, fact.scope): fact.value for fact in view.facts}
    assert facts["model_flops_per_step", None] == FLOPS
    assert facts["mfu_pct", scope] == pytest.approx(mfu_pct, rel=1e-3)
    assert facts["peak_tflops", scope] == pytest.approx(peak_tflops)
    assert facts["model_flops_backward_pct", None] == 0
    assert "26 matrix, 4 attention; in 1 step" in str(facts["model_flops_counted", None])
    head = view.frame.filter(input_shape="[[30522], [141, 512], [512, 30522], [], []]").row(
        0, named=True
    )
    assert head["bytes"] == BYTES_OF_HEAD
    assert head["bound"] == "memory"
    at_roof_us = BYTES_OF_HEAD / bandwidth / 1e3
    assert head["roof_pct"] == pytest.approx(at_roof_us / head["device_time_us"] * 100)
    assert head["recoverable_us"] == pytest.approx(head["device_time_us"] - at_roof_us)
    assert head["dtype"] == "bfloat16"
    assert steps["flops"].sum() >= FLOPS
    assert steps["device_time_us"].sum() == pytest.approx(view.frame["device_time_us"].sum())


def test_more_than_the_device_can_compute_is_no_share() -> None:
    with torch_tb_profiler.open_trace(ROOT / "samples" / "h100_bert_small", cache=False) as trace:
        # 8.19 GFLOP in 4.426 ms are 1.85 TFLOP/s: below 2, above 1.
        shares = {
            peak: trace.view("efficiency", peak=f"bfloat16={peak}").facts for peak in ("2", "1")
        }
    result = {
        peak: next(fact for fact in actual if fact.key == "mfu_pct")
        for peak, actual in shares.items()
    }
    assert result["2"].value == pytest.approx(92.545, rel=1e-3)
    assert result["1"].value is None
    assert "complete steps" in str(result["1"].reason)
