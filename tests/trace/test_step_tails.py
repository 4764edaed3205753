"""Steps the recording ended in, of recordings without device work; see docs/metrics.md#steps."""

from __future__ import annotations

from tests.helpers.traces import Event, annotation, op, step, trace

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


def test_a_last_step_longer_than_another_is_a_step() -> None:
    assert kept([*whole(2), *training(2, 200, us_per_op=30, names=TRAINING[:3])])[-1]


def test_a_call_that_was_open_when_the_recording_stopped_is_missing() -> None:
    names = tuple(f"layer{number}" for number in range(40))
    before = training(0, 0, names=names)
    cut = training(1, 400, names=(*names[:19], "inside_layer19"))
    assert kept([*before, *cut]) == [True, False]


def test_steps_without_operators_are_all_kept() -> None:
    events = [step(0, 0, 100), annotation("forward", 5, 50), step(1, 100, 5)]
    assert kept(events) == [True, True]


def test_each_process_has_its_own_last_step() -> None:
    other = [{**event, "pid": "2000"} for event in whole(3)]
    assert kept([*whole(3), step(3, 300, 1), *other]) == [*[True] * 3, False, *[True] * 3]
