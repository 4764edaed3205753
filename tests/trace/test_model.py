"""The trace object."""

from __future__ import annotations

import weakref

from tests.helpers.traces import op, trace


def test_a_trace_can_be_referred_to_weakly() -> None:
    assert weakref.ref(recorded := trace([op("x", 0, 1)]))() is recorded
