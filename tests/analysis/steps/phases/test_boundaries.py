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


def test_a_border_that_names_nothing_is_refused() -> None:
    trace = t.trace(training_step())
    with pytest.raises(UnknownBoundaryError, match="forward_start: nothing on the host is called"):
        bounded_stretches(trace, Boundaries(forward_start="aten::nothing"))
    with pytest.raises(SelectionError, match="backward_end"):
        in_phase(trace, Selection(phase="forward", backward_end="x"))
