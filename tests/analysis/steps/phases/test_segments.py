"""Phases of host time: a worked step of training, what changes it, and brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases, slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase, PhaseSource, marks
from torch_tb_profiler.analysis.steps.phases.segments import (
    Stretches,
    _any_within,
    _last_within,
    _next_of,
    _of_thread,
    phase_at,
    process_stretches,
    thread_stretches,
)
from torch_tb_profiler.trace.model import Trace

EVALUATES = "autograd::engine::evaluate_function: "
FIRST_THREAD: dict[str, Any] = {"Fwd thread id": 1}


def numbered(number: int) -> dict[str, Any]:
    return {"Sequence number": number}


def training_step(at: float = 0, number: int = 1) -> list[t.Event]:
    """A step of 1000 µs as eager PyTorch records it, backward on a thread of its own."""
    first, second = numbered(2 * number), numbered(2 * number + 1)
    return [
        t.step(number, at, 1000),
        t.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 90),
        t.op("aten::to", at + 110, 30),
        t.op("aten::linear", at + 150, 50, **first),
        t.op("aten::add", at + 210, 10),
        t.op("aten::mse_loss", at + 250, 50, **second),
        t.op("Optimizer.zero_grad#SGD.zero_grad", at + 310, 20),
        t.op("aten::ones_like", at + 340, 10),
        t.op(EVALUATES + "MseLossBackward0", at + 400, 50, tid=2),
        t.op("MseLossBackward0", at + 405, 40, tid=2, **second, **FIRST_THREAD),
        t.op(EVALUATES + "AddmmBackward0", at + 500, 100, tid=2),
        t.op("AddmmBackward0", at + 505, 80, tid=2, **first, **FIRST_THREAD),
        t.op("aten::foreach_norm", at + 620, 10),
        t.op("Optimizer.step#SGD.step", at + 700, 100),
    ]


def shown(trace: Trace) -> list[tuple[str, float, float]]:
    """The stretches of the one process in µs."""
    stretches = process_stretches(trace)[0]
    return [
        (Phase(phase).name.lower(), start / 1000, end / 1000)
        for start, end, phase in zip(*stretches, strict=True)
    ]


def test_a_step_of_training() -> None:
    """Forward begins with the first operator that has a backward node and goes on to the loss;
    backward from its seed to its last node, over what the engine does between nodes."""
    assert shown(t.trace(training_step())) == [
        ("dataloader", 10, 100),
        ("forward", 150, 300),
        ("optimizer", 310, 330),
        ("backward", 340, 600),
        ("optimizer", 700, 800),
    ]


def test_a_range_of_the_user_after_the_last_forward_operator_is_something_else() -> None:
    """A pipeline distributes the next batch between the passes."""
    trace = t.trace(
        [
            t.annotation("forward", 0, 50),
            t.annotation("gloo:all_reduce", 55, 2),
            t.annotation("sparse_data_dist", 60, 30),
            t.op(EVALUATES + "AddmmBackward0", 100, 20),
        ]
    )
    assert shown(trace) == [("forward", 0, 60), ("backward", 100, 120)]


def test_a_range_of_the_user_between_forward_operators_is_forward() -> None:
    trace = t.trace([*training_step(), t.annotation("sparse_data_dist", 225, 10)])
    assert ("forward", 150, 300) in shown(trace)


def test_a_backward_pass_does_not_go_on_over_the_edge_of_a_step() -> None:
    node = EVALUATES + "AddmmBackward0"
    nodes = [t.op(node, at, 10) for at in (50, 80, 150)]
    for step in (t.step(1, 0, 100), t.step(2, 100, 100)):  # where one ends, where one begins
        assert shown(t.trace([step, *nodes])) == [("backward", 50, 90), ("backward", 150, 160)]


def test_all_processes_together() -> None:
    trace = t.trace(
        [t.annotation("forward", 0, 50, pid=1), t.annotation("backward", 60, 50, pid=2)]
    )
    stretches = process_stretches(trace)
    assert sorted(stretches) == [-1, 0, 1]
    assert [part.tolist() for part in stretches[-1]] == [
        [0, 60_000],
        [50_000, 110_000],
        [Phase.FORWARD, Phase.BACKWARD],
    ]


def test_the_phase_of_a_moment() -> None:
    stretches = Stretches(
        np.array([10, 30]), np.array([20, 40]), np.array([Phase.FORWARD, Phase.BACKWARD], np.int8)
    )
    moments = {9: -1, 10: Phase.FORWARD, 19: Phase.FORWARD, 20: -1, 30: Phase.BACKWARD, 40: -1}
    phases = phase_at(stretches, np.array([*moments]), -1)
    assert phases.tolist() == [*moments.values()]


@given(
    st.lists(st.integers(0, 20), max_size=6).map(sorted),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), min_size=1, max_size=6),
)
def test_times_within_gaps(times: list[int], gaps: list[tuple[int, int]]) -> None:
    """Against a check of every time; only :func:`_any_within` counts the end of a gap."""
    times_ns = np.array(times, np.int64)
    start = np.array([at for at, _ in gaps], np.int64)
    end = start + np.array([length for _, length in gaps], np.int64)
    edges = list(zip(start.tolist(), end.tolist(), strict=True))
    inside = [[time for time in times if at <= time < to] for at, to in edges]
    assert _any_within(times_ns, start, end).tolist() == [
        any(at <= time <= to for time in times) for at, to in edges
    ]
    assert _last_within(times_ns, start, end, start - 1).tolist() == [
        max(within, default=at - 1) for within, (at, _) in zip(inside, edges, strict=True)
    ]
    assert _last_within(times_ns, start, end).tolist() == [
        max(within, default=to) for within, (_, to) in zip(inside, edges, strict=True)
    ]
    assert _next_of(times_ns, start, end).tolist() == [
        min(within, default=to) for within, (_, to) in zip(inside, edges, strict=True)
    ]


def test_phases_do_not_go_on_into_the_next_step() -> None:
    trace = t.trace([*training_step(0, 1), *training_step(1000, 2)])
    assert [(name, start) for name, start, _ in shown(trace) if name == "forward"] == [
        ("forward", 150),
        ("forward", 1150),
    ]


def test_device_work_has_the_phase_of_its_launch_whenever_it_runs() -> None:
    trace = t.trace(
        [
            *training_step(),
            t.call("cudaLaunchKernel", 160, 5, corr=1),
            t.kernel("forward", 650, 10, corr=1),
            t.call("cudaLaunchKernel", 520, 5, corr=2, tid=2),
            t.kernel("backward", 670, 10, corr=2),
            t.call("cudaGraphLaunch", 720, 5, corr=3),
            t.kernel("optimizer 1", 750, 10, corr=3),
            t.kernel("optimizer 2", 770, 10, corr=3),
            t.kernel("nobody's", 900, 10, corr=99),
        ]
    )
    phases = slice_phases(trace)[trace.device_work["slice"].to_numpy()]
    names = [trace.text(code) for code in trace.device_work["name_code"].to_list()]
    assert dict(zip(names, phases.tolist(), strict=True)) == {
        "forward": Phase.FORWARD,
        "backward": Phase.BACKWARD,
        "optimizer 1": Phase.OPTIMIZER,
        "optimizer 2": Phase.OPTIMIZER,
        "nobody's": -1,
    }


def test_a_closure_of_the_optimizer_holds_its_own_passes() -> None:
    """LBFGS, and every step of Lightning, call the model inside ``Optimizer.step``."""
    trace = t.trace(
        [
            t.op("Optimizer.step#LBFGS.step", 0, 100),
            t.frame("nn.Module: Net", 10, 30, python_id=1, module=0),
            t.op(EVALUATES + "AddmmBackward0", 50, 20),
        ]
    )
    assert shown(trace) == [
        ("optimizer", 0, 10),
        ("forward", 10, 40),
        ("optimizer", 40, 50),
        ("backward", 50, 70),
        ("optimizer", 70, 100),
    ]


def test_what_is_computed_again_in_the_backward_pass_is_backward() -> None:
    trace = t.trace(
        [
            t.frame("nn.Module: Net", 0, 100, python_id=1, module=0),
            t.annotation("backward", 200, 100),
            t.annotation("forward", 220, 40),
            t.op("aten::mm", 230, 10),
        ]
    )
    assert shown(trace)[-1] == ("backward", 200, 300)


def test_inference_has_forward_only_and_no_claim_of_the_rest() -> None:
    trace = t.trace(
        [t.frame("nn.Module: Net", at, 50, python_id=at, module=0) for at in (0, 100)]
        + [t.op("aten::argmax", 60, 10)]
    )
    assert shown(trace) == [("forward", 0, 50), ("forward", 100, 150)]
    assert marks(trace).sources_of(Phase.BACKWARD) == {}
    assert marks(trace).sources_of(Phase.FORWARD) == {PhaseSource.MODULES: 2}


def test_where_nothing_tells_nothing_is_claimed() -> None:
    trace = t.trace([t.op("aten::mm", 0, 10)])
    assert "no autograd nodes" in (no_phases(trace) or "")
    assert slice_phases(trace).tolist() == [-1]


def test_ranges_that_declare_a_phase_whole_are_all_of_it() -> None:
    """Lightning's training step holds the loss; modules outside (metrics) are no forward pass."""
    trace = t.trace(
        [
            t.annotation("[pl][profile][Strategy]DDPStrategy.training_step", 0, 50),
            t.frame("nn.Module: Accuracy", 60, 10, python_id=1, module=0),
            t.annotation("[pl][profile][Strategy]DDPStrategy.backward", 100, 50),
            t.op(EVALUATES + "AddmmBackward0", 110, 60, tid=2),
        ]
    )
    assert shown(trace) == [("forward", 0, 50), ("backward", 100, 150)]


def test_torch_1_8_names_no_forward_operators() -> None:
    """Of its backward nodes the names tell, of the forward pass what ran before them."""
    trace = t.trace(
        [
            t.step(1, 0, 400),
            t.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 10),
            t.op("aten::conv2d", 50, 20),
            t.op("aten::ones_like", 90, 5),
            t.op("ReluBackward0", 100, 20),
            t.op("torch::autograd::AccumulateGrad", 130, 20),
        ]
    )
    assert shown(trace)[1:] == [("forward", 50, 90), ("backward", 90, 150)]


def test_a_thread_that_loads_ahead_does_not_count_before_the_one_that_computes() -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace = t.trace([t.annotation("forward", 0, 100), t.op(loader, 50, 100, tid=3)])
    assert shown(trace) == [("forward", 0, 100), ("dataloader", 100, 150)]
    assert set(thread_stretches(trace)) == {0, 1}


@pytest.mark.hypothesis
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=8
    )
)
def test_the_innermost_mark_of_a_thread_counts_at_every_moment(
    found: list[tuple[int, int, int]],
) -> None:
    """Against a walk over every moment."""
    ordered = sorted(found, key=lambda mark: (mark[0], -mark[1]))
    start = np.array([mark[0] for mark in ordered], np.int64)
    end = start + np.array([mark[1] for mark in ordered], np.int64)
    phase = np.array([mark[2] for mark in ordered], np.int8)
    stretches = _of_thread(start, end, phase)
    got = [-1] * 50
    for first, last, of in zip(*stretches, strict=True):
        got[first:last] = [int(of)] * int(last - first)
    assert got == [_innermost(ordered, moment) for moment in range(50)]


def _innermost(ordered: list[tuple[int, int, int]], moment: int) -> int:
    kept = [mark for place, mark in enumerate(ordered) if not _is_part(ordered, place)]
    around = [phase for at, dur, phase in kept if at <= moment < at + dur]
    return around[-1] if around else -1


def _is_part(ordered: list[tuple[int, int, int]], place: int) -> bool:
    at, _, phase = ordered[place]
    if phase != Phase.FORWARD:
        return False
    others = [mark for mark in ordered[:place] if mark[2] != Phase.FORWARD]
    around = [of for start, dur, of in others if start <= at < start + dur]
    return bool(around) and around[-1] in (Phase.BACKWARD, Phase.DATALOADER)
