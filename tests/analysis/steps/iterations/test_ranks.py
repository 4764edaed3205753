"""Recordings of several ranks are cut at the same moments of one clock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import Event, annotation, op, step, trace
from torch_tb_profiler.analysis.steps.iterations.ranks import split_ranks
from torch_tb_profiler.analysis.steps.iterations.split import UnknownKeyNodeError, split_of
from torch_tb_profiler.trace.model import Trace

US = 1000


def _rank(ends: list[int], *, ahead: int = 0) -> Trace:
    """``embed`` of 5 µs ends at these times; a collective ends at 90, 190 … on every rank. The
    clock of the rank is ``ahead``."""
    events: list[Event] = [op("aten::mm", ahead, 400)]
    events += [op("embed", ahead + end - 5, 5, tid=2) for end in ends]
    events += [
        annotation("gloo:all_reduce", ahead + 80 + 100 * number, 10, tid=3) for number in range(4)
    ]
    return trace(events)


def _edges(made: Trace) -> list[int]:
    ends: list[int] = (made.steps["host_end_ns"].to_numpy()[:-1] // US).tolist()
    return ends


def test_equally_many_calls_cut_where_the_last_rank_has_reached_each() -> None:
    traces = {"a": _rank([20, 120, 250]), "b": _rank([30, 110, 260])}
    made = split_ranks(traces, "name:embed")
    assert _edges(made["a"]) == _edges(made["b"]) == [30, 120, 260]
    assert split_of(made["b"]).calls == 3


def test_else_every_call_on_any_rank_cuts_all() -> None:
    made = split_ranks({"a": _rank([20, 120]), "b": _rank([30])}, "name:embed")
    assert _edges(made["a"]) == _edges(made["b"]) == [20, 30, 120]


def test_a_rank_that_never_calls_it_is_cut_with_the_others() -> None:
    made = split_ranks({"a": _rank([20, 120]), "b": _rank([])}, "name:embed")
    assert _edges(made["b"]) == [20, 120]
    with pytest.raises(UnknownKeyNodeError) as error:
        split_ranks(made, "name:nothing")
    assert "embed" in error.value.known


def test_clocks_are_aligned_by_collectives() -> None:
    """The second rank's clock is 50 µs ahead: its calls are before those of the first."""
    made = split_ranks({"a": _rank([20, 120]), "b": _rank([18, 130], ahead=50)}, "start:embed")
    assert _edges(made["a"]) == [15, 125]
    assert _edges(made["b"]) == [65, 175]


def test_a_cut_before_a_recording_began_keeps_the_numbers() -> None:
    late = trace([op("aten::mm", 200, 100), op("embed", 250, 10, tid=2)])
    made = split_ranks({"a": _rank([20, 120]), "b": late}, "name:embed")
    assert made["a"].steps["name"].to_list() == ["0", "1", "2", "3"]
    assert made["b"].steps["name"].to_list() == ["2", "3"]


def test_one_rank_alone_and_own_steps_are_cut_as_ever() -> None:
    recorded = trace([step(number, 100 * number, 100) for number in range(3)])
    assert split_ranks({"a": recorded}, None)["a"] is recorded
    assert split_ranks({"a": recorded, "b": recorded}, "auto")["a"] is recorded
    alone = split_ranks({"a": _rank([20, 120])}, "name:embed")["a"]
    assert _edges(alone) == [20, 120]


def test_auto_takes_one_key_node_for_all() -> None:
    repeated = [annotation("train", 100 * number, 90) for number in range(6)]
    traces = {"a": trace(repeated), "b": trace(repeated[:5])}
    made = split_ranks(traces, "auto")
    assert {split_of(each).by.name for each in made.values()} == {"train"}
    assert np.array_equal(_edges(made["a"])[:4], _edges(made["b"])[:4])


def test_a_cut_is_kept() -> None:
    traces = {"a": _rank([20, 120]), "b": _rank([30, 130])}
    assert split_ranks(traces, "name:embed")["b"] is split_ranks(traces, "name:embed")["b"]


def test_by_default_a_clear_key_node_of_one_rank_cuts_all_that_have_no_steps() -> None:
    trained = trace([op("Optimizer.step#SGD.step", 100 * n, 90) for n in range(4)])
    other = trace([op("aten::mm", 0, 350)])
    split = split_ranks({"a": trained, "b": other}, None)
    assert [each.steps.height for each in split.values()] == [4, 4]
    stepped = trace([step(1, 0, 400), op("Optimizer.step#SGD.step", 10, 90)])
    assert split_ranks({"a": trained, "b": stepped}, None) == {"a": trained, "b": stepped}
