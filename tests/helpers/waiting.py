"""Waiting for what happens, with a generous limit."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_S = 30.0


def wait_until(holds: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Wait until ``holds`` answers something true.

    Raises:
        AssertionError: it did not in time.
    """
    until_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.005)
