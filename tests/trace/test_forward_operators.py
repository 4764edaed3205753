"""Backward nodes and their forward operators."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import Event, op, trace
from torch_tb_profiler.trace.model import Trace


def node(name: str, ts: float, number: int, tid: int = 1, forward_thread: int = 0) -> Event:
    args: dict[str, Any] = {"Sequence number": number, "Fwd thread id": forward_thread}
    return op(name, ts, 5, tid=tid, **args)


def forward_names(built: Trace) -> dict[str, str | None]:
    names = built.slices["name_code"]
    return {
        str(built.text(names[row["slice"]])): built.text(
            None if row["forward"] is None else names[row["forward"]]
        )
        for row in built.operators.rows(named=True)
        if row["forward_thread"]
    }


def test_the_last_operator_with_the_number_before_the_backward_node() -> None:
    events = [
        node("aten::t", 0, 7),
        node("aten::addmm", 10, 7),
        node("aten::relu", 20, 8),
        node("AddmmBackward0", 100, 7, tid=2, forward_thread=1),
        node("ReluBackward0", 90, 8, tid=2, forward_thread=1),
        node("aten::mm", 200, 7),
        node("NoForward", 110, 9, tid=2, forward_thread=1),
    ]
    assert forward_names(trace(events)) == {
        "AddmmBackward0": "aten::addmm",
        "ReluBackward0": "aten::relu",
        "NoForward": None,
    }


def two_threads() -> list[Event]:
    """Two forward threads that use the same numbers; thread 11 runs on tid 1, 12 on tid 2."""
    return [
        node("first", 0, 1, tid=1),
        node("second", 0, 1, tid=2),
        node("only here", 10, 2, tid=1),
        node("FirstBackward", 100, 1, tid=3, forward_thread=11),
        node("OnlyBackward", 110, 2, tid=3, forward_thread=11),
        node("SecondBackward", 120, 1, tid=3, forward_thread=12),
    ]


def test_a_forward_thread_is_the_track_that_has_its_numbers() -> None:
    names = forward_names(trace(two_threads()))
    assert (names["FirstBackward"], names["OnlyBackward"]) == ("first", "only here")


def test_flows_of_the_file_say_which_track_a_thread_is() -> None:
    where = {"pid": "1000", "cat": "fwdbwd", "name": "fwdbwd", "id": 1}
    flows = [{"ph": "s", "tid": 2, "ts": 0, **where}, {"ph": "f", "tid": 3, "ts": 120, **where}]
    assert forward_names(trace([*two_threads(), *flows]))["SecondBackward"] == "second"


def test_numbers_and_flows_that_are_all_equal_match_nothing() -> None:
    """Their pairs would be a million, and of a larger file fill the memory."""
    count = 1000
    homes = [node("aten::mm", i, 5, tid=10 + i) for i in range(count)]
    threads = [node("MmBackward0", 5000 + i, 5, tid=2, forward_thread=1 + i) for i in range(count)]
    where = {"pid": "1000", "cat": "fwdbwd", "name": "fwdbwd", "id": 1}
    starts = [{"ph": "s", "tid": 10 + i, "ts": i, **where} for i in range(count)]
    ends = [{"ph": "f", "tid": 2, "ts": 5000 + i, **where} for i in range(count)]
    built = trace([*homes, *threads, *starts, *ends])
    assert set(built.operators["forward"].to_list()) == {None}


def test_operators_without_numbers_have_no_forward() -> None:
    built = trace([op("aten::mm", 0, 5, shape=[[1, 2]])])
    assert built.operators["forward"].to_list() == [None]
    assert built.operators["sequence_number"].to_list() == [None]
    assert built.text(built.operators["input_shape_code"][0]) == "[[1, 2]]"
