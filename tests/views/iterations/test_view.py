"""The view of iterations: its figures, key nodes, the steady range and what is bad input."""

from __future__ import annotations

import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.views.iterations.notes import NO_VARIATION, NONE_STEADIER, NOT_NEEDED
from torch_tb_profiler.views.iterations.view import NO_EVENTS, SPEC, STEPS_IN_FILES, iterations_view
from torch_tb_profiler.views.schema import Fact, View


def _view(events: list[Event], steps: str | None = None, iterations_by: str | None = None) -> View:
    chosen = Selection(steps=steps, iterations_by=iterations_by)
    return iterations_view(split_iterations(trace(events), chosen.iterations_by), chosen)


def _facts(view: View) -> dict[str, Fact]:
    return {fact.key: fact for fact in view.facts}


def _steps(*lengths: int) -> list[Event]:
    events: list[Event] = []
    start = 0
    for number, length in enumerate(lengths):
        events += [step(number, start, length), op("aten::mm", start + 2, 5)]
        start += length
    return events


def test_the_steady_range_is_proposed_with_its_evidence() -> None:
    view = _view(_steps(500, 100, 100, 100, 100))
    facts = _facts(view)
    assert (facts["steady_first"].value, facts["steady_last"].value) == ("1", "4")
    assert facts["steady_variation_pct"].value == 0
    (note,) = view.notes
    assert note.code == "steady_range"
    assert note.evidence["steps"] == "1:4"
    assert "iterations 1–4, which vary by 0.0 %" in note.text


@pytest.mark.parametrize(
    ("lengths", "reason"),
    [((100, 100, 100), NOT_NEEDED), ((10, 90, 10, 90), NONE_STEADIER)],
)
def test_why_no_range_is_proposed(lengths: tuple[int, ...], reason: str) -> None:
    view = _view(_steps(*lengths))
    assert _facts(view)["steady_first"].reason == reason
    assert not any(note.code == "steady_range" for note in view.notes)


def test_one_iteration_has_no_variation() -> None:
    facts = _facts(_view(_steps(100)))
    assert facts["iteration_variation_pct"].reason == NO_VARIATION
    assert facts["iterations_total"].value == 1


def test_key_nodes_of_the_recording_whatever_cuts_it() -> None:
    by_steps = _view(_steps(100, 100, 100)).tables["key_nodes"].frame
    by_name = _view(_steps(100, 100, 100), iterations_by="name:aten::mm").tables["key_nodes"].frame
    assert by_steps.equals(by_name)
    assert by_steps.select("name", "kind", "calls", "first_start_us").rows() == [
        ("ProfilerStep#*", "step", 3, 0.0),
        ("aten::mm", "operator", 3, 2.0),
    ]


def test_an_empty_selection_has_every_iteration_and_no_figure() -> None:
    recorded = trace(_steps(100, 100))
    view = iterations_view(recorded, Selection(start_ns=10**9, end_ns=2 * 10**9))
    assert view.tables["iterations"].frame["selected"].to_list() == [False, False]
    assert _facts(view)["iteration_mean_us"].reason is not None
    with pytest.raises(SelectionError):
        iterations_view(recorded, Selection(steps="77"))


def test_steps_of_another_cut_are_numbered_from_0() -> None:
    view = _view(_steps(100, 100), iterations_by="name:aten::mm", steps="1:2")
    assert view.tables["iterations"].frame.select("iteration", "selected").rows() == [
        (0, False),
        (1, True),
        (2, True),
    ]


def test_without_events_it_says_where_files_tell_of_steps() -> None:
    told = side_table("recorded_step_trace", "x.csv", [{"step": "1", "total_us": 9}])
    assert SPEC.missing(recorded([], side=[told])) == f"{NO_EVENTS} {STEPS_IN_FILES}"
    assert SPEC.missing(recorded([])) == NO_EVENTS
    assert SPEC.missing(trace(_steps(100))) is None
