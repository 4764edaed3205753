"""One of several equal layers that is slower."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.evidence.test_sources import rows_of
from tests.helpers.traces import Event, frame, op
from torch_tb_profiler.detectors.odd_layer import detect
from torch_tb_profiler.evidence.context import Context


def layers(*times: float, inside: bool = True, length: float = 2000) -> Context:
    """Layers in a model, each with a kernel of a module inside it; all are launched early."""
    events: list[Event] = [frame("nn.Module: Model_0", 1, 900, python_id=1, module=0)]
    device = 1000.0
    for number, dur in enumerate(times):
        begin = 10 + 50 * number
        outer = 10 * number + 10
        events.append(
            frame(f"nn.Module: Layer_{number}", begin, 40, python_id=outer, parent=1, module=outer)
        )
        if inside:
            name = f"nn.Module: Linear_{number}"
            events.append(
                frame(name, begin + 5, 30, python_id=outer + 1, parent=outer, module=outer + 1)
            )
        events.append(op("aten::mm", begin + 10, 20))
        events += launched("gemm", device, dur, number + 1, launch_at=begin + 15)
        device += dur
    return context(one_step(events, length=length))


def test_the_slow_one_is_named() -> None:
    of = layers(100, 100, 100, 150, 100)
    advice = finding(detect(of))
    assert rows_of(advice, {"w": of.trace})["path"].to_list() == ["Model_0/Layer_3"]
    assert advice.measured == pytest.approx(50)
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(50)
    assert advice.rows[0] == {"layer": "Model_0/Layer_3", "time_us": 150.0}
    assert advice.text.startswith("Model_0/Layer_3 takes 50 % more device time than the other 4")


@pytest.mark.parametrize(("slow", "speaks"), [(120, False), (121, True)])
def test_the_threshold(slow: float, speaks: bool) -> None:
    assert (detect(layers(100, 100, 100, slow, 100, length=1000)) is not None) is speaks


@pytest.mark.parametrize(
    "times",
    [
        (100, 100, 150),  # three
        (100, 115, 100, 150, 100),  # the others differ too
        (100, 100, 50, 100, 100),  # faster
    ],
)
def test_other_groups_are_left_alone(times: tuple[float, ...]) -> None:
    assert detect(layers(*times)) is None


def test_modules_without_others_inside_may_have_any_size() -> None:
    assert detect(layers(100, 100, 100, 150, 100, inside=False)) is None


def test_what_hardly_matters_is_left_alone() -> None:
    assert detect(layers(100, 100, 100, 150, 100, length=6000)) is None


def test_a_recording_without_modules_is_left_alone() -> None:
    assert detect(context(one_step(launched("k", 10, 10, 1)))) is None
