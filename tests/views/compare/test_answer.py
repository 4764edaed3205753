"""The verdict of a comparison against steps whose times are known."""

from __future__ import annotations

import re

import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.answer import comparison_answer
from torch_tb_profiler.views.compare.view import compare

ALL = Selection()
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def training(durations_ms: list[int], load_ms: int = 10) -> Trace:
    """Steps of these lengths: loading, then an operator for the rest."""
    events: list[t.Event] = []
    at = 0
    for number, length in enumerate(durations_ms):
        events += [
            t.step(number, at, 1000 * length),
            t.annotation(LOADER, at, 1000 * load_ms),
            t.op("aten::mm", at + 1000 * load_ms, 1000 * (length - load_ms)),
        ]
        at += 1000 * length
    return t.trace(events)


def answer(a: Trace, b: Trace, *names: str) -> str:
    text = comparison_answer(compare(a, ALL, b, ALL), *names)
    assert text is not None
    return text


def test_the_verdict_names_sides_significance_and_parts() -> None:
    a, b = training([100, 101, 99, 100], 50), training([80, 81, 79, 80], 20)
    text = answer(a, b, "nw0", "nw2")
    assert text.startswith(
        "nw2 is 20.0 % faster than nw0 (80.0 ms instead of 100 ms per step; p < 0.001): "
        "data loading −30.0 ms, CPU work +10.0 ms."
    )
    assert "is 25.0 % slower than" in answer(b, a)


def test_noise_is_not_called_a_change() -> None:
    a, b = training([100, 140, 80, 120]), training([105, 139, 85, 119])
    text = answer(a, b)
    assert text.startswith("The candidate is 1.8 % slower than the baseline (")
    assert re.search(r"which is not significant \(p = 0\.\d\d\)", text)


@pytest.mark.parametrize("steps", [[100], [100, 200]])
def test_few_steps_are_said(steps: list[int]) -> None:
    text = answer(training([100]), training([each + 20 for each in steps]))
    assert "A side has fewer than two whole steps, so this may be noise." in text
    assert "significant" not in text


@pytest.mark.parametrize(
    ("times", "text"), [(2, "2.00"), (14, "14.0"), (250, "250"), (3000, "3,000")]
)
def test_a_multiple_has_three_digits(times: int, text: str) -> None:
    a, b = training([100, 100], 1), training([100 * times, 100 * times], 1)
    assert f"The candidate takes {text} times as long as" in answer(a, b)


def test_more_than_twice_the_time_is_a_multiple() -> None:
    text = answer(training([100, 100]), training([300, 310]))
    assert text.startswith("The candidate takes 3.05 times as long as the baseline (305 ms ")


def test_no_difference_is_said() -> None:
    assert answer(training([100, 90]), training([100, 90])) == (
        "The candidate takes as long as the baseline, 95.0 ms per step."
    )


def test_another_device_is_said() -> None:
    def on(device: str, dur: int) -> Trace:
        events = [t.step(0, 0, dur), t.op("aten::mm", 5, 50), t.step(1, 200, dur)]
        call = t.call("cudaLaunchKernel", 10, 5, corr=1)
        header = [{"id": 0, "name": device}]
        events += [call, t.kernel("gemm", 20, 40, corr=1)]
        return t.trace(events, deviceProperties=header)

    text = answer(on("V100", 100), on("A100", 90))
    assert text.startswith(
        "Not only the code may differ (device V100 against A100): the candidate is 10.0 % faster "
        "than the baseline ("
    )


def test_a_peak_of_memory_is_said() -> None:
    def holding(size: int) -> Trace:
        sizes = {"Bytes": size, "Total Allocated": size, "Total Reserved": size}
        where = {"Device Type": 1, "Device Id": 0, "Addr": 64}
        memory = {
            "ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": t.HOST, "tid": 1,
            "ts": 20, "s": "t", "args": {**sizes, **where},
        }  # fmt: skip
        return t.trace([t.step(0, 0, 100), t.op("aten::mm", 10, 50), memory])

    text = answer(holding(3 << 30), holding(2 << 30), "a", "b")
    assert text.endswith("b needs 1.00 GiB less memory of GPU 0 at its peak than a "
                         "(2.00 GiB instead of 3.00 GiB).")  # fmt: skip


def test_hostile_names_stay_on_one_line() -> None:
    text = answer(training([100, 90]), training([80, 70]), "a\nb", "<b>" * 40)
    assert "\n" not in text
    assert "than a b (" in text
