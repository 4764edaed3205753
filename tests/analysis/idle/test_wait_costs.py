"""Idle time that waits cause; all times by hand."""

from __future__ import annotations

from tests.detectors.scenes import launched, one_step
from tests.helpers.traces import Event, call, memcpy, op
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause

WAIT = [*launched("a", 10, 300, 1), call("cudaStreamSynchronize", 20, 295)]
"""The host is kept from 20 to 310, when the kernel ends; the call returns at 315."""


def _after_waits(events: list[Event]) -> list[tuple[float, float]]:
    """The time after waits, in µs; the operator covers the host's time between its calls."""
    causes = idle_causes(one_step([*events, op("aten::slow", 0, 990)]))
    time = causes.intervals[IdleCause.AFTER_WAIT]
    return [(a / 1000, b / 1000) for a, b in zip(time.start_ns, time.end_ns, strict=True)]


def test_the_next_launch_and_its_way_to_the_device_count() -> None:
    assert _after_waits([*WAIT, *launched("b", 340, 650, 2)]) == [(310, 340)]


def test_what_takes_longer_than_a_launch_is_no_way_to_the_device() -> None:
    """The launch returns at 331; the kernel starts 109 µs later for another reason."""
    assert _after_waits([*WAIT, *launched("b", 440, 550, 2, launch_at=330)]) == [(310, 331)]


def test_waits_count_until_the_host_has_caught_up() -> None:
    """After a gap between queued kernels, at 344, the host is late for reasons of its own."""
    events = [*WAIT, *launched("b", 340, 4, 2), *launched("c", 346, 4, 3, launch_at=341)]
    assert _after_waits([*events, *launched("d", 600, 390, 4)]) == [(310, 340)]
    events = [*WAIT, *launched("b", 340, 4, 2), *launched("c", 400, 4, 3)]
    # Without the wait of 290 µs the host would be 290 ahead; 29 of it are used up before, 55 here,
    # and 206 are left for the gap that follows.
    assert _after_waits([*events, *launched("d", 700, 290, 4)]) == [
        (310, 340),
        (344, 400),
        (404, 610),
    ]


def test_a_short_wait_profits_from_the_lead_of_a_long_one() -> None:
    """The second wait keeps the host for 9 µs, and the next launch takes 89 more. Without both, the
    host would have come there 261 earlier."""
    events = [*WAIT, *launched("b", 340, 4, 2), *launched("c", 346, 14, 3, launch_at=341)]
    events += [call("cudaStreamSynchronize", 351, 12), *launched("d", 450, 540, 4)]
    assert _after_waits(events) == [(310, 340), (360, 450)]


def test_a_copy_to_the_device_holds_the_host_all_the_same() -> None:
    events = [*WAIT, *launched("b", 340, 20, 2), call("cudaMemcpyAsync", 365, 40, corr=3)]
    events += [memcpy(400, 4, name="Memcpy HtoD (Pageable -> Device)", corr=3)]
    events += launched("c", 500, 100, 4)
    assert _after_waits(events)[0] == (310, 340)
    assert all(end <= 400 for _, end in _after_waits(events))
