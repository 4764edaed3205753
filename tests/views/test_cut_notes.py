"""What is said of a recording that was cut."""

from __future__ import annotations

from tests.helpers.traces import annotation, op, step, trace
from torch_tb_profiler.analysis.steps.iterations.key_nodes import NOTHING_REPEATS
from torch_tb_profiler.analysis.steps.iterations.ranks import split_ranks
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.views.cut_notes import cut_notes, cut_notes_of_ranks, cut_notes_of_sides


def test_own_steps_need_no_word() -> None:
    recorded = trace([step(0, 0, 50), op("aten::mm", 5, 5)])
    assert cut_notes(recorded) == ()
    assert cut_notes(split_iterations(recorded, "auto")) == ()
    assert cut_notes_of_ranks({"a": recorded, "b": recorded}) == ()


def test_what_cut_and_how_often_it_was_called() -> None:
    recorded = trace([op("aten::mm", 10, 5), op("aten::add", 20, 5)])
    (note,) = cut_notes(split_iterations(recorded, "name:aten::mm"))
    assert note.text.startswith("Iterations split at each end of 'aten::mm', called once: 2")
    assert note.evidence == {
        "iterations_by": "name:aten::mm",
        "calls": 1,
        "iterations": 2,
        "is_default": False,
    }
    (note,) = cut_notes(split_iterations(recorded, "start:aten::add"))
    assert "each start of 'aten::add'" in note.text
    sides = cut_notes_of_sides(recorded, split_iterations(recorded, "name:aten::mm"))
    assert [side.text.partition(":")[0] for side in sides] == ["Candidate"]


def test_what_was_chosen_has_its_reason() -> None:
    train = [annotation("train", 100 * number, 90) for number in range(6)]
    (note,) = cut_notes(split_iterations(trace(train), "auto"))
    assert "called 6 times" in note.text
    assert "Chosen as the best candidate: called every 100 µs (± 0 %)." in note.text
    (note,) = cut_notes(split_iterations(trace([op("aten::mm", 0, 5)]), "auto"))
    assert note.text == f"No iterations detected. {NOTHING_REPEATS}"


def test_steps_that_nobody_recorded_and_nobody_asked_for_are_said() -> None:
    train = [op("Optimizer.step#SGD.step", 100 * number, 90) for number in range(6)]
    split = split_iterations(trace(train), None)
    (note,) = cut_notes(split)
    assert note.text.startswith("The recording names no steps. Iterations split at each end of ")
    assert note.text.endswith("Chosen because a training step ends with the step of its optimizer.")
    assert note.evidence["is_default"] is True
    assert cut_notes(split_iterations(trace(train), "steps")) == ()


def test_ranks_that_call_it_equally_often_and_those_that_do_not() -> None:
    two = trace([op("aten::mm", 10, 5), op("aten::mm", 30, 5), op("aten::add", 50, 5)])
    one = trace([op("aten::mm", 10, 5), op("aten::add", 50, 5)])
    (note,) = cut_notes_of_ranks(split_ranks({"a": two, "b": two}, "name:aten::mm"))
    assert "2 calls on each rank" in note.text
    (note,) = cut_notes_of_ranks(split_ranks({"a": two, "b": one}, "name:aten::mm"))
    assert "1 to 2 times: each end on any rank splits all" in note.text
    assert note.evidence["calls"] == {"a": 2, "b": 1}
