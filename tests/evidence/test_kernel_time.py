"""What findings about kernels share: gains, shares of the step, where their rows are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors.scenes import ELEMENTWISE, GEMM, awaited, context, finding, launched, one_step
from tests.detectors.test_eager_attention import ATTENTION, scene
from tests.evidence.test_sources import led_to
from tests.helpers.traces import kernel
from torch_tb_profiler.detectors import eager_attention, unfused_kernels
from torch_tb_profiler.evidence.kernel_time import (
    estimate_gain,
    kernel_intervals,
    longest_kernel,
    step_share_pct,
)

OVERLAPPING = [
    *launched(GEMM, 100, 100, 1, launch_at=1),
    *launched(ELEMENTWISE, 150, 150, 2, launch_at=3, stream=8),
]


def test_time_of_kernels_that_run_together_counts_once_and_inside_the_steps() -> None:
    of = context(one_step(OVERLAPPING, length=250))
    assert kernel_intervals(of, of.kernels).start_ns.tolist() == [100_000]
    assert step_share_pct(of, of.kernels) == pytest.approx(200 / 300 * 100)  # stretched to 300
    spot = longest_kernel(of, of.kernels)
    assert spot is not None
    assert (spot.start_ns, spot.end_ns) == (150_000, 300_000)
    assert longest_kernel(of, of.kernels.head(0)) is None


def test_gains_of_shorter_kernels() -> None:
    waiting = context(one_step(awaited(OVERLAPPING, 60)))
    saved = np.array([0, 50_000])
    assert estimate_gain(waiting, "unfused_kernels", waiting.kernels, saved) == (50, 200, "")
    assert estimate_gain(waiting, "unfused_kernels", waiting.kernels, saved * 0) == (None, None, "")
    nobody = context(one_step(OVERLAPPING))
    gain, at_stake, sentence = estimate_gain(nobody, "unfused_kernels", nobody.kernels, saved)
    assert (gain, at_stake) == (None, None)
    assert "limits the step" in sentence
    unknown = context(one_step([kernel(GEMM, 100, 100), kernel(GEMM, 200, 50)]))
    assert estimate_gain(unknown, "unfused_kernels", unknown.kernels, saved) == (None, 50, "")


def test_the_rows_are_those_of_the_operator_with_most_of_the_time() -> None:
    of = one_step(scene(ATTENTION), length=400)
    rows = led_to(eager_attention.detect(context(of)), of)
    assert rows.select("operator", "total_us").rows() == [("aten::_softmax", 60.0)]


def test_without_operators_the_rows_are_those_without_one() -> None:
    of = one_step([kernel(ELEMENTWISE, 0, 100), kernel(ELEMENTWISE, 100, 100)])
    advice = finding(unfused_kernels.detect(context(of)))
    assert advice.rows == [{"operator": None, "kernel": ELEMENTWISE, "calls": 2, "total_us": 200.0}]
    assert led_to(advice, of)["total_us"].to_list() == [200.0]
