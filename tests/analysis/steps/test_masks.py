"""Which rows of a trace a selection takes: phases, edges of time ranges, and rows of other tables.

``tests/analysis/test_selection.py`` has the steps and the time ranges.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.analysis.steps.phases.test_segments import training_step
from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import (
    check_phase,
    device_work_mask,
    device_work_steps,
    in_phase,
    in_selection,
    selected_steps,
    slice_mask,
    slice_steps,
)
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

TRAINING = t.trace(
    [
        *training_step(0, 1),
        t.call("cudaLaunchKernel", 155, 5, corr=1),
        t.kernel("gemm", 170, 20, corr=1),
        t.call("cudaLaunchKernel", 705, 5, corr=2),
        t.kernel("update", 720, 20, corr=2),
        *training_step(1000, 2),
        t.call("cudaLaunchKernel", 1155, 5, corr=3),
        t.kernel("gemm", 1170, 20, corr=3),
    ]
)


def taken(mask: Bools, table: str = "slices", trace: Trace = TRAINING) -> list[tuple[str, float]]:
    """Name and start in µs of the rows that the mask takes."""
    rows = getattr(trace, table).filter(pl.Series(mask)).sort("start_ns")
    names = [trace.text(code) or "" for code in rows["name_code"].to_list()]
    return [(name, start / 1000) for name, start in zip(names, rows["start_ns"], strict=True)]


def test_a_phase_takes_the_slices_of_it() -> None:
    assert in_phase(TRAINING, Selection()).all()
    first = [
        ("Optimizer.zero_grad#SGD.zero_grad", 310),
        ("Optimizer.step#SGD.step", 700),
        ("cudaLaunchKernel", 705),
        ("update", 720),
    ]
    second = [("Optimizer.zero_grad#SGD.zero_grad", 1310), ("Optimizer.step#SGD.step", 1700)]
    assert taken(slice_mask(TRAINING, Selection(phase="optimizer"))) == first + second
    assert taken(slice_mask(TRAINING, Selection(steps="2", phase="optimizer"))) == second
    early = Selection(end_ns=705_000, phase="optimizer")
    assert taken(slice_mask(TRAINING, early)) == first[:2]


def test_device_work_has_the_phase_of_its_launch() -> None:
    forward = Selection(phase="forward")
    assert taken(device_work_mask(TRAINING, forward), "device_work") == [
        ("gemm", 170),
        ("gemm", 1170),
    ]
    second = Selection(steps="2", phase="forward")
    assert taken(device_work_mask(TRAINING, second), "device_work") == [("gemm", 1170)]
    assert device_work_mask(TRAINING, Selection()).all()


def test_rows_of_other_tables_by_step_start_and_slice() -> None:
    """Rows that lie in steps 1, 2 and none, of an optimizer's slice, a forward slice and the same
    optimizer's slice again."""
    slices = TRAINING.slices
    (update, *_), (linear, *_) = (
        np.flatnonzero(
            [TRAINING.text(code) == name for code in slices["name_code"].to_list()]
        ).tolist()
        for name in ("Optimizer.step#SGD.step", "aten::linear")
    )
    steps, starts = pl.Series([0, 1, None], dtype=pl.Int32), pl.Series([10, 20, 30])
    owners = pl.Series([update, linear, update])

    def rows(selection: Selection, slices: pl.Series | None = owners) -> list[bool]:
        mask: list[bool] = in_selection(TRAINING, selection, steps, starts, slices).tolist()
        return mask

    assert rows(Selection()) == [True, True, True]
    assert rows(Selection(steps="2")) == [False, True, False]
    assert rows(Selection(start_ns=20, end_ns=30)) == [False, True, False]
    assert rows(Selection(phase="optimizer")) == [True, False, True]
    assert rows(Selection(phase="optimizer", steps="1")) == [True, False, False]
    assert rows(Selection(phase="optimizer"), None) == [True, True, True]


def test_a_phase_that_cannot_be_chosen_is_refused() -> None:
    check_phase(Selection())
    check_phase(Selection(phase="backward"))
    for ask in (check_phase, lambda selection: in_phase(TRAINING, selection)):
        with pytest.raises(SelectionError, match=r"phase: 'sideways' is none of .*forward"):
            ask(Selection(phase="sideways"))
    plain = t.trace([t.op("aten::to", 0, 10), t.op("aten::mm", 20, 10)])
    with pytest.raises(SelectionError, match=r"^phase: "):
        in_phase(plain, Selection(phase="forward"))
    bounded = Selection(phase="forward", forward_start="aten::mm")
    assert taken(in_phase(plain, bounded), trace=plain) == [("aten::mm", 20)]


def test_the_edges_of_a_time_range_are_in_it_and_out_of_it() -> None:
    chosen = Selection(start_ns=150_000, end_ns=170_000)
    assert taken(slice_mask(TRAINING, chosen)) == [("aten::linear", 150), ("cudaLaunchKernel", 155)]


@pytest.mark.parametrize(
    ("count", "names"),
    [(4, "0, 1, 2, 3"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 … 5")],
)
def test_an_unknown_step_is_answered_with_those_there_are(count: int, names: str) -> None:
    trace = t.trace([t.step(number, 10 * number, 10) for number in range(count)])
    with pytest.raises(SelectionError, match=f"has steps {names}$"):
        selected_steps(trace, Selection(steps="99"))


def test_steps_of_rows_are_computed_once() -> None:
    assert slice_steps(TRAINING) is slice_steps(TRAINING)
    assert device_work_steps(TRAINING) is device_work_steps(TRAINING)
