"""Which part of their tiles results fill, counted over the tiles one by one."""

from __future__ import annotations

import math
import random

import pytest

from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.efficiency.calls import holding_calls
from torch_tb_profiler.analysis.efficiency.tiles import tile_fill, tiled_flops

CUTLASS = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x32_64x6_tn_align8"


def covered(rows: int, columns: int, tile: tuple[int, int]) -> int:
    """Elements of all tiles that hold any of the result."""
    corners = [(y, x) for y in range(0, rows, tile[0]) for x in range(0, columns, tile[1])]
    return len(corners) * tile[0] * tile[1]


def test_the_part_that_is_filled() -> None:
    draw = random.Random(1)
    for _ in range(200):
        rows, columns = draw.randint(1, 300), draw.randint(1, 300)
        tile = (draw.choice((16, 32, 64)), draw.choice((16, 48, 128)))
        best = min(covered(rows, columns, tile), covered(columns, rows, tile))
        assert tile_fill(rows, columns, tile) == pytest.approx(rows * columns / best)


def product(
    at: float, number: int, name: str, operator: str, shape: list[list[int]]
) -> list[Event]:
    return [
        op(operator, at, 10, ext=number, shape=shape),
        call("cudaLaunchKernel", at + 1, 2, corr=number, ext=number),
        kernel(name, at + 20, 5, corr=number, ext=number),
    ]


@pytest.mark.parametrize(
    ("operator", "shape", "name", "part"),
    [
        ("aten::mm", [[65, 8], [8, 32]], CUTLASS, 65 * 32 / (128 * 32)),
        ("aten::addmm", [[32], [64, 8], [8, 32], [], []], CUTLASS, 1),
        ("aten::bmm", [[9, 33, 8], [9, 8, 32]], CUTLASS, 33 * 32 / (64 * 32)),
        ("aten::mm", [[64, 8], [8, 32]], "gemm", None),
        ("aten::mv", [[64, 8], [8]], CUTLASS, None),
        ("aten::add", [[64, 8], [64, 8]], CUTLASS, None),
    ],
)
def test_of_products(operator: str, shape: list[list[int]], name: str, part: float | None) -> None:
    made = trace([step(1, 0, 100), *product(10, 1, name, operator, shape)])
    (flops,), (tiled,) = holding_calls(made).flops, tiled_flops(made)
    assert flops / tiled == pytest.approx(part or math.nan, nan_ok=True)
