"""Sums of calls by what rows are grouped by, against sums call by call, on random recordings."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.efficiency.groups import KEYS, grouped, selected_calls
from torch_tb_profiler.analysis.efficiency.roofs import roof_times
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.trace.model import Trace

PEAK = "float32=20,bfloat16=100,bandwidth_gb_per_s=500"


def holder_of(made: Trace, call: int, parents: dict[int, int]) -> int:
    """The counted call around a call, else itself: walked one by one."""
    counted = call_work(made).is_counted
    at = call
    while at >= 0:
        if counted[at]:
            return at
        at = parents[at]
    return call


@examples(40)
@given(recordings())
def test_each_kernel_is_held_by_the_counted_call_around_it(recording: Recording) -> None:
    made = trace(recording.events)
    calls = operator_calls(made)
    number = {slice_: row for row, slice_ in enumerate(calls["slice"].to_list())}
    above = made.slices["parent"].to_list()
    parents = {}
    for slice_, row in number.items():
        at = above[slice_]
        while at is not None and at not in number:
            at = above[at]
        parents[row] = -1 if at is None else number[at]
    expected: dict[int, int] = defaultdict(int)
    for owner, dur in made.device_work.select("owner", "dur_ns").rows():
        at = owner
        while at is not None and at not in number:
            at = above[at]
        if at is not None:
            expected[holder_of(made, number[at], parents)] += dur
    held = holding_calls(made)
    found = dict(zip(held.row.tolist(), held.time_ns.tolist(), strict=True))
    assert {row: time for row, time in found.items() if row in expected} == expected
    assert sum(found.values()) == sum(expected.values())
    counted = call_work(made)
    assert (work_holders(made) >= -1).all()
    for row, time in found.items():
        if counted.is_counted[row]:
            assert time == counted.device_ns[row]


@examples(40)
@given(recordings())
def test_sums_are_those_of_calls_one_by_one(recording: Recording) -> None:
    made, selection = trace(recording.events), recording.selection
    calls, roofs = holding_calls(made), roof_times(made, PEAK)
    mask = selected_calls(made, selection)
    names = operator_calls(made)["name_code"].to_list()
    times: dict[int, int] = defaultdict(int)
    flops: dict[int, list[float]] = defaultdict(list)
    limits: dict[int, list[float]] = defaultdict(list)
    left: dict[int, float] = defaultdict(float)
    for place in np.flatnonzero(mask).tolist():
        name = names[calls.row[place]]
        times[name] += int(calls.time_ns[place])
        if not math.isnan(calls.flops[place]):
            flops[name].append(float(calls.flops[place]))
        roof = float(roofs.roof_ns[place])
        if calls.time_ns[place] > 0 and not math.isnan(roof):
            limits[name].append(roof)
            left[name] += max(float(calls.time_ns[place]) - roof, 0.0)
    found = {row["name_code"]: row for row in grouped(made, "operator", mask, PEAK).to_dicts()}
    assert {name: row["time_ns"] for name, row in found.items()} == times
    for name, row in found.items():
        assert row["flops"] == (sum(flops[name]) if flops[name] else None)
        assert row["roof_ns"] == (pytest.approx(sum(limits[name])) if limits[name] else None)
        assert row["left_ns"] == pytest.approx(left[name])
    whole = sum(times.values())
    for group_by in KEYS:
        parts = grouped(made, group_by, mask, PEAK)
        assert parts["time_ns"].sum() == whole
        assert parts["left_ns"].sum() == pytest.approx(sum(left.values()))
