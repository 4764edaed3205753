"""Host time that the recording does not tell of."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import call
from torch_tb_profiler.detectors.unrecorded_host import detect


def test_what_follows_a_short_wait_is_not_the_wait() -> None:
    """A synchronisation of 6 us, after which the recording holds nothing of the host."""
    events = [
        *launched("k", 10, 20, 1),
        call("cudaStreamSynchronize", 26, 6),
        *launched("k", 247_000, 3000, 2),
    ]
    of = one_step(events, length=250_000)
    advice = finding(detect(context(of)))
    assert advice.measured == pytest.approx(98.8, abs=0.1)
    assert next(iter(notes_of(of))) == "unrecorded_host"
    assert "host_synchronization" not in notes_of(of)


def test_stretches_between_records_and_below_the_threshold_are_not() -> None:
    between = [event for n in range(10) for event in launched("k", 10 + 990 * n, 5, n + 1)]
    assert detect(context(one_step(between, length=9000))) is None
    events = [*launched("k", 10, 8000, 1), *launched("k", 9000, 1000, 2)]
    assert detect(context(one_step(events, length=10_000))) is None
