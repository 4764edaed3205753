"""The columns of operators that are shown when asked for, and shares, against plain sums (numpy).

Cases: durations of calls, one call, rows without a call; shares of device time, of host time where
there is none; types of inputs; gaps before work, which add up to those of kernels, copies and sets;
random traces and selections.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.traces import call, kernel, memcpy, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.idle.gaps import gaps_before
from torch_tb_profiler.analysis.operators.calls import selected_operator_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.operators.columns import NO_CALL, NO_TYPES, ONE_CALL
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import Table


def table(recorded: Trace, selection: Selection | None = None) -> Table:
    return operators(recorded, selection or Selection()).tables["operators"]


def rows(of: Table) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in of.frame.to_dicts()}


def test_how_calls_vary() -> None:
    lengths = [1, 2, 4, 80]
    of = table(
        trace(
            [
                *(op("aten::mm", 100 * at, length) for at, length in enumerate(lengths)),
                op("aten::add", 1000, 7),
                call("cudaGraphLaunch", 2000, 5, corr=1),
                kernel("k", 2010, 5, corr=1),
            ]
        )
    )
    result = rows(of)
    assert result["aten::mm"]["call_mean_us"] == pytest.approx(np.mean(lengths))
    assert result["aten::mm"]["call_median_us"] == 3
    assert result["aten::mm"]["call_p95_us"] == pytest.approx(np.percentile(lengths, 95))
    assert result["aten::mm"]["call_std_us"] == pytest.approx(np.std(lengths))
    assert (result["aten::add"]["call_median_us"], result["aten::add"]["call_std_us"]) == (7, None)
    assert result["cudaGraphLaunch"]["call_median_us"] is None
    assert of.null_reasons["call_median_us"] == NO_CALL
    assert of.null_reasons["call_std_us"] == ONE_CALL


def launching(name: str, at: float, dur: float, corr: int, **more: Any) -> list[dict[str, Any]]:
    return [
        op(name, at, 10, **more),
        call("cudaLaunchKernel", at + 1, 2, corr=corr),
        kernel("k", at + 20, dur, corr=corr),
    ]


def test_shares_of_device_time_and_else_of_host_time() -> None:
    result = rows(
        table(trace([*launching("aten::a", 0, 60, 1), *launching("aten::b", 200, 20, 2)]))
    )
    assert [result[name]["total_pct"] for name in ("aten::a", "aten::b")] == [75, 25]
    assert [result[name]["cumulative_pct"] for name in ("aten::a", "aten::b")] == [75, 100]
    result = rows(table(trace([op("aten::a", 0, 30), op("aten::b", 100, 10)])))
    assert [result[name]["total_pct"] for name in ("aten::a", "aten::b")] == [75, 25]


def test_types_of_inputs() -> None:
    types: dict[str, Any] = {"Input type": ["float", "Scalar", "c10::Half"]}
    more: dict[str, Any] = {"Input type": ["long int", "float"]}
    of = table(
        trace(
            [
                op("aten::mm", 0, 5, **types),
                op("aten::mm", 10, 5, **more),
                op("aten::add", 20, 5),
            ]
        )
    )
    assert rows(of)["aten::mm"]["data_types"] == "float32, float16, int64"
    assert rows(of)["aten::add"]["data_types"] is None
    assert of.null_reasons["data_types"].startswith(NO_TYPES.removesuffix("."))


def test_gaps_before_what_it_launched() -> None:
    result = rows(
        table(
            trace(
                [
                    *launching("aten::a", 0, 10, 1),
                    *launching("aten::b", 40, 10, 2),
                    memcpy(100, 5),
                ]
            )
        )
    )
    assert result["aten::a"]["gaps_before_us"] == 0
    assert result["aten::b"]["gaps_before_us"] == 30
    assert sum(row["gaps_before_us"] for row in result.values()) == 60


@given(recordings())
def test_random_traces(recording: Recording) -> None:
    recorded, selection = trace(recording.events), recording.selection
    calls = selected_operator_calls(recorded, selection)
    durations: dict[str, list[int]] = defaultdict(list)
    for code, count, total_ns in calls.select("name_code", "calls", "host_total_ns").rows():
        durations[str(recorded.text(code))] += [total_ns] * count
    of = table(recorded, selection)
    result = rows(of)
    for name, taken in durations.items():
        row = result[name]
        measures = [row[f"call_{stem}_us"] for stem in ("mean", "median", "p95", "std")]
        if not taken:
            assert measures == [None] * 4
            continue
        expected = [np.mean(taken), np.median(taken), np.percentile(taken, 95), np.std(taken)]
        in_us: list[float | None] = [float(value) / 1000 for value in expected]
        if len(taken) == 1:
            in_us[-1] = None
        assert measures == pytest.approx(in_us, abs=1e-6)
    if of.frame["total_pct"].count():
        assert of.frame["total_pct"].sum() == pytest.approx(100)
        assert of.frame["cumulative_pct"].max() == pytest.approx(100)
    chosen = device_work_mask(recorded, selection)
    if not of.frame["gaps_before_us"].null_count():
        gaps_ns = int(gaps_before(recorded)[chosen].sum())
        # A piece of work of no length, of a call that is not selected, makes no row.
        assert of.frame["gaps_before_us"].sum() <= gaps_ns / 1000 + 1e-6
