"""Operators at their places, on worked traces and against naming one call at a time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, frame, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.identity import (
    MAX_PATH_CHARS,
    OperatorIdentity,
    operator_identity,
)
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.trace.model import Trace


def described(recorded: Trace) -> list[tuple[str, str | None, int]]:
    """Path, direction and number of calls of each operator."""
    identity = operator_identity(recorded)
    calls = np.bincount(identity.operator, minlength=identity.count).tolist()
    paths = identity.paths(range(identity.count))
    directions = [identity.direction_of(operator) for operator in range(identity.count)]
    return list(zip(paths, directions, calls, strict=True))


def paths_of(events: list[Event]) -> list[str]:
    return [path for path, _, _ in described(trace(events))]


def a_step(number: int, ts: int) -> list[Event]:
    return [
        step(number, ts, 100),
        op("aten::linear", ts + 10, 20),
        op("aten::mm", ts + 11, 5),
        op("aten::mm", ts + 20, 5),
        op("aten::linear", ts + 40, 20),
        op("aten::mm", ts + 41, 5),
    ]


def test_an_operator_of_each_step_is_one_operator_and_repeats_in_one_call_are_counted() -> None:
    assert described(trace([*a_step(1, 0), *a_step(2, 200), *a_step(3, 400)])) == [
        ("/aten::linear", None, 3),
        ("/aten::linear/aten::mm", None, 3),
        ("/aten::linear/aten::mm(2)", None, 3),
        ("/aten::linear(2)", None, 3),
        ("/aten::linear(2)/aten::mm", None, 3),
    ]


def test_a_range_around_all_steps_starts_counting_anew_in_each() -> None:
    events = [annotation("train", 0, 1000), *a_step(1, 10), *a_step(2, 200)]
    assert Counter(paths_of(events)) == Counter(
        [
            "/train/aten::linear",
            "/train/aten::linear/aten::mm",
            "/train/aten::linear/aten::mm(2)",
            "/train/aten::linear(2)",
            "/train/aten::linear(2)/aten::mm",
        ]
    )


def test_another_cut_starts_counting_anew() -> None:
    whole = trace([op("aten::mm", 0, 20), op("aten::mm", 100, 20)])
    assert described(whole) == [("/aten::mm", None, 1), ("/aten::mm(2)", None, 1)]
    halves = split_iterations(whole, "start:aten::mm")
    assert described(halves) == [("/aten::mm", None, 2)]
    assert operator_identity(halves).id_of(0) == operator_identity(whole).id_of(0)


def test_modules_are_the_place_also_where_an_operator_lies_between_them() -> None:
    events = [
        annotation("around all", 0, 200),
        frame("train.py(1): step", 0, 200, python_id=1),
        frame("nn.Module: Net_0", 10, 100, python_id=2, parent=1, module=1),
        annotation("inside a module", 12, 90),
        frame("nn.Module: Linear_0", 15, 20, python_id=3, parent=2, module=2),
        op("aten::linear", 20, 10),
        frame("nn.Module: Linear_0", 40, 20, python_id=4, parent=2, module=2),
        op("aten::linear", 45, 10),
        op("aten::relu", 70, 20),
        op("aten::clamp_min", 71, 5),
        op("Compiled", 80, 10),
        frame("nn.Module: Linear_1", 82, 5, python_id=5, parent=2, module=3),
        op("aten::linear", 83, 2),
    ]
    assert paths_of(events) == [
        "/around all/Net_0/Linear_0/aten::linear",
        "/around all/Net_0/Linear_0(2)/aten::linear",
        "/around all/Net_0/aten::relu",
        "/around all/Net_0/aten::relu/aten::clamp_min",
        "/around all/Net_0/aten::relu/Compiled",
        "/around all/Net_0/aten::relu/Compiled/Linear_1/aten::linear",
    ]


def a_training() -> list[Event]:
    """A forward operator whose backward node runs on another thread, and what is neither."""
    engine = "autograd::engine::evaluate_function: "
    number: dict[str, Any] = {"Sequence number": 7}
    relu: dict[str, Any] = {"Sequence number": 8}
    backward: dict[str, Any] = {"tid": 2, "Fwd thread id": 1}
    return [
        op("aten::rand", 0, 5),
        op("aten::linear", 10, 20),
        op("aten::addmm", 12, 10, **number),
        op("aten::view", 40, 5),
        op("aten::relu", 50, 5, **relu),
        op(f"{engine}ReluBackward0", 90, 5, **relu, **backward),
        op(f"{engine}AddmmBackward0", 100, 50, **number, **backward),
        op("AddmmBackward0", 105, 30, **number, **backward),
        op("aten::mm", 110, 10, tid=2),
        op(f"{engine}torch::autograd::AccumulateGrad", 160, 20, tid=2),
        op("torch::autograd::AccumulateGrad", 162, 10, tid=2),
        op("aten::_foreach_add_", 300, 20),
    ]


def test_a_backward_operator_has_the_path_of_its_forward_one() -> None:
    accumulate = "torch::autograd::AccumulateGrad"
    assert sorted(described(trace(a_training()))) == sorted(
        [
            ("/aten::rand", None, 1),
            ("/aten::linear", "forward", 1),
            ("/aten::linear/aten::addmm", "forward", 1),
            ("/aten::view", "forward", 1),
            ("/aten::relu", "forward", 1),
            ("/aten::relu", "backward", 1),
            ("/aten::linear/aten::addmm", "backward", 1),
            ("/aten::linear/aten::addmm/AddmmBackward0", "backward", 1),
            ("/aten::linear/aten::addmm/AddmmBackward0/aten::mm", "backward", 1),
            (
                f"/aten::linear/aten::addmm/autograd::engine::evaluate_function: {accumulate}",
                "backward",
                1,
            ),
            (
                f"/aten::linear/aten::addmm/autograd::engine::evaluate_function: {accumulate}"
                f"/{accumulate}",
                "backward",
                1,
            ),
            ("/aten::_foreach_add_", None, 1),
        ]
    )


def test_everything_in_a_backward_node_knows_the_forward_operator() -> None:
    recorded = trace(a_training())
    identity = operator_identity(recorded)
    names = [recorded.text(code) for code in identity.name_code.tolist()]
    forward = {
        name: names[of] if of >= 0 else None
        for name, of in zip(names, identity.forward.tolist(), strict=True)
    }
    assert forward["AddmmBackward0"] == forward["aten::mm"] == "aten::addmm"
    assert forward["aten::addmm"] is forward["aten::view"] is None


def test_types_and_ids() -> None:
    recorded = trace(a_training())
    identity = operator_identity(recorded)
    names = [recorded.text(code) for code in identity.name_code.tolist()]
    ids = {name: identity.id_of(operator) for operator, name in enumerate(names)}
    assert ids["aten::addmm"] == "matrix_product-forward-3"
    assert ids["aten::mm"].startswith("matrix_product-backward-")
    assert len(set(ids.values())) == identity.count


def test_names_of_the_engine_alone_tell_a_backward_pass() -> None:
    events = [op("MulBackward0", 0, 20), op("aten::mul", 5, 5), op("aten::mul_backward", 30, 5)]
    assert described(trace(events)) == [
        ("/MulBackward0", "backward", 1),
        ("/MulBackward0/aten::mul", "backward", 1),
        ("/aten::mul_backward", None, 1),
    ]


def test_the_whole_call_of_a_module_that_has_a_backward_is_forward() -> None:
    module = frame("nn.Module: Net_0", 8, 60, python_id=1, module=1)
    before = op("aten::arange", 9, 1)
    directions = {path: direction for path, direction, _ in described(trace(a_training()))}
    assert directions["/aten::rand"] is None
    inside = {path: told for path, told, _ in described(trace([module, before, *a_training()]))}
    assert inside["/Net_0/aten::arange"] == "forward"
    assert inside["/aten::rand"] is None


def test_outermost_ranges_of_one_interval_are_not_counted() -> None:
    events = [
        *(annotation("forward", 100 * i, 50) for i in range(3)),
        *(op("aten::mm", 100 * i + part, 5) for i in range(3) for part in (10, 20)),
        *(annotation(f"execute_{i}({i * 7})", 1000 + 100 * i, 50) for i in range(3)),
        *(op("aten::mm", 1010 + 100 * i, 5) for i in range(3)),
        *(annotation(f"part {i}", 2000 + 100 * i, 50) for i in range(2)),
        *(op("aten::mm", 2010 + 100 * i, 5) for i in range(2)),
    ]
    assert described(trace(events)) == [
        ("/forward/aten::mm", None, 3),
        ("/forward/aten::mm(2)", None, 3),
        ("/execute_*(*)/aten::mm", None, 3),
        ("/part 0/aten::mm", None, 1),
        ("/part 1/aten::mm", None, 1),
    ]


@pytest.mark.parametrize(
    "text", ["", "x", "-", "unknown-unknown-0", "a-b-²", "unknown-unknown-" + "9" * 40, "1"]
)
def test_an_id_of_nothing_finds_nothing(text: str) -> None:
    assert operator_identity(trace([op("custom::thing", 0, 5)])).find(text) is None


def test_a_trace_without_operators_has_none() -> None:
    assert operator_identity(trace([annotation("x", 0, 5)])).count == 0


def test_paths_of_a_deep_trace_are_short() -> None:
    count = 500
    deep = trace([op(f"level {i}", i, 10_000 - 2 * i) for i in range(count)])
    paths = operator_identity(deep).paths(range(count))
    assert max(map(len, paths)) < MAX_PATH_CHARS + 50
    assert len(set(paths)) == count


@examples(40)
@given(recordings())
def test_random_traces_agree_with_naming_one_call_at_a_time(recording: Recording) -> None:
    recorded = trace(recording.events)
    nodes = _Places(recorded, reference.read(recording.events))
    expected = {(node.thread[1], node.start, node.name): nodes.path(node) for node in nodes.calls}
    identity = operator_identity(recorded)
    paths = identity.paths(range(identity.count))
    assert len(set(paths)) == identity.count
    found = {}
    tids = recorded.tracks["tid"].to_list()
    for call, row in enumerate(call_tree(recorded).slice.tolist()):
        cells = recorded.slices.row(row, named=True)
        key = tids[cells["track"]], cells["start_ns"], recorded.text(cells["name_code"])
        found[key] = paths[identity.operator[call]]
    assert found == expected
    _ids_find_their_operator(identity)


def _ids_find_their_operator(identity: OperatorIdentity) -> None:
    for operator in range(identity.count):
        assert identity.find(identity.id_of(operator)) == operator


class _Places:
    """Paths by walking up from each call and looking at everything that stands before it."""

    def __init__(self, recorded: Trace, read: reference.Reading) -> None:
        self.calls = read.operators
        self.steps = list(recorded.steps.iter_rows(named=True))
        self.is_one_interval = all(row["slice"] is None for row in self.steps)
        self.nodes = [node for node in read.nodes if not node.name.startswith("ProfilerStep#")]
        self.known = {id(node) for node in self.nodes}

    def step(self, node: reference.Node) -> int | None:
        for number, row in enumerate(self.steps):
            if self.is_one_interval or row["host_start_ns"] <= node.start < row["host_end_ns"]:
                return number
        return None

    def around(self, node: reference.Node) -> reference.Node | None:
        above = node.parent
        while above is not None and id(above) not in self.known:  # a step, or a double
            above = above.parent
        return above

    def path(self, node: reference.Node) -> str:
        above = self.around(node)
        before = [
            other
            for other in self.nodes
            if other.name == node.name
            and self.around(other) is above
            and (above is not None or other.thread == node.thread)
            and self.step(other) == self.step(node)
            and other.start < node.start
        ]
        outermost_range = above is None and not node.in_tables
        ordinal = 1 if outermost_range and self.is_one_interval else len(before) + 1
        start = "" if above is None else self.path(above)
        return f"{start}/{node.name}" + (f"({ordinal})" if ordinal > 1 else "")
