"""Measures of kernels that cannot be true are no measurements, and are counted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import kernel, step, trace


def read(**args: Any) -> tuple[float | None, float | None, int]:
    """Blocks per multiprocessor, occupancy, and kernels counted as impossible."""
    built = trace([step(1, 0, 100), kernel("k", 0, 10, **args)])
    (row,) = built.device_work.select("blocks_per_sm", "est_achieved_occupancy_pct").rows()
    return (*row, built.quality.counts.get("impossible_measure", 0))


@pytest.mark.parametrize(
    ("occupancy", "warps", "expected"),
    [
        (35, 22.4, 35),
        (0, 0, 0),
        (0, None, 0),
        (0, 0.3, 0),  # 0.3 of 64 warps are 0.47 %, which is written as 0
        (0, 0.64, None),
        (0, 14.5, None),
        (100, 64, 100),
        (101, 64, None),
        (-1, 4, None),
    ],
)
def test_occupancies(occupancy: float, warps: float | None, expected: float | None) -> None:
    found = read(blocks=1, occupancy=occupancy, **{"warps per SM": warps})

    assert found == (1, expected, expected is None)


@pytest.mark.parametrize(("blocks", "expected"), [(0, 0), (2.5, 2.5), (-1, None), (1e13, None)])
def test_blocks(blocks: float, expected: float | None) -> None:
    assert read(blocks=blocks) == (expected, None, expected is None)


def test_a_kernel_of_two_is_counted_once() -> None:
    assert read(blocks=-1, occupancy=500) == (None, None, 1)
    assert read() == (None, None, 0)
