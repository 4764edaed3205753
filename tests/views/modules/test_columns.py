"""Columns of the modules that only some rows have."""

from __future__ import annotations

from tests.helpers import traces as t
from tests.views.modules.test_view import fx12, module, rows
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.modules.view import NO_CALL, NO_MODULE, modules


def test_means_of_host_and_device_are_columns_of_their_own() -> None:
    """Each has one meaning in every recording. A module above a selected call, not called itself
    there, has none."""
    trace = t.trace(
        [
            t.step(1, 0, 5),
            t.step(2, 5, 200),
            module("Net", 1, 100, 1),
            module("Conv", 10, 30, 2, 1),
            t.op("aten::conv2d", 12, 20),
            t.call("cudaLaunchKernel", 14, 2, corr=1),
            t.kernel("conv", 50, 11, corr=1),
            module("Metrics", 45, 50, 3, 2),
        ]
    )
    keys = ("mean_us", "mean_device_us")
    assert {path: tuple(row[key] for key in keys) for path, row in rows(trace).items()} == {
        "Net": (100, 11),
        "Net/Conv": (30, 11),
        "Net/Metrics": (50, 0),
    }
    part = modules(trace, Selection(steps="2")).tables["modules"]
    assert part.frame.select(keys).rows() == [(None, None), (30, 11), (50, 0)]
    assert part.null_reasons["mean_us"] == part.null_reasons["mean_device_us"] == NO_CALL
    cpu = modules(t.trace(fx12()), Selection()).tables["modules"]
    assert cpu.frame["mean_device_us"].null_count() == cpu.frame.height
    assert cpu.null_reasons["mean_device_us"] == NO_DEVICE_WORK


def test_reasons_of_rows_outside_every_module_are_theirs_in_the_order_of_the_columns() -> None:
    events = [
        module("Net", 0, 100, 1),
        t.op("aten::mm", 10, 20),
        t.call("cudaLaunchKernel", 12, 2, corr=1),
        t.kernel("gemm", 50, 30, corr=1),
        t.op("aten::add", 200, 20),
        t.call("cudaLaunchKernel", 202, 2, corr=2),
        t.kernel("add", 250, 30, corr=2),
    ]
    table = modules(t.trace(events), Selection()).tables["modules"]
    reasons = table.null_reasons
    assert reasons["mean_us"] == reasons["occurrences"] == NO_MODULE
    assert list(reasons) == [key for key in table.frame.columns if key in reasons]
