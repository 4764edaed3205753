"""Paddle's names of places where memory lies → the type and number of a device.

Source: ``Place`` of Paddle's ``paddle/phi/common/place.cc``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.trace.columns import ABSENT

PLACE = re.compile(r"Place\((\w+?)(?::(\d{1,3}))?\)")

HOST = (0, -1)
PINNED_HOST = 1000
"""Memory of the host that an allocator of its own counts. None of the numbers of torch's types."""

TYPES = {"cpu": 0, "gpu": 1, "gpu_pinned": PINNED_HOST, "xpu": 12, "xpu_pinned": PINNED_HOST,
         "ipu": 18}  # fmt: skip
CUSTOM = 20
"""Any other kind of device, ``Place(npu:0)``."""


def device_of(place: str) -> tuple[int, int]:
    """Type (as torch numbers them) and number of the device behind a place.

    >>> device_of("Place(gpu:1)"), device_of("Place(cpu)")
    ((1, 1), (0, -1))
    """
    match = PLACE.fullmatch(place)
    if match is None:
        return ABSENT, ABSENT
    kind = TYPES.get(match[1], CUSTOM)
    if kind in (HOST[0], PINNED_HOST):
        return kind, -1
    return kind, int(match[2] or 0)
