"""The table of API calls: its shares, and what is null with which reason."""

from __future__ import annotations

from tests.helpers.recorded import recorded as recorded_by
from tests.helpers.traces import call, kernel, trace
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.kernels.api_calls import NO_CALL, NO_HOST_TIME
from torch_tb_profiler.views.kernels.view import kernels


def test_rows_and_shares() -> None:
    recorded = trace(
        [
            call("cudaMalloc", 0, 30),
            call("cudaLaunchKernel", 40, 10, corr=9),
            call("cuLaunchKernel", 42, 4, corr=1),
            kernel("k", 100, 7, corr=1),
        ]
    )
    table = kernels(recorded, Selection()).tables["api_calls"]
    keys = ("name", "calls", "host_self_us", "host_total_us", "mean_us", "launched", "device_us")
    assert table.frame.select(keys).rows() == [
        ("cudaMalloc", 1, 30, 30, 30, 0, 0),
        ("cudaLaunchKernel", 1, 6, 10, 10, 0, 0),
        ("cuLaunchKernel", 1, 4, 4, 4, 1, 7),
    ]
    assert table.frame["total_pct"].to_list() == [75, 15, 10]
    assert table.frame["cumulative_pct"].to_list() == [75, 90, 100]
    assert table.null_reasons == {}


def test_without_device_work_nothing_is_known_of_launches() -> None:
    table = kernels(trace([call("cudaMalloc", 0, 0)]), Selection()).tables["api_calls"]
    assert table.frame.select("launched", "device_us", "total_pct").rows() == [(None, None, None)]
    assert table.null_reasons["launched"] == NO_DEVICE_WORK
    assert table.null_reasons["total_pct"] == NO_HOST_TIME


def test_work_of_a_call_before_the_selection() -> None:
    recorded = trace([call("cudaLaunchKernel", 0, 5, corr=1), kernel("k", 100, 5, corr=1)])
    table = kernels(recorded, Selection(start_ns=50_000)).tables["api_calls"]
    assert table.frame.select("calls", "mean_us", "device_us").rows() == [(0, None, 5)]
    assert table.null_reasons["mean_us"] == NO_CALL


def test_calls_that_a_level_does_not_record_say_so() -> None:
    lacking = recorded_by([kernel("k", 0, 5)], not_recorded={"runtime": "needs Level1"})
    assert kernels(lacking, Selection()).tables["api_calls"].why_empty == "Needs Level1."
    table = kernels(trace([kernel("k", 0, 5)]), Selection()).tables["api_calls"]
    assert table.why_empty == "No API call is in the selection."
