"""One quantity shown in two places is equal in both, over all recordings and views."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from tests.consistency.answers import Answers
from tests.consistency.pairs import SHOWN, Shown
from tests.consistency.recorded import RUNS, shown_of, trace_of
from tests.consistency.recordings import FILES, opened
from tests.helpers.traces import trace as built
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

SAMPLES = ("kineto", "cpu_resnet", "cpu_ddp4", "dlrm", "h100")


def selections(trace: Trace) -> dict[str, Selection]:
    """Everything; the last step of several; the middle half of the time."""
    names = trace.steps.filter("kept")["name"].to_list()
    start, end = trace.meta.start_ns, trace.meta.end_ns
    quarter = (end - start) // 4
    chosen = {"everything": Selection()}
    if len(names) > 1:
        chosen["a step"] = Selection(steps=names[-1])
    chosen["a time range"] = Selection(start_ns=start + quarter, end_ns=end - quarter)
    return chosen


def differences(shown: Shown, answers: Answers) -> list[str]:
    """What two places say differently, in words."""
    found = {place: quantity(answers) for place, quantity in shown.places.items()}
    said = {place: value for place, value in found.items() if value is not None}
    first = next(iter(said), None)
    return [
        f"{shown.what}: {first} says {said[first]}, {place} {value}"
        for place, value in said.items()
        if first is not None and not agree(said[first], value)
    ]


def agree(one: object, other: object) -> bool:
    """Whether two places say the same, but for rounding of floats."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            agree(value, other[name]) for name, value in one.items()
        )
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.parametrize("name", FILES)
def test_a_quantity_is_the_same_wherever_it_is_shown(name: str) -> None:
    trace = opened(name)
    found = []
    for part, selection in selections(trace).items():
        answers = Answers(trace, selection)
        for shown in SHOWN:
            if selection.is_everything or shown.of_selections:
                found += [f"{part}: {text}" for text in differences(shown, answers)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", RUNS)
def test_so_it_is_of_recorded_runs(name: str) -> None:
    trace, found = trace_of(name), []
    own = shown_of(name)
    for part, selection in selections(trace).items():
        answers = Answers(trace, selection)
        for shown in [*SHOWN, *own]:
            if selection.is_everything or shown.of_selections:
                found += [f"{part}: {text}" for text in differences(shown, answers)]
            if selection.is_everything and shown in own:
                assert all(place(answers) is not None for place in shown.places.values())
    assert not found, "\n".join(found)


@given(recordings())
def test_so_it_is_of_random_recordings(recording: Recording) -> None:
    trace = built(recording.events)
    for selection in (Selection(), recording.selection):
        answers = Answers(trace, selection)
        for shown in SHOWN:
            if shown.is_exact and (selection.is_everything or shown.of_selections):
                assert differences(shown, answers) == []


def test_each_quantity_is_said_in_two_places_of_some_sample() -> None:
    """A pair that no recording has is no check."""
    missing = {shown.what for shown in SHOWN}
    for name in FILES:
        if not name.startswith(SAMPLES) or not missing:
            continue
        answers = Answers(opened(name), Selection())
        for shown in SHOWN:
            if shown.what in missing:
                said = [value for place in shown.places.values() if (value := place(answers))]
                missing -= {shown.what} if len(said) > 1 else set()
    assert not missing
