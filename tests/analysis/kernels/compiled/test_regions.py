"""Names and sums of compiled code."""

from __future__ import annotations

import pytest

from tests.helpers.traces import call, kernel, op, trace
from torch_tb_profiler.analysis.kernels.compiled.regions import (
    BACKWARD,
    FORWARD,
    GRAPH,
    REGION,
    break_location,
    compiled_calls,
    compiled_kind,
    region_id,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Torch-Compiled Region", REGION),
        ("Torch-Compiled Region: 0/0", REGION),
        ("## Call CompiledFxGraph fal4 ##", GRAPH),
        ("CompiledFunction", FORWARD),
        ("CompiledFunctionBackward", BACKWARD),
        ("autograd::engine::evaluate_function: CompiledFunctionBackward", -1),
        ("my Torch-Compiled Region", -1),
        ("aten::mm", -1),
    ],
)
def test_names(name: str, kind: int) -> None:
    assert compiled_kind(name) == kind


def test_ids_of_regions_and_locations_of_breaks() -> None:
    assert region_id("Torch-Compiled Region: 12/3") == "12/3"
    assert region_id("Torch-Compiled Region") is None
    name = "/home/u/model.py(30): torch_dynamo_resume_in_forward_at_30"
    assert break_location(name) == ("forward", 30)
    assert break_location("torch_dynamo_resume_in_x") is None


def test_rows_of_one_kind_add_up() -> None:
    """A region that another one calls after a graph break; each launches a kernel."""
    calls = compiled_calls(
        trace(
            [
                op("Torch-Compiled Region: 0/0", 0, 50),
                op("CompiledFunction", 2, 10),
                call("cuLaunchKernel", 3, 1, corr=1),
                kernel("a", 10, 5, corr=1),
                op("Torch-Compiled Region: 1/0", 20, 20),
                call("cuLaunchKernel", 23, 1, corr=2),
                kernel("b", 30, 7, corr=2),
                kernel("outside", 60, 9, corr=3),
            ]
        )
    )
    assert calls.kind.tolist() == [REGION, FORWARD, REGION]
    assert calls.self_ns.tolist() == [30_000, 10_000, 20_000]
    assert calls.device_ns.tolist() == [5_000, 5_000, 7_000]
    assert calls.kernels.tolist() == [1, 1, 1]
    assert calls.inside.tolist() == [-1, -1, calls.slice[0]]
