"""Steps during which the recording ended; see docs/metrics.md#steps."""

from __future__ import annotations

import gzip
import json
from operator import itemgetter
from pathlib import Path

from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TRAINING = ("zero_grad", "linear", "relu", "linear", "loss", "backward", "backward", "adam")


def training(
    number: int, at: int, us_per_op: int = 10, names: tuple[str, ...] = TRAINING
) -> list[Event]:
    """A step of the operators ``names``, one after the other."""
    events = [step(number, at, us_per_op * len(names) or 1)]
    return events + [
        op(f"aten::{name}", at + us_per_op * place, us_per_op - 1)
        for place, name in enumerate(names)
    ]


def kept(events: list[Event]) -> list[bool]:
    return trace(events).steps["kept"].to_list()


def whole(count: int) -> list[Event]:
    return [event for number in range(count) for event in training(number, 100 * number)]


def launching(counts: list[int]) -> list[Event]:
    """Steps that launch so many kernels."""
    events = [step(number, 100 * number, 100) for number in range(len(counts))]
    for number, count in enumerate(counts):
        for place in range(count):
            at, corr = 100 * number + 5 * place, 100 * number + place
            events += [
                call("cudaLaunchKernel", at, 1, corr=corr),
                kernel("k", at + 2, 2, corr=corr),
            ]
    return events


def test_a_last_step_with_less_device_work_than_every_other_is_left_out() -> None:
    assert kept(launching([10, 10, 7])) == [True, True, False]
    assert kept(launching([10, 10, 9])) == [True] * 3
    assert kept(launching([5, 10, 7])) == [True, True, False], "the first may be short"


def test_a_last_step_with_as_little_device_work_as_another_is_a_step() -> None:
    """Gradients are accumulated over two steps, and then the optimizer runs."""
    assert kept(launching([6, 10, 6, 10, 6])) == [True] * 5


def test_a_stub_after_the_last_step_is_left_out() -> None:
    """What a schedule leaves when the loop ends before the profiler does: a step of a few µs."""
    assert kept([*whole(3), step(3, 300, 1)]) == [True, True, True, False]
    assert kept([*whole(3), step(3, 300, 1), op("aten::item", 300, 1)])[-1]


def test_a_step_that_stops_halfway_is_left_out() -> None:
    assert not kept([*whole(2), *training(2, 200, names=TRAINING[:5])])[-1]
    assert kept([*whole(2), *training(2, 200, names=TRAINING[:7])])[-1]


def test_a_smaller_last_batch_is_a_step() -> None:
    assert kept([*whole(2), *training(2, 200, us_per_op=2)])[-1]


def test_a_last_step_that_does_something_else_is_a_step() -> None:
    evaluation = ("linear", "relu", "linear", "argmax", "eq")
    assert kept([*whole(2), *training(2, 200, names=evaluation)])[-1]


def test_a_step_that_was_slow_before_it_stopped_is_left_out() -> None:
    assert not kept([*whole(2), *training(2, 200, us_per_op=90, names=TRAINING[:3])])[-1]


def test_steps_of_accumulated_gradients_are_steps_with_or_without_the_update() -> None:
    steps = [training(n, 100 * n, names=TRAINING[: 8 if n == 1 else 5]) for n in range(4)]
    assert kept([event for events in steps for event in events]) == [True] * 4


def test_a_file_cut_anywhere_in_its_last_step_leaves_it_out() -> None:
    """The events that had ended when the profiler was stopped at that moment, and its step."""
    path = SAMPLES / "cpu_resnet_full" / "worker0.1795226132075806134.pt.trace.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    slices = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    slices = [event for event in slices if event.get("cat") in ("cpu_op", "user_annotation")]
    last = max((s for s in slices if s["name"].startswith("ProfilerStep")), key=itemgetter("ts"))
    ends = [event["ts"] + event["dur"] for event in slices if last["ts"] <= event["ts"]]
    ends = sorted(end for end in ends if end < last["ts"] + last["dur"])
    for share in (0.0, 0.01, 0.2, 0.5, 0.7):
        stop = ends[int(share * len(ends))]
        seen = [event for event in slices if event["ts"] + event["dur"] <= stop]
        assert kept([*seen, {**last, "dur": stop - last["ts"]}]) == [True] * 4 + [False], share
    assert kept(slices) == [True] * 5


def test_a_call_that_was_open_when_the_recording_stopped_is_missing() -> None:
    names = tuple(f"layer{number}" for number in range(40))
    before = training(0, 0, names=names)
    cut = training(1, 400, names=(*names[:19], "inside_layer19"))
    assert kept([*before, *cut]) == [True, False]


def test_steps_without_operators_are_all_complete() -> None:
    events = [step(0, 0, 100), annotation("forward", 5, 50), step(1, 100, 5)]
    assert kept(events) == [True, True]


def test_each_process_has_its_own_last_step() -> None:
    other = [{**event, "pid": "2000"} for event in whole(3)]
    assert kept([*whole(3), step(3, 300, 1), *other]) == [*[True] * 3, False, *[True] * 3]
