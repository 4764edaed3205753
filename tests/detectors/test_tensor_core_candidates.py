"""Matrix kernels off the Tensor Cores, with the reason."""

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
from torch_tb_profiler.detectors.tensor_core_candidates import detect
from torch_tb_profiler.evidence.matrix_units import classify_unused
from torch_tb_profiler.knowledge import gpus

A100 = gpus.architecture("NVIDIA A100-SXM4-80GB", None, None)
V100 = gpus.architecture("Tesla V100-SXM2-32GB", None, None)
MI100 = gpus.architecture("AMD Instinct MI100", None, None)


def scene(second: str, rows: int = 651, dtype: str = "double") -> list[Event]:
    """Two products, both launched before the first of them runs."""
    types: dict[str, Any] = {"Input type": [dtype, dtype]}
    events = [
        op("aten::mm", 0, 50),
        *launched(TENSOR_CORE_GEMM, 100, 80, 1, launch_at=10),
        op("aten::mm", 50, 50, shape=[[rows, 640], [640, 640]], **types),
        *launched(second, 180, 20, 2, launch_at=60),
    ]
    return awaited(events, 100)


def test_matrix_kernels_off_the_tensor_cores_are_advised() -> None:
    advice = finding(detect(context(one_step(scene(GEMM), deviceProperties=[device()]))))
    assert advice.measured == pytest.approx(20.0)
    assert advice.gain_us == pytest.approx(10)
    assert advice.rows[0]["input_shape"] == "[[651, 640], [640, 640]]"
    assert advice.variant == "sizes"
    assert "most of it in aten::mm of [[651, 640], [640, 640]]. Main reason" in advice.text
    assert "(651 → 652). Pad" in advice.text


@pytest.mark.parametrize("other", [TENSOR_CORE_GEMM, ELEMENTWISE, "nobody_knows_this"])
def test_kernels_that_use_them_or_are_no_products_are_not(other: str) -> None:
    assert detect(context(one_step(scene(other), deviceProperties=[device()]))) is None


@pytest.mark.parametrize(("rows", "speaks"), [(640, True), (64, True), (8, False), (1, False)])
def test_products_of_few_rows_wait_for_memory(rows: int, speaks: bool) -> None:
    """Decoding with small batches, in half precision on a kernel without Tensor Cores."""
    events = scene("ampere_fp16_hgemm_128x64_tn", rows, "c10::Half")
    advice = detect(context(one_step(events, deviceProperties=[device()])))
    assert (advice is not None) == speaks


def test_where_the_shapes_are_missing_the_reason_is_unknown() -> None:
    events = scene(GEMM)
    for event in events:
        event["args"].pop("Input Dims", None)
    advice = finding(detect(context(one_step(events, deviceProperties=[device()]))))
    assert advice.variant == "default"
    assert "record_shapes" in advice.text


def test_a_step_that_waits_for_the_host_gains_nothing() -> None:
    types: Any = {"Input type": ["float"] * 2}
    late = [
        op("aten::mm", 0, 50),
        *launched(TENSOR_CORE_GEMM, 20, 80, 1),
        op("aten::mm", 200, 50, shape=[[640, 640], [640, 640]], **types),
        *launched(GEMM, 220, 20, 2),
        op("aten::add", 500, 50),
        *launched(ELEMENTWISE, 520, 20, 3),
    ]
    advice = finding(detect(context(one_step(late, deviceProperties=[device()]))))
    assert advice.gain_us is None
    assert "limits the step" in advice.text


@pytest.mark.parametrize(
    ("shapes", "types", "architecture", "expected"),
    [
        (
            "[[64, 64], [64, 64]]",
            "['float', 'float']",
            V100,
            "which Tensor Cores of Volta do not support",
        ),
        ("[[64, 64], [64, 64]]", "['double', 'double']", MI100, "Matrix Cores of CDNA 1 do not"),
        ("[[64, 64], [64, 64]]", "['float', 'float']", A100, "TF32 not allowed"),
        ("[[64, 65], [65, 64]]", '["c10::Half", "c10::Half"]', V100, "multiples of 8 (65 → 72)"),
        (
            "[[64, 24], [24, 8]]",
            "['signed char', 'signed char']",
            A100,
            "multiples of 16 (8 → 16, 24 → 32)",
        ),
        ("[[64, 8], [8, 64]]", "['c10::Half', 'c10::Half']", V100, "too small"),
        ("[[64, 64], [64, 64]]", "['c10::Half', 'c10::Half']", V100, "chose another kernel"),
        ("[[64, 64]]", "['float']", None, "unknown architecture"),
        ("[[], []]", "['Scalar', '']", A100, "has no types and shapes"),
        (None, None, A100, "has no types and shapes"),
        ("not a list", "[", A100, "has no types and shapes"),
    ],
)
def test_the_reason_follows_from_types_and_shapes(
    shapes: str | None, types: str | None, architecture: gpus.Architecture | None, expected: str
) -> None:
    assert expected in classify_unused(shapes, types, architecture).text


def test_if_tf32_is_recorded_as_allowed_it_is_not_advised() -> None:
    architecture = gpus.architecture("NVIDIA A100-SXM4-80GB", 8, 0)
    given = ("[[64, 64], [64, 64]]", "['float', 'float']", architecture)
    assert classify_unused(*given).cause == "tf32"
    assert classify_unused(*given, allows_tf32=False).cause == "tf32"
    assert classify_unused(*given, allows_tf32=True).cause == "library"
