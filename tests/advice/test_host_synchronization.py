"""The GPU stands idle after the host waited for it."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, op
from torch_tb_profiler.advice.host_synchronization import detect
from torch_tb_profiler.advice.synchronizations import WAITING


def scene(next_at: float) -> list[Event]:
    """A kernel to 100, .item() waits for it to 110, the next kernel begins at ``next_at``."""
    return [
        *launched("k", 10, 90, 1),
        op("aten::item", 20, 95),
        op("aten::_local_scalar_dense", 22, 90),
        call("cudaStreamSynchronize", 30, 80),
        *launched("k", next_at, 90, 2),
    ]


def test_the_gain_is_the_idle_time_after_the_wait() -> None:
    advice = finding(detect(context(one_step(scene(150)))))
    assert advice.gain_us == pytest.approx(40)
    assert advice.measured == pytest.approx(4.0)
    (row,) = advice.rows
    assert (row["operator"], row["call"], row["waited_us"], row["idle_us"]) == (
        "aten::_local_scalar_dense",
        "cudaStreamSynchronize",
        80.0,
        40.0,
    )


def test_a_wait_that_leaves_work_or_is_followed_at_once_is_not() -> None:
    assert detect(context(one_step(scene(120)))) is None
    busy = [*launched("k", 105, 400, 9, stream=8)]
    assert detect(context(one_step([*scene(600), *busy]))) is None


def test_waits_outside_the_steps_and_traces_without_waits_are_not() -> None:
    late = [*launched("k", 10, 20, 1), call("cudaDeviceSynchronize", 1500, 100)]
    assert detect(context(one_step(late))) is None
    assert detect(context(one_step(launched("k", 10, 20, 1)))) is None


def test_the_end_of_the_step_ends_the_idle_time() -> None:
    events = [*launched("k", 10, 90, 1), call("cudaDeviceSynchronize", 30, 920)]
    advice = finding(detect(context(one_step(events))))
    assert advice.gain_us == pytest.approx(50)
    assert advice.values["operator"] == "cudaDeviceSynchronize"


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("cudaStreamSynchronize", True),
        ("cudaDeviceSynchronize", True),
        ("hipEventSynchronize", True),
        ("cuCtxSynchronize", True),
        ("urQueueFinish", True),
        ("cudaMemcpy", True),
        ("cudaMemcpyAsync", False),
        ("cudaStreamWaitEvent", False),
        ("cudaLaunchKernel", False),
        ("cudaEventQuery", False),
    ],
)
def test_which_calls_wait_for_the_device(name: str, waits: bool) -> None:
    assert (WAITING.match(name) is not None) is waits
