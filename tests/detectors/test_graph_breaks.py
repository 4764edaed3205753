"""Compiled code that is left and entered again.

Names and nesting as torch 2.14 records them: after a break the region before it looks up the next
one and calls it.
"""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, op
from torch_tb_profiler.detectors.graph_breaks import detect


def region(name: str, ts: float, dur: float, *inside: Event) -> list[Event]:
    """A region: 10 µs to look it up before it, 5 µs before its own work."""
    return [
        op("TorchDynamo Cache Lookup", ts - 10, 10),
        op(f"Torch-Compiled Region: {name}", ts, dur),
        op("AOTDispatcher Runtime Wrapper Prologue", ts + 1, 5),
        *inside,
    ]


def broken(times: int) -> list[Event]:
    """A region that goes on in others, each inside the one before it."""
    inside: list[Event] = []
    for number in range(times, 0, -1):
        inside = region(f"{number}/0", 20 + 30 * number, 900 - 60 * number, *inside)
    return region("0/0", 20, 900, *inside)


def test_regions_inside_others_are_counted_with_what_entering_them_takes() -> None:
    advice = finding(detect(context(one_step(broken(3), length=1000))))
    assert advice.measured == 3
    assert advice.gain_us == pytest.approx(3 * 15)
    assert [row["region"] for row in advice.rows] == [
        f"Torch-Compiled Region: {number}/0" for number in (1, 2, 3)
    ]
    assert advice.spot is not None
    assert advice.spot.end_ns - advice.spot.start_ns == 840_000


def test_exactly_the_threshold_is_not_reported() -> None:
    assert detect(context(one_step(broken(2), length=1000))) is None


def test_regions_side_by_side_are_layers_compiled_one_by_one() -> None:
    layers = [event for n in range(9) for event in region("0/0", 20 + 100 * n, 80)]
    assert detect(context(one_step(layers, length=1000))) is None


def test_if_entering_takes_no_time_there_is_no_finding() -> None:
    assert detect(context(one_step(broken(3), length=4400))) is not None
    assert detect(context(one_step(broken(3), length=4600))) is None


def test_while_a_device_works_nothing_is_lost() -> None:
    events = [*broken(3), *launched("k", 30, 960, 1, launch_at=25)]
    assert detect(context(one_step(events, length=1000))) is None
