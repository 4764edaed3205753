"""Paddle's ``Place`` of memory as device type (as in torch) and device number."""

from __future__ import annotations

import pytest

from torch_tb_profiler.importers.paddle.devices import parse_device
from torch_tb_profiler.trace.columns import ABSENT


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("Place(cpu)", (0, -1)),
        ("Place(gpu_pinned)", (0, 0)),
        ("Place(gpu:3)", (1, 3)),
        ("Place(xpu:0)", (12, 0)),
        ("Place(npu:1)", (20, 1)),
        ("gpu:1", (ABSENT, ABSENT)),
        ("Place(gpu:99999)", (ABSENT, ABSENT)),
        ("", (ABSENT, ABSENT)),
    ],
)
def test_devices(text: str, device: tuple[int, int]) -> None:
    assert parse_device(text) == device
