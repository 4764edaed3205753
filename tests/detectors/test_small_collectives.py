"""Many small collectives in a step."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import Event, annotation, kernel, op
from torch_tb_profiler.detectors.small_collectives import detect
from torch_tb_profiler.evidence.context import Context

SIZED: dict[str, Any] = {"Input type": ["float"]}
BACKWARD = op("AddmmBackward0", 9900, 5)


def scene(
    count: int,
    *more: Event,
    elements: int | None = 100,
    name: str = "gloo:all_reduce",
    is_training: bool = True,
) -> Context:
    """Calls of 20 µs, one every 30, in a step of 10 ms."""
    given = {} if elements is None else {"Input Dims": [[elements]], **SIZED}
    events = [annotation(name, 30 * at, 20, tid=2, **given) for at in range(count)]
    backward = [BACKWARD] if is_training else []
    return context(one_step([*events, *more, *backward], length=10_000))


def test_the_gain_is_their_time_less_that_of_all_their_bytes() -> None:
    advice = finding(detect(scene(120)))
    assert advice.measured == 120
    # 120 × 400 bytes at 400 bytes per 20 µs, the best rate there is: all of the time.
    assert advice.gain_us is None
    large = annotation("gloo:all_reduce", 9000, 100, tid=2, **{"Input Dims": [[100_000]], **SIZED})
    advice = finding(detect(scene(120, large)))
    assert advice.gain_us == pytest.approx(120 * 20 - 120 * 400 / 4000)
    (row,) = advice.rows
    assert (row["calls_per_step"], row["median_bytes"], row["median_us"]) == (120, 400, 20)
    assert (row["total_us"], row["total_bytes"]) == (2400, 48_000)
    text = advice.note().text
    assert "120 small collectives gloo:all_reduce, with a median of 400 B and 20.0 µs" in text


def test_no_other_finding_is_about_the_same_time() -> None:
    large = annotation("gloo:all_reduce", 9000, 100, tid=2, **{"Input Dims": [[100_000]], **SIZED})
    of = scene(120, large)
    codes = list(notes_of(of.trace))
    assert codes[0] == "small_collectives"
    assert "communication_share" not in codes


@pytest.mark.parametrize(
    "of",
    [
        scene(90),  # not so many
        scene(120, is_training=False),  # layers of an inference depend on each other
        scene(120, elements=100_000),  # not small
        scene(120, name="gloo:send"),  # nothing to join
        scene(120, elements=None),  # nobody knows
        scene(120, name="nccl:all_reduce"),  # only enqueued
        scene(120, kernel("gemm", 0, 9000)),  # beside computation
    ],
)
def test_otherwise_there_is_no_finding(of: Context) -> None:
    assert detect(of) is None


def test_on_a_device_the_pauses_between_them_are_gained_as_well() -> None:
    """Calls of 20 µs, one every 30, which the host launches one by one; a large one sets the rate:
    400,000 bytes in 100 µs."""
    events: list[Event] = []
    for at in range(120):
        events += _all_reduce(100, 30 * at + 30, 20, at + 1)
    of = context(one_step([*events, *_all_reduce(100_000, 9000, 100, 1000), BACKWARD], length=9900))
    advice = finding(detect(of))
    assert advice.gain_us == pytest.approx(120 * 20 + 119 * 10 - 120 * 400 / 4000)


def _all_reduce(elements: int, start: float, us: float, corr: int) -> list[Event]:
    sizes: dict[str, Any] = {"In msg nelems": elements, "Out msg nelems": elements}
    sizes |= {"Collective name": "allreduce", "dtype": "Float"}
    return launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start, us, corr, stream=20, **sizes)
