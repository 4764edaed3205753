"""The view of phases: worked steps, parts that add up, and a phase as selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.steps.phases.test_segments import EVALUATES, training_step
from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.phases.evidence import PHASES_BY_NAME
from torch_tb_profiler.loading.queries.views import trace_view
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.view import SPEC as KERNELS
from torch_tb_profiler.views.operators.view import SPEC as OPERATORS
from torch_tb_profiler.views.overview.view import SPEC as OVERVIEW
from torch_tb_profiler.views.phases.view import SPEC, phases

PARTS = ("interval_us", "forward_us", "backward_us", "tail_us")


def rows(trace: Trace, table: str, **selection: Any) -> dict[str, dict[str, Any]]:
    frame = phases(trace, Selection(**selection)).tables[table].frame
    return {str(row[frame.columns[0]]): row for row in frame.rows(named=True)}


def on_gpu() -> list[t.Event]:
    """The step of ``training_step`` with its device work, 300 µs behind, and an all-reduce."""
    return [
        *training_step(),
        t.call("cudaMemcpyAsync", 115, 5, corr=1),
        t.memcpy(200, 100, corr=1),
        t.call("cudaLaunchKernel", 160, 5, corr=2),
        t.kernel("gemm", 400, 100, corr=2),
        t.call("cudaLaunchKernel", 420, 5, corr=3, tid=2),
        t.kernel("gemm_backward", 600, 200, corr=3),
        t.call("cudaLaunchKernel", 520, 5, corr=4, tid=2),
        t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 750, 150, corr=4, stream=9),
        t.call("cudaLaunchKernel", 720, 5, corr=5),
        t.kernel("sgd", 1100, 50, corr=5),
    ]


def test_phases_of_a_step() -> None:
    got = rows(t.trace(on_gpu()), "phases")
    keys = ("calls", "cpu_total_us", "cpu_pct", "gpu_total_us", "gpu_busy_us")
    assert {name: tuple(row[key] for key in keys) for name, row in got.items()} == {
        "step": (1, 1000, 100, 600, 550),
        "dataloader": (1, 90, 9, 0, 0),
        "forward": (1, 150, 15, 100, 100),
        "backward": (1, 260, 26, 350, 300),
        "optimizer": (2, 120, 12, 50, 50),
        "other": (None, 380, 38, 100, 100),
    }
    assert (got["optimizer"]["cpu_max_us"], got["optimizer"]["cpu_min_us"]) == (100, 20)
    assert (got["optimizer"]["gpu_max_us"], got["optimizer"]["gpu_min_us"]) == (50, 0)


def test_the_step_trace_follows_the_device() -> None:
    """Its parts begin and end with device work; the all-reduce is hidden behind the backward
    kernel at first and goes on in the tail."""
    trace = t.trace(on_gpu())
    view = phases(trace, Selection())
    (row,) = (row for name, row in rows(trace, "step_trace").items() if name == "1")
    assert {key: row[key] for key in row if key.endswith("_us")} == {
        "interval_us": 400,
        "forward_us": 200,
        "backward_us": 200,
        "communication_us": 50,
        "communication_hidden_us": 50,
        "communication_exposed_us": 0,
        "tail_us": 350,
        "total_us": 1150,
        "communication_tail_us": 100,
    }
    assert rows(trace, "step_trace")["mean"]["forward_us"] == 200
    assert row["forward_pct"] == pytest.approx(100 * 200 / 1150)
    assert next(f.value for f in view.facts if f.key == "step_trace_by") == "device work"
    assert [line.name for line in view.series["step_parts"].lines][:2] == ["Interval", "Forward"]


def test_without_device_work_the_step_trace_follows_the_host() -> None:
    got = rows(t.trace(training_step()), "step_trace")["1"]
    assert [got[key] for key in PARTS] == [150, 190, 260, 400]
    moved = rows(t.trace(training_step()), "step_trace", forward_start="aten::to")["1"]
    assert [moved[key] for key in PARTS] == [110, 230, 260, 400]


def test_what_nothing_tells_of_is_null_with_a_reason() -> None:
    trace = t.trace([t.step(1, 0, 100), t.frame("nn.Module: Net", 10, 50, python_id=1, module=0)])
    view = phases(trace, Selection())
    got = rows(trace, "phases")
    assert (got["forward"]["cpu_total_us"], got["other"]["cpu_total_us"]) == (50, 50)
    assert got["backward"]["cpu_total_us"] is None
    reasons = view.tables["phases"].null_reasons
    assert "dataloader, backward, optimizer" in reasons["cpu_total_us"]
    step = rows(trace, "step_trace")["1"]
    assert [step[key] for key in PARTS] == [10, 50, None, 40]
    assert "inference" in view.tables["step_trace"].null_reasons["backward_us"]
    nothing = phases(t.trace([t.op("aten::mm", 0, 10)]), Selection())
    frame = nothing.tables["phases"].frame
    assert frame.filter(pl.col("phase") != "step")["cpu_total_us"].null_count() == 5
    assert "record_function" in nothing.tables["phases"].null_reasons["cpu_total_us"]


@pytest.mark.hypothesis
@examples(30)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 60),
            st.integers(1, 30),
            st.sampled_from(["forward", "backward", "optimizer", "dataloader", "my_range", "loss"]),
            st.sampled_from([1, 2]),
        ),
        min_size=1,
        max_size=10,
    ),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=6),
)
def test_parts_add_up_to_the_step_exactly(
    ranges: list[tuple[int, int, str, int]], work: list[tuple[int, int]]
) -> None:
    events = [t.step(1, 0, 40), t.step(2, 45, 60)]
    events += [t.annotation(name, at, dur, tid=tid) for at, dur, name, tid in ranges]
    for corr, (at, dur) in enumerate(work):
        events.append(t.call("cudaLaunchKernel", at, 1, corr=corr))
        events.append(t.kernel("k", at + 3, dur, corr=corr))
    trace = t.trace(events)
    view = phases(trace, Selection())
    frame = view.tables["phases"].frame
    for side in ("cpu", "gpu"):
        column = frame[f"{side}_total_us"]
        if column[0] is not None and column[-1] is not None:
            assert sum(value or 0 for value in column.to_list()[1:]) == pytest.approx(column[0])
    for row in view.tables["step_trace"].frame.rows(named=True):
        if row["interval_us"] is not None:
            assert sum(row[key] or 0 for key in PARTS) == pytest.approx(row["total_us"])
            assert all((row[key] or 0) >= 0 for key in PARTS)


def test_a_phase_narrows_operators_and_kernels() -> None:
    trace = t.trace(on_gpu())

    def total(spec: Any, key: str, **selection: Any) -> float:
        table = next(iter(trace_view(spec, trace, Selection(**selection)).tables.values()))
        return float(table.frame[key].sum())

    for spec, key in ((OPERATORS, "calls"), (KERNELS, "total_us")):
        parts = [total(spec, key, phase=phase) for phase in PHASES_BY_NAME]
        assert sum(parts) == total(spec, key)
    table = trace_view(OPERATORS, trace, Selection(phase="backward")).tables["operators"]
    names = set(table.frame["name"].to_list())
    assert "AddmmBackward0" in names
    assert "aten::linear" not in names


def test_views_of_whole_steps_say_that_a_phase_does_not_narrow_them() -> None:
    trace = t.trace(on_gpu())
    whole = trace_view(OVERVIEW, trace, Selection())
    narrowed = trace_view(OVERVIEW, trace, Selection(phase="forward"))
    assert narrowed.notes[0].code == "phase_not_narrowing"
    assert narrowed.tables["steps"].frame.equals(whole.tables["steps"].frame)
    codes = [note.code for note in trace_view(SPEC, trace, Selection(phase="forward")).notes]
    assert codes.count("phase_not_narrowing") == 1


def test_an_unknown_phase_is_refused_with_the_known_ones() -> None:
    trace = t.trace(on_gpu())
    for spec in (OPERATORS, OVERVIEW):
        with pytest.raises(SelectionError, match="dataloader, forward, backward, optimizer, other"):
            trace_view(spec, trace, Selection(phase="warmup"))
    with pytest.raises(SelectionError, match="Nothing in the recording tells phases"):
        trace_view(OPERATORS, t.trace([t.op("aten::mm", 0, 10)]), Selection(phase="forward"))


def test_windows_of_a_server() -> None:
    events: list[t.Event] = []
    names = ("step[EXTEND bs=2 toks=512]", "step[DECODE bs=2]", "step[DECODE bs=2]", "step[idle]")
    for corr, name in enumerate(names, 1):
        at = 100 * corr
        events += [
            t.annotation(name, at, 39 + corr),
            t.op("aten::mm", at + 5, 10),
            t.call("cudaGraphLaunch", at + 6, 2, corr=corr),
            t.kernel("gemm", at + 50, 10, corr=corr),
            t.kernel("attention", at + 70, 5, corr=corr),
        ]
    trace = t.trace(events)
    view = phases(trace, Selection())
    frame = view.tables["serving_windows"].frame
    keys = ("kind", "batch", "tokens", "calls", "cpu_total_us", "gpu_total_us", "server")
    assert frame.select(keys).rows() == [
        ("decode", 2, None, 2, 83, 30, "SGLang"),
        ("prefill", 2, 512, 1, 40, 15, "SGLang"),
    ]
    found = next(fact for fact in view.facts if fact.key == "forward_found_by")
    assert found.value == "the server's windows (3)"
    assert "serving_windows" not in phases(t.trace(on_gpu()), Selection()).tables


def test_windows_tell_forward_where_no_module_does() -> None:
    """Prefill calls the model's modules, decode replays a graph; sampling is no forward pass."""
    trace = t.trace(
        [
            t.annotation("step[EXTEND bs=1 toks=9]", 0, 100),
            t.frame("nn.Module: LlamaForCausalLM_0", 10, 60, python_id=1, module=0),
            t.frame("nn.Module: Sampler_0", 110, 20, python_id=2, module=1),
            t.annotation("step[DECODE bs=1]", 200, 50),
            t.call("cudaGraphLaunch", 210, 5, corr=7),
            t.kernel("gemm", 300, 40, corr=7),
        ]
    )
    got = rows(trace, "phases")["forward"]
    assert (got["calls"], got["cpu_total_us"], got["gpu_total_us"]) == (2, 110, 40)


def test_a_window_around_a_named_forward_pass_is_no_forward_pass_itself() -> None:
    trace = t.trace(
        [
            t.annotation("execute_context_1(128)_generation_3(3)", 0, 100),
            t.annotation("gpu_model_runner: preprocess", 5, 20),
            t.annotation("gpu_model_runner: forward", 30, 40),
            t.annotation("gpu_model_runner: sample", 75, 20),
        ]
    )
    got = rows(trace, "phases")
    assert (got["forward"]["cpu_total_us"], got["other"]["cpu_total_us"]) == (40, 60)
    (window,) = phases(trace, Selection()).tables["serving_windows"].frame.rows(named=True)
    assert (window["kind"], window["batch"], window["tokens"]) == ("mixed", 4, 131)


VLLM_NAME = "execute_context_0(0)_generation_3(3)"


@pytest.mark.parametrize(
    ("others", "server"),
    [
        ([], "vLLM"),
        ([t.annotation("step[DECODE bs=3]", 5, 90)], "SGLang"),
        (
            [t.frame("/src/sglang/srt/managers/tp_worker.py(4): forward", 5, 90, python_id=1)],
            "SGLang",
        ),
        ([t.op("sgl_kernel::fwd", 5, 90)], "SGLang"),
        ([t.op("sgl_kernel::fwd", 5, 9), t.op("vllm::all_reduce", 50, 9)], "vLLM"),
        ([t.op("aten::mm", 5, 90)], "vLLM"),
    ],
)
def test_the_server_is_the_one_whose_code_ran(others: list[t.Event], server: str) -> None:
    trace = t.trace([t.annotation(VLLM_NAME, 0, 100), *others])
    (window,) = phases(trace, Selection()).tables["serving_windows"].frame.rows(named=True)
    assert (window["server"], window["kind"], window["batch"]) == (server, "decode", 3)


def test_several_passes_in_a_step_are_parts_of_it() -> None:
    """Two micro-batches: what lies between them is no backward pass."""
    events = [t.step(1, 0, 500)]
    for at in (0, 200):
        events += [
            t.annotation("forward", at + 20, 50),
            t.op(EVALUATES + "AddmmBackward0", at + 100, 60),
        ]
    got = rows(t.trace(events), "step_trace")["1"]
    assert [got[key] for key in PARTS] == [80, 160, 120, 140]
    assert np.isclose(sum(got[key] for key in PARTS), got["total_us"])


def test_a_forward_pass_that_only_its_backward_pass_tells_of_is_shown() -> None:
    """As PyTorch 1.8 records: no operator of the forward pass is linked to a backward node."""
    events = [t.step(1, 0, 400), t.op("aten::conv2d", 50, 20), t.op("aten::ones_like", 90, 5)]
    trace = t.trace([*events, t.op("ReluBackward0", 100, 50)])
    view = phases(trace, Selection())
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["forward_found_by"] == "time before the backward pass"
    got = {name: row["cpu_total_us"] for name, row in rows(trace, "phases").items()}
    assert (got["forward"], got["backward"], got["other"]) == (40, 60, 300)
    assert rows(trace, "step_trace")["1"]["forward_us"] == 40
