"""A GPU with Tensor Cores that are not used."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advice.scenes import (
    ELEMENTWISE,
    GEMM,
    TENSOR_CORE_GEMM,
    context,
    device,
    finding,
    launched,
    one_step,
)
from tests.helpers.traces import Event, op
from torch_tb_profiler.advice.tensor_cores_unused import detect

FLOAT: dict[str, Any] = {"Input type": ["float", "float"]}


def scene(matrix_kernel: str) -> list[Event]:
    return [
        op("aten::linear", 0, 100),
        op("aten::addmm", 10, 50, shape=[[64, 64], [64, 64]], **FLOAT),
        *launched(matrix_kernel, 20, 60, 1),
        op("aten::add", 200, 50),
        *launched(ELEMENTWISE, 220, 40, 2),
    ]


def test_eligible_time_is_that_of_the_lowest_eligible_operators() -> None:
    advice = finding(detect(context(one_step(scene(GEMM), deviceProperties=[device()]))))
    assert advice.measured == pytest.approx(60.0)
    assert advice.gain_us == pytest.approx(30)
    assert advice.architecture == "Ampere (A100)"
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


def test_without_an_eligible_operator_nothing_is_said() -> None:
    events = [op("aten::add", 0, 50), *launched(ELEMENTWISE, 20, 40, 2)]
    assert detect(context(one_step(events, deviceProperties=[device()]))) is None
    assert detect(context(one_step(scene(GEMM)))) is None
