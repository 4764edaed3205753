"""Copies that nothing hides."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import call, kernel, memcpy, op, step, trace
from torch_tb_profiler.detectors.memcpy_share import detect


def test_copies_above_the_threshold_are_advised() -> None:
    events = [memcpy(0, 40, bytes=10), memcpy(50, 20, name="Memcpy DtoH", bytes=5)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(6.0)
    assert advice.gain_us is None  # no launch is known, and so not what waits for the copies
    assert advice.variant == "upload"
    assert list(advice.rows) == [
        {"calls": 1, "total_us": 40.0, "total_bytes": 10, "name": "Memcpy HtoD"},
        {"calls": 1, "total_us": 20.0, "total_bytes": 5, "name": "Memcpy DtoH"},
    ]


def test_copies_behind_kernels_are_not() -> None:
    assert detect(context(one_step([memcpy(0, 400), kernel("k", 0, 400, stream=8)]))) is None
    assert detect(context(one_step([memcpy(0, 50)]))) is None


@pytest.mark.parametrize(
    ("name", "variant", "word"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "upload", "pinned"),
        ("Memcpy DtoH (Device -> Pinned)", "fetch", "later"),
        ("Memcpy DtoD (Device -> Device)", "device", "views"),
        ("CopyHostToDevice", "upload", "pinned"),
    ],
)
def test_what_to_do_depends_on_where_the_copies_go(name: str, variant: str, word: str) -> None:
    advice = finding(detect(context(one_step([memcpy(0, 400, name=name)]))))
    assert advice.variant == variant
    assert word in advice.note().text
    assert ("pinned" in advice.note().text) is (variant == "upload")


def test_only_a_program_that_loads_batches_gets_advice_about_its_loader() -> None:
    loads = op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 500, 50)
    batches = finding(detect(context(one_step([memcpy(0, 400), loads]))))
    assert batches.variant == "batches"
    assert "DataLoader(pin_memory=True)" in batches.note().text
    assert "DataLoader" not in finding(detect(context(one_step([memcpy(0, 400)])))).note().text


def test_copies_something_waits_for_can_be_gained() -> None:
    events = [
        call("cudaMemcpyAsync", 0, 5, corr=1),
        memcpy(10, 200, corr=1),
        *launched("k", 210, 150, 2, launch_at=20),
        call("cudaDeviceSynchronize", 30, 340),
    ]
    # They can hide behind the 150 us of the kernel.
    assert finding(detect(context(one_step(events)))).gain_us == pytest.approx(150)


def test_copies_that_began_before_the_steps_say_nothing() -> None:
    events = [step(1, 100, 900), memcpy(0, 500)]
    assert detect(context(trace([*events, kernel("k", 600, 10)]))) is None
