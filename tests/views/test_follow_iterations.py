"""Every view follows what cuts the recording: the ends of a range that is there once per step, over
the same interval, give the tables of the steps; those of another operator give others."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.helpers.recorded import Sample, recorded, side_table
from tests.helpers.traces import (
    Event,
    annotation,
    call,
    frame,
    kernel,
    memcpy,
    memory,
    op,
    step,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import pair_result, run_view, trace_view
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, TableQuery
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec

STEPS = 3
GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _events(slower: int = 0) -> list[Event]:
    """Steps of 200 µs: data loading, a module with a product, a copy, a collective, an optimizer
    with two additions; the second one's product lasts longer."""
    events: list[Event] = []
    for number in range(STEPS):
        at, corr = 200 * number, 10 * number + 1
        events += [
            step(number, at, 200),
            annotation("train_step", at, 200),
            op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 2, 20),
            frame("nn.Module: Net_0", at + 30, 60, python_id=number, module=0),
            op("Torch-Compiled Region: 0/0", at + 98, 24),
            op("aten::mm", at + 35, 30, ext=corr, shape=[[2, 3]]),
            call("cudaLaunchKernel", at + 40, 5, corr=corr, ext=corr),
            kernel(GEMM, at + 50, 40 + 20 * (number == 1) + slower, corr=corr, ext=corr),
            memory(at + 45, 512, address=number, allocated=512, reserved=1024),
            frame("nn.Module: Head_0", at + 95, 60, python_id=100 + number, module=0),
            annotation("nccl:all_reduce", at + 100, 20),
            call("cudaLaunchKernel", at + 105, 5, corr=corr + 1),
            kernel(REDUCE, at + 120, 20, corr=corr + 1, stream=9),
            op("aten::copy_", at + 130, 20, shape=[[2]]),
            call("cudaMemcpyAsync", at + 135, 5, corr=corr + 2),
            memcpy(at + 145, 10, corr=corr + 2),
            memory(at + 160, -512, address=number, allocated=0, reserved=1024),
            op("Optimizer.step#SGD.step", at + 165, 20),
            call("cudaLaunchKernel", at + 166, 5, corr=corr + 3),
            kernel(ADD, at + 172, 2, corr=corr + 3),
            call("cudaLaunchKernel", at + 172, 5, corr=corr + 4),
            kernel(ADD, at + 178, 2, corr=corr + 4),
        ]
    return events


def _trace(slower: int = 0) -> Trace:
    """With samples of every 20 µs, and what a file tells of the whole recording."""
    samples = [Sample("host", "CPU user", "%", at, at % 70) for at in range(0, 200 * STEPS, 20)]
    flops = [{"level": "operator", "name": "mm", "flops": 2e9}]
    side = [side_table("recorded_flops", "flops_0.txt", flops)]
    return recorded(_events(slower), samples=samples, side=side)


@pytest.fixture(scope="module")
def usual() -> Trace:
    return _trace()


@pytest.fixture(scope="module")
def other() -> Trace:
    return _trace(slower=9)


def _asked(
    spec: ViewSpec, usual: Trace, other: Trace, by: str | None, steps: str | None = None
) -> View:
    selection = Selection(steps=steps, iterations_by=by)
    if spec.scope == "trace":
        return trace_view(spec, usual, selection)
    if spec.scope == "run":
        return run_view(spec, {"a": usual, "b": other}, selection)
    subject = Subject("run", "a", "1", selection)
    return pair_result(spec, (subject, other), (subject, usual), TableQuery()).view


def _frames(view: View) -> dict[str, pl.DataFrame]:
    return {name: complete(table).frame for name, table in view.tables.items()}


def _codes(view: View) -> list[str]:
    return [note.code for note in view.notes if note.code not in ("iterations_cut", "no_steps")]


OTHERS = ("snapshot", "hang", "experts", "roles")
"""What this recording has none of: events of an allocator, dumps, experts, several roles."""
SPECS = [spec for spec in all_views().values() if spec.name not in OTHERS]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.parametrize("by", ["name:train_step", "name:ProfilerStep#*"])
def test_a_range_over_the_same_interval_gives_the_same(
    spec: ViewSpec, by: str, usual: Trace, other: Trace
) -> None:
    steps, cut = _asked(spec, usual, other, None), _asked(spec, usual, other, by)
    expected, result = _frames(steps), _frames(cut)
    assert expected.keys() == result.keys()
    for name in expected:
        assert result[name].equals(expected[name]), name
    assert cut.series == steps.series
    assert cut.facts == steps.facts
    assert _codes(cut) == _codes(steps)
    assert "iterations_cut" in {note.code for note in cut.notes}
    assert "iterations_cut" not in {note.code for note in steps.notes}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_another_key_node_gives_other_iterations(
    spec: ViewSpec, usual: Trace, other: Trace
) -> None:
    """The first ends with the first product: what the step does behind it is not in it."""
    steps = _asked(spec, usual, other, None, "0")
    cut = _asked(spec, usual, other, "name:aten::mm", "0")
    calls: Any = next(note for note in cut.notes if note.code == "iterations_cut").evidence["calls"]
    assert calls == STEPS or set(calls.values()) == {STEPS}
    expected, result = _frames(steps), _frames(cut)
    assert any(not result[name].equals(expected[name]) for name in expected)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_steps_of_a_selection_are_those_of_the_cut(
    spec: ViewSpec, usual: Trace, other: Trace
) -> None:
    if spec.scope != "trace":
        return
    chosen = Selection(steps="3", iterations_by="name:aten::mm")
    with pytest.raises((RequestError, ValueError), match="no step '3'"):
        trace_view(spec, usual, Selection(steps="3"))
    assert trace_view(spec, usual, chosen).tables
