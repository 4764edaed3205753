"""Copies from pageable memory block the host."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, one_step
from tests.helpers.traces import Event, call, memcpy
from torch_tb_profiler.advice.pageable_copies import detect

PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def copy(at: float, blocked: float, corr: int, name: str = PAGEABLE) -> list[Event]:
    return [
        call("cudaMemcpyAsync", at, blocked, corr=corr),
        memcpy(at + 1, 4, name=name, corr=corr, bytes=100),
    ]


def test_the_gain_is_the_time_the_host_is_kept() -> None:
    advice = finding(detect(context(one_step([*copy(0, 20, 1), *copy(100, 15, 2)]))))
    assert advice.measured == pytest.approx(3.5)
    assert advice.gain_us == pytest.approx(35)
    assert advice.values["calls"] == 2


def test_a_single_copy_is_spoken_of_as_one() -> None:
    note = finding(detect(context(one_step(copy(0, 20, 1))))).note()
    assert note.text.startswith("A copy between the GPU and pageable host memory keeps the host")


def test_pinned_and_short_copies_are_not() -> None:
    pinned = copy(0, 50, 1, "Memcpy HtoD (Pinned -> Device)")
    assert detect(context(one_step(pinned))) is None
    assert detect(context(one_step(copy(0, 10, 1)))) is None
    assert detect(context(one_step([memcpy(0, 500, name=PAGEABLE)]))) is None
