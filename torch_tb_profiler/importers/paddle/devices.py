"""Paddle's ``Place`` of memory → device type and number.

Source: ``Place`` of Paddle's ``paddle/phi/common/place.cc``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.trace.columns import ABSENT

DEVICE_PATTERN = re.compile(r"Place\((\w+?)(?::(\d{1,3}))?\)")

HOST, PINNED_HOST = (0, -1), (0, 0)
"""Host memory, and pinned host memory, which has a separate allocator: ``CPU`` and ``CPU 0``."""

HOST_DEVICES = {"cpu": HOST, "gpu_pinned": PINNED_HOST, "xpu_pinned": PINNED_HOST}
DEVICE_TYPES = {"gpu": 1, "xpu": 12, "ipu": 18}
CUSTOM_TYPE = 20
"""The type of any other device, ``Place(npu:0)``."""


def parse_device(text: str) -> tuple[int, int]:
    """Device type (``c10::DeviceType``) and number of a ``Place``; absent if it is malformed.

    >>> device_of("Place(gpu:1)"), device_of("Place(cpu)")
    ((1, 1), (0, -1))
    """
    match = DEVICE_PATTERN.fullmatch(text)
    if match is None:
        return ABSENT, ABSENT
    if match[1] in HOST_DEVICES:
        return HOST_DEVICES[match[1]]
    return DEVICE_TYPES.get(match[1], CUSTOM_TYPE), int(match[2] or 0)
