"""Copies from pageable memory keep the host, and the device idle."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, memcpy
from torch_tb_profiler.detectors.pageable_copies import detect

PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def copy(at: float, blocked: float, corr: int, name: str = PAGEABLE) -> list[Event]:
    """A call and 4 us of copy that begin together; the device is idle for the rest of the call."""
    return [
        call("cudaMemcpyAsync", at, blocked, corr=corr),
        memcpy(at + 1, 4, name=name, corr=corr, bytes=100),
    ]


def test_the_gain_is_the_idle_time_in_the_calls() -> None:
    events = [*copy(0, 20, 1), *copy(100, 15, 2), *launched("k", 200, 500, 3)]
    advice = finding(detect(context(one_step(events))))
    # 1 us before and 15 us after the first copy, 1 us and 10 us of the second.
    assert advice.gain_us == pytest.approx(16 + 11)
    assert advice.values["calls"] == 2
    assert advice.spot is not None


def test_a_single_copy_has_a_text_in_the_singular() -> None:
    events = [*copy(0, 40, 1), *launched("k", 200, 500, 3)]
    note = finding(detect(context(one_step(events)))).note()
    assert "because a copy to the GPU blocks the host, in cudaMemcpyAsync" in note.text


def test_pinned_memory_is_not_proposed_where_it_is_used() -> None:
    slow = copy(0, 40, 1, "Memcpy HtoD (Pinned -> Device)")
    advice = finding(detect(context(one_step([*slow, *launched("k", 200, 500, 3)]))))
    assert advice.variant == "pinned"
    assert "tensor.pin_memory()" not in advice.note().text


def test_pinned_fetched_hidden_and_short_copies_are_not() -> None:
    after = launched("k", 200, 500, 3)
    for name in ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"):
        assert detect(context(one_step([*copy(0, 19, 1, name), *after]))) is None
    assert detect(context(one_step([*copy(0, 10, 1), *after]))) is None
    assert detect(context(one_step([memcpy(0, 500, name=PAGEABLE)]))) is None
    hidden = [*launched("k", 10, 900, 1), *copy(300, 500, 2)]
    assert detect(context(one_step(hidden))) is None
