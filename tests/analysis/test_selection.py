"""Which rows a selection takes, and what it says when it makes no sense."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError, chosen_group_by
from torch_tb_profiler.analysis.steps.masks import (
    device_work_mask,
    selected_steps,
    slice_mask,
    time_range,
)
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace

STEPS = trace([step(number, 100 * number, 90) for number in (3, 4, 5, 10)])
LAUNCHED = trace(
    [
        step(1, 0, 100),
        op("mm", 10, 50),
        call("cudaLaunchKernel", 20, 5, corr=1),
        step(2, 100, 100),
        kernel("late", 150, 20, corr=1),
        kernel("lost", 160, 20, corr=99),
    ]
)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (None, ["3", "4", "5", "10"]),
        ("4", ["4"]),
        ("4:5", ["4", "5"]),
        ("5:", ["5", "10"]),
        (":4", ["3", "4"]),
        (":", ["3", "4", "5", "10"]),
        ("3, 5:10", ["3", "5", "10"]),
        ("4:99", ["4", "5", "10"]),
    ],
)
def test_steps(steps: str | None, expected: list[str]) -> None:
    mask = selected_steps(STEPS, Selection(steps=steps))
    assert STEPS.steps.filter(mask)["name"].to_list() == expected


@pytest.mark.parametrize("steps", ["6", "a:b", "", "20:", "3,,4", "3:4:5", "x" * 10_000])
def test_steps_that_make_no_sense(steps: str) -> None:
    with pytest.raises(SelectionError) as caught:
        selected_steps(STEPS, Selection(steps=steps))
    assert len(str(caught.value)) < 300


def test_what_is_wrong_with_steps_is_said() -> None:
    with pytest.raises(SelectionError, match="'5:3' ends before it begins"):
        selected_steps(STEPS, Selection(steps="5:3"))
    many = trace([step(number, 10 * number, 10) for number in range(7)])
    with pytest.raises(SelectionError, match="has steps 0, 1, 2, 3, 4 … 6"):
        selected_steps(many, Selection(steps="9"))


def names(mask: np.ndarray, table: str) -> list[str | None]:
    codes = getattr(LAUNCHED, table).filter(mask)["name_code"].to_list()
    return [LAUNCHED.text(code) for code in codes]


def test_device_work_goes_with_the_step_of_its_launch_and_its_own_time() -> None:
    assert names(device_work_mask(LAUNCHED, Selection(steps="1")), "device_work") == ["late"]
    assert names(device_work_mask(LAUNCHED, Selection(steps="2")), "device_work") == []
    late = Selection(start_ns=155_000)
    assert names(device_work_mask(LAUNCHED, late), "device_work") == ["lost"]
    assert device_work_mask(LAUNCHED, Selection()).all()


def test_slices_go_by_their_start() -> None:
    first = names(slice_mask(LAUNCHED, Selection(steps="1", end_ns=20_000)), "slices")
    assert sorted(filter(None, first)) == ["ProfilerStep#1", "mm"]
    assert slice_mask(LAUNCHED, Selection()).all()
    assert not slice_mask(LAUNCHED, Selection(start_ns=5, end_ns=5)).any()


def test_group_by() -> None:
    assert chosen_group_by(Selection(), ("name", "name+x")) == "name"
    assert chosen_group_by(Selection(group_by="name+x"), ("name", "name+x")) == "name+x"
    with pytest.raises(SelectionError, match=r"group_by.*name, name\+x"):
        chosen_group_by(Selection(group_by="y"), ("name", "name+x"))


def test_times_of_a_file_that_counts_from_the_epoch() -> None:
    """torch <= 2.3 writes no base: what a user reads there as `ts` selects the same."""
    epoch_us = 1_620_000_000_000_000
    events = [op("a", epoch_us + 10, 5), op("b", epoch_us + 20, 5), op("c", epoch_us + 30, 5)]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    recorded = build_trace(import_trace([text], name="old.json"))
    assert recorded.meta.base_ns == epoch_us * 1000
    for base_us in (0, epoch_us):
        chosen = Selection(start_ns=(base_us + 15) * 1000, end_ns=(base_us + 30) * 1000)
        rows = recorded.slices.filter(pl.Series(slice_mask(recorded, chosen)))
        assert [recorded.text(code) for code in rows["name_code"]] == ["b"]
        assert time_range(recorded, chosen) == (15_000, 30_000)
