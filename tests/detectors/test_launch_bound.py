"""The GPU waits for launches."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, kernel, op
from torch_tb_profiler.detectors.launch_bound import detect


def scene(dur: float, gap: float, count: int) -> list[Event]:
    """An operator every ``gap`` µs that launches a kernel of ``dur`` µs after 5 µs."""
    events: list[Event] = []
    for number in range(count):
        at = number * gap
        events.append(op("aten::add", at, gap))
        events += launched("k", at + 5, dur, number + 1, launch_at=at + 3)
    return events


def test_idle_time_under_operators_is_the_gain() -> None:
    advice = finding(detect(context(one_step(scene(4, 20, 10)))))
    # The first gap is 4 us long until the launch returns, the others 15 us; 11 us of the tail are
    # in the last operator.
    assert advice.gain_us == pytest.approx(4 + 9 * 15 + 11)
    assert advice.values["median_us"] == pytest.approx(4)
    assert advice.rows[0] == {
        "operator": "aten::add",
        "gaps": 10,
        "idle_us": 4 + 9 * 15,
        "longest_us": 15.0,
    }
    assert advice.spot is not None
    assert advice.variant == "default"


def test_no_graphs_are_proposed_where_graphs_are_launched() -> None:
    graphs = [*scene(4, 20, 10), call("cudaGraphLaunch", 900, 5, corr=99)]
    text = finding(detect(context(one_step(graphs)))).note().text
    assert "launches graphs already" in text
    assert "reduce-overhead" not in text


def test_compile_is_not_proposed_to_a_compiled_program() -> None:
    compiled = [*scene(4, 20, 10), op("Torch-Compiled Region: 0/0", 900, 5)]
    advice = finding(detect(context(one_step(compiled))))
    assert advice.variant == "compiled"
    assert "compiled already. Graphs" in advice.text


def test_large_kernels_and_full_queues_are_not() -> None:
    assert detect(context(one_step(scene(15, 20, 40)))) is None
    assert detect(context(one_step(scene(4, 5, 40)))) is None
    assert detect(context(one_step([op("aten::add", 0, 900)]))) is None


def test_waiting_for_the_device_is_no_launching() -> None:
    waits = [call("cudaDeviceSynchronize", 300 + 100 * i, 90) for i in range(5)]
    assert detect(context(one_step([*scene(4, 20, 2), *waits]))) is None


def test_kernels_whose_launches_were_not_recorded_say_nothing_of_the_host() -> None:
    events = [event for event in scene(4, 20, 10) if event.get("cat") != "cuda_runtime"]
    assert detect(context(one_step(events))) is None


def test_graphs_that_take_long_to_launch_have_a_text() -> None:
    events: list[Event] = []
    for number in range(4):
        at = 200 * number
        events += [
            call("hipGraphLaunch", at, 100, corr=number + 1),
            kernel("k", at + 105, 4, corr=number + 1),
            kernel("k", at + 110, 4, corr=number + 1),
        ]
    advice = finding(detect(context(one_step(events, length=800))))
    assert advice.variant == "graph_calls"
    assert advice.rows[0]["operator"] == "hipGraphLaunch"
