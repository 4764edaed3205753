"""What a recording has, by events that have it and others that do not."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, call, frame, kernel, memory, op, step, trace
from torch_tb_profiler.analysis.recording.capabilities import has_capability

LAUNCHED = [call("cudaLaunchKernel", 10, 5, corr=1), kernel("gemm", 20, 5, corr=1)]


@pytest.mark.parametrize(
    ("capability", "events"),
    [
        ("operators", [op("aten::mm", 0, 10)]),
        ("kernels", [kernel("gemm", 0, 10)]),
        ("runtime", LAUNCHED),
        ("input_shapes", [op("aten::mm", 0, 10, shape=[[2, 3]])]),
        ("call_stacks", [op("aten::mm", 0, 10, stack="a.py(1): f")]),
        ("modules", [frame("nn.Module: Linear_0", 0, 10, module=0)]),
        ("memory", [op("aten::mm", 0, 10), memory(5, 1024)]),
        ("steps", [step(1, 0, 100), op("aten::mm", 0, 10)]),
    ],
)
def test_what_events_bring_is_there_with_them_alone(capability: str, events: list[Event]) -> None:
    assert has_capability(trace(events), capability) is True
    assert has_capability(trace([op("aten::relu", 0, 10)]), capability) is (
        capability == "operators"
    )
    assert has_capability(trace([kernel("gemm", 0, 10)]), capability) is (capability == "kernels")


def test_of_others_nothing_is_known() -> None:
    assert has_capability(trace([op("aten::mm", 0, 10)]), "data_loading") is None
