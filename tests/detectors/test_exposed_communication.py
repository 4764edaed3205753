"""Communication that could be hidden."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, one_step
from tests.helpers.traces import Event, annotation, kernel
from torch_tb_profiler.detectors.exposed_communication import detect


def scene(talk: tuple[float, float], compute: tuple[float, float]) -> list[Event]:
    return [annotation("gloo:all_reduce", *talk, tid=2), kernel("gemm", *compute)]


def test_the_gain_is_what_computation_could_hide() -> None:
    advice = finding(detect(context(one_step(scene((0, 300), (200, 220))))))
    assert advice.measured == pytest.approx(20.0)
    assert advice.values["exposed_share"] == pytest.approx(200 / 300 * 100)
    assert advice.gain_us == pytest.approx(120)


@pytest.mark.parametrize(
    ("talk", "compute"),
    [
        ((0, 300), (0, 400)),  # hidden already
        ((0, 40), (500, 100)),  # too little
        ((0, 400), (0, 320)),  # one fifth exposed
        ((0, 300), (100, 100)),  # nothing left to hide it behind
        ((0, 300), (200, 150)),  # not enough: communication_share speaks
    ],
)
def test_otherwise_there_is_no_finding(
    talk: tuple[float, float], compute: tuple[float, float]
) -> None:
    assert detect(context(one_step(scene(talk, compute)))) is None


def test_without_communication_there_is_no_finding() -> None:
    assert detect(context(one_step([kernel("gemm", 0, 10)]))) is None
