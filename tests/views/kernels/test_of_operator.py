"""The kernels launched inside one operator."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, call, kernel, op, step, trace
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
