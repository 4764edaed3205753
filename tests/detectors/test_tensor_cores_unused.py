"""A GPU with Tensor Cores that are not used."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import (
    ELEMENTWISE,
    GEMM,
    TENSOR_CORE_GEMM,
    awaited,
    context,
    device,
    finding,
    launched,
    one_step,
)
from tests.helpers.traces import Event, op
from torch_tb_profiler.detectors.tensor_cores_unused import detect


def scene(matrix_kernel: str, rows: int = 640, dtype: str = "float") -> list[Event]:
    """A linear layer and an addition, both launched before the first of them runs."""
    types: dict[str, Any] = {"Input type": [dtype] * 3}
    events = [
        op("aten::linear", 0, 30),
        op("aten::addmm", 10, 15, shape=[[640], [rows, 640], [640, 640]], **types),
        *launched(matrix_kernel, 120, 60, 1, launch_at=12),
        op("aten::add", 40, 50),
        *launched(ELEMENTWISE, 180, 40, 2, launch_at=50),
    ]
    return awaited(events, 95)


def test_eligible_time_is_that_of_the_lowest_eligible_operators() -> None:
    advice = finding(detect(context(one_step(scene(GEMM), deviceProperties=[device()]))))
    assert advice.measured == pytest.approx(60.0)
    assert advice.gain_us == pytest.approx(30)
    assert advice.architecture == "Ampere (A100)"
    assert advice.variant == "tf32"
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (120_000, 180_000)
    (row,) = advice.rows
    assert (row["operator"], row["kernel"], row["reason"]) == (
        "aten::addmm",
        GEMM,
        "float32 inputs and TF32 not allowed",
    )


@pytest.mark.parametrize(
    ("matrix_kernel", "gpu"),
    [
        (TENSOR_CORE_GEMM, device()),
        ("nobody_knows_this_kernel", device()),
        (GEMM, device(name="GeForce GTX 1080", capability="6.1")),
        (GEMM, device(name="AMD Radeon RX 580", capability="8.0")),
    ],
)
def test_used_unknown_or_absent_tensor_cores_are_not(
    matrix_kernel: str, gpu: dict[str, object]
) -> None:
    assert detect(context(one_step(scene(matrix_kernel), deviceProperties=[gpu]))) is None


def test_without_an_eligible_operator_there_is_no_finding() -> None:
    events = [op("aten::add", 0, 50), *launched(ELEMENTWISE, 20, 40, 2)]
    assert detect(context(one_step(events, deviceProperties=[device()]))) is None
    assert detect(context(one_step(scene(GEMM)))) is None


@pytest.mark.parametrize(
    ("gpu", "dtype", "variant", "expected"),
    [
        (device(name="Tesla V100-SXM2-32GB"), "float", "default", "autocast with float16"),
        (device(), "float", "tf32", "set_float32_matmul_precision"),
        (device(name="Tesla V100-SXM2-32GB"), "double", "reason", "float64 inputs"),
        (device(name="Tesla V100-SXM2-32GB"), "c10::BFloat16", "reason", "bfloat16 inputs"),
        (device(name="AMD Instinct MI300X"), "float", "reason", "Matrix Cores"),
    ],
)
def test_the_remedy_follows_from_type_and_device(
    gpu: dict[str, object], dtype: str, variant: str, expected: str
) -> None:
    advice = finding(detect(context(one_step(scene(GEMM, dtype=dtype), deviceProperties=[gpu]))))
    assert advice.variant == variant
    assert expected in advice.text


def test_products_that_memory_limits_are_not() -> None:
    """One token: the weights are read once for two operations each."""
    one_row = scene(GEMM, 1)
    assert detect(context(one_step(one_row, deviceProperties=[device()]))) is None
    vector = scene("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4>")
    assert detect(context(one_step(vector, deviceProperties=[device()]))) is None


def test_what_takes_hardly_any_of_the_step_is_not() -> None:
    assert detect(context(one_step(scene(GEMM), length=9000, deviceProperties=[device()]))) is None
