"""Borders by name: where somebody says that forward begins and backward ends."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.steps.phases.test_segments import training_step
from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import in_phase
from torch_tb_profiler.analysis.steps.phases.boundaries import (
    Boundaries,
    UnknownBoundaryError,
    are_on_device,
    bounded_phases,
    bounded_stretches,
)
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.trace.model import Trace


def shown(trace: Trace, borders: Boundaries) -> list[tuple[str, float, float]]:
    stretches = bounded_stretches(trace, borders)[0]
    return [
        (Phase(phase).name.lower(), start / 1000, end / 1000)
        for start, end, phase in zip(*stretches, strict=True)
    ]


def named(trace: Trace, borders: Boundaries, name: str) -> list[int]:
    names = np.array([trace.text(code) for code in trace.slices["name_code"].to_list()])
    phases: list[int] = bounded_phases(trace, borders)[names == name].tolist()
    return phases


def test_the_forward_pass_begins_earlier_or_later() -> None:
    trace = t.trace([*training_step(0, 1), *training_step(1000, 2)])
    earlier = shown(trace, Boundaries(forward_start="aten::to"))
    assert [row for row in earlier if row[0] == "forward"] == [
        ("forward", 110, 300),
        ("forward", 1110, 1300),
    ]
    later = shown(trace, Boundaries(forward_start="aten::mse_loss"))
    assert [row for row in later if row[0] == "forward"] == [
        ("forward", 250, 300),
        ("forward", 1250, 1300),
    ]
    assert named(trace, Boundaries(forward_start="aten::to"), "aten::to") == [Phase.FORWARD] * 2
    after = Boundaries(forward_start="aten::mse_loss")
    assert named(trace, after, "aten::linear") == [Phase.OTHER] * 2


def test_the_backward_pass_ends_earlier_or_later() -> None:
    trace = t.trace(training_step())
    later = shown(trace, Boundaries(backward_end="aten::foreach_norm"))
    assert ("backward", 340, 630) in later
    earlier = shown(trace, Boundaries(backward_end="MseLossBackward0"))
    assert ("backward", 340, 445) in earlier
    assert named(trace, Boundaries(backward_end="MseLossBackward0"), "AddmmBackward0") == [
        Phase.OTHER
    ]


def test_a_border_tells_where_nothing_else_does() -> None:
    trace = t.trace([t.op("aten::to", 0, 10), t.op("aten::mm", 20, 10), t.op("aten::add", 40, 20)])
    assert shown(trace, Boundaries(forward_start="aten::mm")) == [("forward", 20, 60)]
    assert named(trace, Boundaries(forward_start="aten::mm"), "aten::to") == [Phase.OTHER]


def test_without_a_backward_pass_forward_lasts_until_the_end_that_is_named() -> None:
    trace = t.trace([t.op("aten::to", 0, 10), t.op("aten::mm", 20, 10), t.op("aten::add", 40, 20)])
    named_ends = Boundaries(forward_start="aten::to", backward_end="aten::mm")
    assert shown(trace, named_ends) == [("forward", 0, 30)]


def test_device_work_is_a_border_where_the_host_has_no_such_name() -> None:
    events = [
        t.step(1, 0, 100), t.call("cudaLaunchKernel", 1, 2, corr=1),
        t.call("cudaLaunchKernel", 4, 2, corr=2),
        t.kernel("first", 10, 20, corr=1), t.kernel("last", 50, 30, corr=2, stream=8),
    ]  # fmt: skip
    trace = t.trace(events)
    borders = Boundaries(forward_start="first", backward_end="last")
    assert shown(trace, borders) == [("forward", 10, 80)]
    assert are_on_device(trace, borders)
    assert not are_on_device(trace, Boundaries(forward_start="cudaLaunchKernel"))
    # Of one name the calls of the host count.
    both = t.trace([*events, t.op("first", 5, 30)])
    assert shown(both, Boundaries(forward_start="first"))[0][1] == 5


def test_a_border_that_names_nothing_is_refused() -> None:
    trace = t.trace(training_step())
    with pytest.raises(UnknownBoundaryError, match="forward_start: nothing is called"):
        bounded_stretches(trace, Boundaries(forward_start="aten::nothing"))
    with pytest.raises(SelectionError, match="backward_end"):
        in_phase(trace, Selection(phase="forward", backward_end="x"))
