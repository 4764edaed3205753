"""Copies from the device that wait for the work before them."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import Event, call, frame, memcpy, op
from torch_tb_profiler.detectors.host_synchronization import detect as of_idle
from torch_tb_profiler.detectors.waiting_copies import detect


def prefill(waits_from: float, *, name: str = "Memcpy DtoH (Device -> Pageable)") -> list[Event]:
    """Two kernels of 450 µs, and a copy of 1 µs that the host calls early and gets late."""
    return [
        op("aten::mm", 0, 20),
        *launched("gemm", 10, 450, 1, launch_at=5),
        *launched("gemm", 460, 450, 2, launch_at=8),
        frame("scheduler.py(88): process_batch_result", waits_from - 1, 930 - waits_from),
        op("aten::copy_", waits_from, 915 - waits_from),
        call("cudaMemcpyAsync", waits_from + 1, 913 - waits_from, corr=3),
        memcpy(911, 1, name=name, corr=3),
    ]


def test_the_copy_is_named_and_nothing_is_claimed() -> None:
    advice = finding(detect(context(one_step(prefill(100), length=920))))
    assert advice.measured == pytest.approx(811 / 920 * 100, abs=0.2)
    assert advice.gain_us is None
    assert "cudaMemcpyAsync in aten::copy_, from scheduler.py(88)" in advice.text
    assert [(row["operator"], row["calls"]) for row in advice.rows] == [("aten::copy_", 1)]
    assert "idle_us" not in advice.rows[0]


@pytest.mark.parametrize(("begin", "speaks"), [(670, True), (690, False)])
def test_the_threshold(begin: float, speaks: bool) -> None:
    assert (detect(context(one_step(prefill(begin), length=920))) is not None) is speaks


def test_copies_to_the_device_do_not_wait_for_results() -> None:
    events = prefill(100, name="Memcpy HtoD (Pageable -> Device)")
    assert detect(context(one_step(events, length=920))) is None


def test_a_finding_of_idle_time_after_the_copy_supersedes_it() -> None:
    events = [*prefill(100), op("aten::prepare", 920, 200), *launched("gemm", 1120, 50, 4)]
    of = context(one_step(events, length=1200))
    assert "waiting_copies" not in notes_of(of.trace)
    advice = finding(of_idle(of))
    assert advice.variant == "fetch"
    assert "cudaMemcpyAsync in aten::copy_" in advice.text
