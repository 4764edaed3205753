"""Whole nanoseconds become the nearest double to their microseconds, checked with decimal numbers;
and so do the times of every view, whose shortest text has three decimals then."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import mean_microseconds, microseconds
from torch_tb_profiler.views.compare.gate import evaluate
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.memory.view import memory
from torch_tb_profiler.views.modules.view import modules
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import View

ALL = Selection()
NANOSECONDS = st.lists(st.integers(-(10**15), 10**15), min_size=1)


@given(NANOSECONDS)
def test_microseconds_are_the_nearest_double(ns: list[int]) -> None:
    found = microseconds(pl.Series("t", ns)).to_list()
    assert found == [float(Decimal(value) / 1000) for value in ns]
    assert np.rint(np.array(found) * 1000).tolist() == ns


@given(NANOSECONDS, st.integers(1, 1000))
def test_means_are_rounded_once(ns: list[int], among: int) -> None:
    exact = [float(Fraction(value, 1000 * among)) for value in ns]
    assert microseconds(pl.Series(ns), among).to_list() == exact
    assert microseconds(pl.Series(ns), pl.Series([among] * len(ns))).to_list() == exact
    assert mean_microseconds(np.array(ns)) == float(Fraction(sum(ns), 1000 * len(ns)))


def test_nothing_divided_among_none_is_null() -> None:
    found = microseconds(pl.Series([9088, None, 5]), pl.Series([1, 1, 0]))
    assert found.to_list() == [9.088, None, None]
    assert mean_microseconds(np.empty(0, np.int64)) is None


AVERAGES = {"mean_us", "mean_call_us", "mean_transfer_us"}
STATISTICS = ("_low_us", "_high_us", "median_us", "p95_us", "std_us")
"""Interpolated, or roots: no time that stood in a file."""


def inexact(view: View) -> dict[tuple[str, str], list[float]]:
    """Times of tables and facts that need more than three decimals, averages and
    statistics aside."""
    found = {}
    for name, table in view.tables.items():
        rows = table.frame
        if "step" in rows.columns:
            rows = rows.filter(pl.col("step") != "all")
        for column in table.spec.columns:
            is_average = column.key in AVERAGES or name == "average_step"
            if column.unit == "us" and not is_average and not column.key.endswith(STATISTICS):
                values = rows[column.key].drop_nulls().to_list()
                found[name, column.key] = [v for v in values if v != round(v, 3)]
    for fact in view.facts:
        if fact.unit == "us" and isinstance(fact.value, float) and fact.key != "average_step_us":
            found["facts", fact.key] = [v for v in [fact.value] if v != round(v, 3)]
    return {key: values for key, values in found.items() if values}


def recorded(worker: int = 0) -> Trace:
    """Four steps of calls whose µs make noise in doubles: 9.088 × 1, 11.12 × 3 …"""
    events: list[t.Event] = []
    for number in range(4):
        at, corr = 1000.123 * number, 10 * number
        events += [
            t.step(number, at, 900.7),
            t.frame("nn.Module: Net_0", at + 0.1, 600.3, python_id=corr, module=0),
            t.frame("nn.Module: A_0", at + 0.2, 44.029, python_id=corr + 1, parent=corr, module=1),
            t.frame("nn.Module: B_0", at + 50.1, 58.431, python_id=corr + 2, parent=corr, module=2),
            t.op("aten::mm", at + 0.3, 19.65),
            t.call("cudaLaunchKernel", at + 1, 0.912, corr=corr + 1),
            t.kernel("first", at + 30.1, 9.088, corr=corr + 1),
            t.op("aten::add", at + 51.1, 16.923 + 0.1 * number + 0.3 * worker),
            t.call("cudaLaunchKernel", at + 52, 1.001, corr=corr + 2),
            t.kernel("second", at + 60.1, 11.12, corr=corr + 2),
            t.annotation("nccl:all_reduce", at + 200.2, 30.7),
            t.call("cudaLaunchKernel", at + 201, 1.001, corr=corr + 3),
            t.kernel("ncclDevKernel_X", at + 204.1, 51.301 + 0.7 * worker, corr=corr + 3),
            t.memory(at + 1.123, 64, address=8, allocated=64),
            t.memory(at + 72.914, -64, address=8, allocated=0),
        ]
    return t.trace(events)


@pytest.mark.parametrize("make", [overview, operators, kernels, memory, modules])
def test_views_of_a_trace_have_no_noise(make: Any) -> None:
    assert inexact(make(recorded(), ALL)) == {}


def test_views_of_several_traces_have_no_noise() -> None:
    workers = {"w0": recorded(0), "w1": recorded(1)}
    assert inexact(distributed(workers, ALL)) == {}
    assert inexact(compare(recorded(0), ALL, recorded(1), ALL)) == {}


def column(view: View, table: str, key: str, **where: str) -> list[Any]:
    return view.tables[table].frame.filter(**where)[key].to_list()


def test_the_numbers_counted_by_hand() -> None:
    """4 × 9.088; 4 × (19.65 − 0.912); 4 × 16.923 + 0.1 + 0.2 + 0.3; 72.914 − 1.123."""
    trace = recorded()
    found = kernels(trace, ALL)
    assert column(found, "kernels", "total_us", name="first") == [36.352]
    assert column(found, "kernels", "min_us", name="first") == [9.088]
    assert column(found, "kernels", "mean_us", name="second") == [11.12]
    assert column(operators(trace, ALL), "operators", "host_self_us", name="aten::mm") == [74.952]
    assert column(operators(trace, ALL), "operators", "host_total_us", name="aten::add") == [68.292]
    assert column(memory(trace, ALL), "memory_events", "duration_us") == [71.791] * 4
    flame = modules(trace, ALL)
    # B begins where A, 4 × 44.029 wide, ends.
    assert column(flame, "module_flame", "host_left_us", path="Net_0/B_0") == [176.116]
    overlap = distributed({"w0": trace}, ALL)
    assert column(overlap, "overlap", "computation_us", step="all") == [20.208]
    assert column(overlap, "overlap", "communication_us", step="all") == [51.301]


def test_differences_have_no_noise() -> None:
    """4.1 − 3.1 is 0.9999999999999996 of doubles; a gate of one µs must hold nevertheless."""
    assert 4.1 - 3.1 < 1
    one, other = (
        t.trace([t.step(0, 0, 100), t.op("aten::mm", 10, length)]) for length in (3.1, 4.1)
    )
    view = compare(one, ALL, other, ALL)
    assert column(view, "operators", "delta_host_total_us") == [1.0]
    assert evaluate(view, "operators[name=aten::mm].host_total_us>=+1us").failed


def test_values_per_step_are_rounded_once() -> None:
    """0.3 / 3 is 0.09999999999999999, and numpy's mean of three times 0.1 0.10000000000000002."""
    events = []
    for at in (0, 1000, 2000):
        events += [t.step(at, at, 0.1), t.op("aten::mm", at, 0.1)]
    trace = t.trace(events)
    view = compare(trace, ALL, trace, Selection(group_by="per_step"))
    assert column(view, "operators", "candidate_host_total_us") == [0.1]
    assert column(view, "average_step", "candidate_duration_us", category="Total") == [0.1]
