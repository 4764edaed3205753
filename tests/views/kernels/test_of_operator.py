"""The kernels launched inside one operator."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.operators.identity import operator_identity
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.view import kernels


def a_step(number: int) -> list[Event]:
    at = 1000 * number
    return [
        step(number, at, 900),
        op("aten::linear", at + 10, 60),
        op("aten::addmm", at + 20, 40),
        call("cudaLaunchKernel", at + 30, 10, corr=3 * number),
        kernel("gemm", at + 100, 20, corr=3 * number),
        op("aten::linear", at + 200, 60),
        call("cudaLaunchKernel", at + 210, 10, corr=3 * number + 1),
        kernel("bias", at + 300, 5, corr=3 * number + 1),
        call("cudaLaunchKernel", at + 400, 10, corr=3 * number + 2),
        kernel("outside", at + 500, 5, corr=3 * number + 2),
    ]


@pytest.fixture
def recorded() -> Trace:
    return trace([*a_step(1), *a_step(2)])


def names(recorded: Trace, path: str, steps: str | None = None) -> list[tuple[str, int]]:
    identity = operator_identity(recorded)
    operator_id = identity.id_of(identity.paths(range(identity.count)).index(path))
    view = kernels(recorded, Selection(steps=steps), operator_id=operator_id)
    assert {fact.key: fact.value for fact in view.facts}["kernel_calls"] == sum(
        view.tables["kernels"].frame["calls"]
    )
    return view.tables["kernels"].frame.select("name", "calls").rows()


def test_kernels_inside_an_operator_at_its_place(recorded: Trace) -> None:
    assert names(recorded, "/aten::linear") == [("gemm", 2)]
    assert names(recorded, "/aten::linear/aten::addmm") == [("gemm", 2)]
    assert names(recorded, "/aten::linear(2)") == [("bias", 2)]
    assert names(recorded, "/aten::linear(2)", steps="2") == [("bias", 1)]


def test_an_operator_that_is_not_there_is_an_error(recorded: Trace) -> None:
    with pytest.raises(SelectionError, match="no operator 'convolution-forward-1'"):
        kernels(recorded, Selection(), operator_id="convolution-forward-1")


def tree(recorded: Trace, **chosen: Any) -> list[tuple[str | None, str, str, int, float]]:
    """Name of the row above, name, kind, calls and total of each row."""
    view = kernels(recorded, Selection(), **chosen)
    rows = view.tables["operator_work"].frame.to_dicts()
    names = {row["row"]: row["name"] for row in rows} | {None: None}
    return [(names[r["parent"]], r["name"], r["kind"], r["calls"], r["total_us"]) for r in rows]


def copying() -> Trace:
    """A conversion that copies its input, and computes in a call inside it."""
    return trace(
        [
            op("aten::to", 0, 100),
            call("cudaMemcpyAsync", 5, 5, corr=1),
            memcpy(20, 40, corr=1),
            op("aten::fill_", 30, 40),
            call("cudaLaunchKernel", 35, 5, corr=2),
            kernel("fill", 70, 7, corr=2),
            call("cudaLaunchKernel", 45, 5, corr=3),
            kernel("fill", 80, 3, corr=3),
            op("aten::to", 200, 20),
            op("aten::fill_", 300, 40),
            call("cudaLaunchKernel", 310, 5, corr=4),
            kernel("fill", 330, 100, corr=4),
        ]
    )


def test_what_an_operator_launched_itself_and_below_each_inner_one_its_own() -> None:
    assert tree(copying(), operator="aten::to") == [
        (None, "Memcpy HtoD", "copy", 1, 40),
        (None, "aten::fill_", "operator", 2, 10),
        ("aten::fill_", "fill", "kernel", 2, 10),
    ]
    table = kernels(copying(), Selection(), operator="aten::to").tables["operator_work"]
    assert table.frame["total_pct"].to_list() == [80, 20, 20]
    assert table.frame["tensor_core_used"].to_list()[:2] == [None, None]
    # Every call of the name counts, inside another operator or not.
    assert tree(copying(), operator="aten::fill_") == [(None, "fill", "kernel", 3, 110)]


def test_the_other_tables_are_of_the_operator_too() -> None:
    view = kernels(copying(), Selection(), operator="aten::to")
    assert view.tables["kernels"].frame["calls"].to_list() == [2]
    assert kernels(copying(), Selection()).tables["operator_work"].frame.is_empty()


def test_an_operator_by_its_place_has_its_device_work(recorded: Trace) -> None:
    identity = operator_identity(recorded)
    operator_id = identity.id_of(identity.paths(range(identity.count)).index("/aten::linear"))
    assert tree(recorded, operator_id=operator_id) == [
        (None, "aten::addmm", "operator", 2, 40),
        ("aten::addmm", "gemm", "kernel", 2, 40),
    ]


def test_a_name_that_no_operator_has_is_an_error(recorded: Trace) -> None:
    with pytest.raises(SelectionError, match="no operator is called 'aten::mm'"):
        kernels(recorded, Selection(), operator="aten::mm")


@given(recordings())
def test_random_traces_agree_with_a_walk(recording: Recording) -> None:
    reading = reference.read(recording.events)
    recorded = trace(recording.events)
    known = {id(node): node for node in reading.operators}
    for name in {node.name for node in reading.operators}:
        expected: Counter[tuple[str | None, str]] = Counter()
        for piece in reading.device:
            around, node = [], piece["owner"]
            while node is not None:
                around += [node.name] if id(node) in known else []
                node = node.parent
            if name in around:
                launching = None if around[0] == name else around[0]
                expected[launching, piece["name"]] += reference.ns(piece["dur"])
        got = {
            (above, each): round(us * 1000)
            for above, each, kind, _, us in tree(recorded, operator=name)
            if kind != "operator"
        }
        assert got == dict(expected)
