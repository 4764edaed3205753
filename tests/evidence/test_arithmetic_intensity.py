"""Operations over bytes of matrix operators, worked by hand."""

from __future__ import annotations

import pytest

from torch_tb_profiler.evidence.arithmetic_intensity import flop_per_byte

HALF = "['c10::Half', 'c10::Half', 'c10::Half']"
FLOAT = "['float', 'float', 'float']"


@pytest.mark.parametrize(
    ("operator", "shapes", "types", "expected"),
    [
        ("aten::mm", "[[4, 8], [8, 16]]", FLOAT, 2 * 4 * 8 * 16 / (32 + 128 + 64) / 4),
        ("aten::addmm", "[[16], [4, 8], [8, 16]]", FLOAT, 2 * 4 * 8 * 16 / (32 + 128 + 64) / 4),
        ("aten::linear", "[[2, 4, 8], [16, 8]]", HALF, 2 * 8 * 8 * 16 / (64 + 128 + 128) / 2),
        ("aten::bmm", "[[3, 4, 8], [3, 8, 16]]", HALF, 2 * 4 * 8 * 16 / (32 + 128 + 64) / 2),
        (
            "aten::_scaled_dot_product_flash_attention",
            "[[1, 2, 1, 64], [1, 2, 100, 64], [1, 2, 100, 64]]",
            HALF,
            2 * 100 * 64 / (64 + 6400) / 2,
        ),
        ("_C::gptq_gemm", "[[3, 4096], [512, 11008]]", HALF, 2 * 3 / 2),
        (
            "aten::cudnn_convolution",
            "[[2, 3, 5, 5], [7, 3, 1, 1]]",
            FLOAT,
            2 * 2 * 7 * 25 * 3 / (150 + 21 + 350) / 4,
        ),
        (
            "aten::convolution_backward",
            "[[2, 7, 5, 5], [2, 3, 5, 5], [7, 3, 1, 1]]",
            FLOAT,
            2 * 2 * 7 * 25 * 3 / (150 + 21 + 350) / 4,
        ),
    ],
)
def test_operations_over_bytes(operator: str, shapes: str, types: str, expected: float) -> None:
    assert flop_per_byte(operator, shapes, types) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("shapes", "types"),
    [
        (None, None),
        ("[[4, 8], [8, 16]]", None),
        ("[[4, 8]]", FLOAT),
        ("[[4, 8], [8, 'x']]", FLOAT),
        ("[[0, 0], [0, 0]]", FLOAT),
        ("[", "["),
    ],
)
def test_unknown_shapes(shapes: str | None, types: str | None) -> None:
    assert flop_per_byte("aten::mm", shapes, types) is None


def test_a_depthwise_convolution_waits_for_memory() -> None:
    shapes = "[[32, 64, 56, 56], [64, 1, 3, 3]]"
    intensity = flop_per_byte("aten::_conv_depthwise2d", shapes, FLOAT)
    assert intensity is not None
    assert intensity < 8
