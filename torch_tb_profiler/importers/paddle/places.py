"""Paddle's names of places where memory lies → the type and number of a device.

Source: ``Place`` of Paddle's ``paddle/phi/common/place.cc``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.trace.columns import ABSENT

PLACE = re.compile(r"Place\((\w+?)(?::(\d{1,3}))?\)")

HOST, PINNED_HOST = (0, -1), (0, 0)
"""Memory of the host, and that which an allocator of its own counts: ``CPU`` and ``CPU 0``."""

PLACES = {"cpu": HOST, "gpu_pinned": PINNED_HOST, "xpu_pinned": PINNED_HOST}
TYPES = {"gpu": 1, "xpu": 12, "ipu": 18}
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
    if match[1] in PLACES:
        return PLACES[match[1]]
    return TYPES.get(match[1], CUSTOM), int(match[2] or 0)
