"""Compilations against the program that was recorded (``samples/record/compiled.py``): two halves
around a graph break, compiled for a batch of 4 and again for others; and hand-made rows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.traces import Event, annotation, frame, op, step, trace
from torch_tb_profiler.analysis.kernels.compiled.compilations import PARTS, compilations
from torch_tb_profiler.analysis.kernels.compiled.recompilations_by_step import recompilations
from torch_tb_profiler.analysis.kernels.compiled.regions import REGION, compiled_calls
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

DATA = Path(__file__).parents[3] / "data" / "compiled" / "trace.json.gz"


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return open_trace_file(open_location(str(DATA)), None, cache=None).trace


def test_the_recorded_program(recorded: Trace) -> None:
    result = compilations(recorded)
    assert result.region == ["0/0", "1/0", "0/1", "1/1"]
    assert result.is_again.tolist() == [False, False, True, True]
    assert not result.is_backward.any()
    assert result.attempts.tolist() == [2, 1, 2, 1]  # the break makes Dynamo begin again
    assert result.graphs.tolist() == result.generated.tolist() == [1, 1, 1, 1]
    whole = recorded.slices["dur_ns"].to_numpy()[result.slice]
    assert (result.part_ns > 0).all()
    assert (result.part_ns.sum(axis=0) < whole).all()


def test_steps_of_the_recorded_program(recorded: Trace) -> None:
    steps = recompilations(recorded)
    assert steps.compilations.tolist() == [2, 0, 2, 0]
    assert steps.again.tolist() == [0, 0, 2, 0]
    assert (steps.compiling_ns > 0).tolist() == [True, False, True, False]


def test_regions_of_the_recorded_program(recorded: Trace) -> None:
    calls = compiled_calls(recorded)
    regions = calls.kind == REGION
    assert regions.sum() == 8
    assert (calls.inside[regions] >= 0).sum() == 4  # each call of the second half
    table = open_trace(DATA).view("compiled").tables["regions"]
    rows = table.filter(table["kind"] == "region").sort("name")
    assert rows.select("name", "calls", "resumed").rows() == [
        (f"Torch-Compiled Region: {frame}/{times}", 2, 2 * frame)
        for frame in (0, 1)
        for times in (0, 1)
    ]


def _compile(at: float, *inside: Event, dur: float = 90) -> list[Event]:
    return [op("_compile.compile_inner (dynamo_timed)", at, dur), *inside]


def test_parts_are_without_parts_inside() -> None:
    events = _compile(
        10,
        op("bytecode_tracing (dynamo_timed)", 12, 80),
        op("OutputGraph.call_user_compiler (dynamo_timed)", 20, 60),
        op("create_aot_dispatcher_function (dynamo_timed)", 22, 50),
        op("compile_fx_inner (dynamo_timed)", 30, 20),
        op("async_compile.wait (dynamo_timed)", 35, 5),
        op("compile_fx_inner (dynamo_timed)", 55, 10),
        op("fx_codegen_and_compile (dynamo_timed)", 56, 2),
    )
    result = compilations(trace(events))
    assert dict(zip(PARTS, result.part_ns[:, 0].tolist(), strict=True)) == {
        "tracing": 20_000,
        "aot": 30_000,
        "inductor": 25_000,
        "code": 5_000,
        "guards": 0,
    }
    assert (result.graphs.tolist(), result.generated.tolist()) == ([2], [1])


def test_without_ids_the_region_called_next_on_the_thread_counts() -> None:
    result = compilations(
        trace(
            [
                *_compile(10, dur=20),
                op("Torch-Compiled Region: 5/0", 31, 1, tid=2),
                op("Torch-Compiled Region: 0/2", 40, 5),
                op("Torch-Compiled Region: 0/1", 50, 5),
                *_compile(60, dur=5),
            ]
        )
    )
    assert result.region == ["0/2", None]
    assert result.is_again.tolist() == [True, False]


def test_compilations_inside_others_and_of_other_threads() -> None:
    data = "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=3/1"
    result = compilations(
        trace(
            [
                step(0, 0, 100),
                op("entire_frame_compile", 10, 50),
                annotation(data, 11, 1),
                op("_compile.compile_inner (dynamo_timed)", 12, 40),
                op("backward._backward_impl (dynamo_timed)", 20, 10, tid=2),
            ]
        )
    )
    assert result.region == ["3/1", None]
    assert result.is_backward.tolist() == [False, True]


def test_nothing_compiled() -> None:
    assert len(compilations(trace([op("aten::mm", 0, 5)])).slice) == 0


def test_frames_of_python_count_where_nothing_is_timed() -> None:
    compiler = "torch/_dynamo/convert_frame.py(911): compile_inner"
    framed = compilations(trace([frame(compiler, 0, 90), frame(compiler, 10, 50)]))
    assert len(framed.slice) == 1
    timed = _compile(10, op("compile_fx_inner (dynamo_timed)", 20, 30), dur=70)
    both = compilations(trace([frame(compiler, 0, 90), *timed]))
    assert both.graphs.tolist() == [1]
