"""Passes between the hooks of modules."""

from __future__ import annotations

from tests.helpers import traces as t
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.segments import process_stretches
from torch_tb_profiler.trace.model import Trace


def shown(trace: Trace) -> list[tuple[str, float, float]]:
    return [
        (Phase(phase).name.lower(), start / 1000, end / 1000)
        for start, end, phase in zip(*process_stretches(trace)[0], strict=True)
    ]


def test_what_lies_between_the_two_hooks_of_a_module_is_its_pass() -> None:
    """Inference: no backward pass follows that tells where the forward pass goes on."""
    trace = t.trace(
        [
            t.annotation("FSDP::post_forward (layers.0)", 0, 2),  # the recording began in it
            t.annotation("FSDP::pre_forward (layers.1)", 10, 5),
            t.op("aten::mm", 20, 50),
            t.annotation("FSDP::post_forward (layers.1)", 80, 5),
            t.op("aten::argmax", 90, 5),
            t.annotation("FSDP::pre_forward (layers.2)", 100, 5),  # it ends in it
            t.op("aten::mm", 110, 50),
        ]
    )
    assert shown(trace) == [("forward", 0, 2), ("forward", 10, 85), ("forward", 100, 105)]


def test_hooks_of_other_threads_modules_and_calls_are_no_pair() -> None:
    trace = t.trace(
        [
            t.annotation("FSDP::pre_forward (a)", 0, 5),
            t.annotation("FSDP::pre_forward (a)", 20, 5),
            t.annotation("FSDP::post_forward (b)", 40, 5),
            t.annotation("FSDP::post_forward (a)", 60, 5, tid=2),
        ]
    )
    assert shown(trace) == [("forward", start, start + 5) for start in (0.0, 20.0, 40.0, 60.0)]


def test_modules_inside_a_module_and_passes_computed_again() -> None:
    """A pass that a backward node computes again is part of the backward pass."""
    evaluates = "autograd::engine::evaluate_function: CheckpointBackward"
    inside = [
        ("FSDP::pre_forward", 0),
        ("FSDP::pre_forward (a)", 10),
        ("FSDP::post_forward (a)", 30),
        ("FSDP::post_forward", 50),
        ("FSDP::pre_forward (a)", 110),
        ("FSDP::post_forward (a)", 140),
    ]
    trace = t.trace([t.annotation(name, at, 5) for name, at in inside] + [t.op(evaluates, 100, 90)])
    assert shown(trace)[-1] == ("backward", 100, 190)
    assert shown(trace)[0] == ("forward", 0, 100)
