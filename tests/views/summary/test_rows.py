"""Tables that only the summary has, on made-up recordings."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.summary.rows import distributed_table


def test_computation_is_unknown_without_kernels() -> None:
    on_host = [step(1, 0, 100), op("aten::mm", 10, 30), annotation("gloo:all_reduce", 50, 20)]
    table = distributed_table(trace(on_host), Selection())
    assert table.frame["total_us"].to_list() == [100, 20, None, None]
    assert table.null_reasons["pct"].startswith("Computation is of kernels.")
    on_gpu = [call("cudaLaunchKernel", 12, 5, corr=1), kernel("gemm", 40, 20, corr=1)]
    table = distributed_table(trace([*on_host, *on_gpu]), Selection())
    assert table.frame["total_us"].to_list() == [100, 20, 20, 10]
