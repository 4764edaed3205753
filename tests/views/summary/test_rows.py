"""Tables that only the summary has, on made-up recordings."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.phases.summaries import EVENT_TYPES
from torch_tb_profiler.views.summary.rows import distributed_table
from torch_tb_profiler.views.summed_rows import event_types_table


def test_computation_is_unknown_without_kernels() -> None:
    on_host = [step(1, 0, 100), op("aten::mm", 10, 30), annotation("gloo:all_reduce", 50, 20)]
    table = distributed_table(trace(on_host), Selection())
    assert table.frame["total_us"].to_list() == [100, 20, None, None]
    assert table.null_reasons["pct"].startswith("Computation needs kernels.")
    on_gpu = [call("cudaLaunchKernel", 12, 5, corr=1), kernel("gemm", 40, 20, corr=1)]
    table = distributed_table(trace([*on_host, *on_gpu]), Selection())
    assert table.frame["total_us"].to_list() == [100, 20, 20, 10]


def test_types_of_events_on_devices_are_shares_of_steps_to_the_end_of_their_work() -> None:
    events = [op("aten::mm", 0, 50), call("cudaLaunchKernel", 12, 5, corr=1)]
    recorded = trace([*events, kernel("gemm", 40, 160, corr=1)])
    frame = event_types_table(EVENT_TYPES, recorded, Selection()).frame
    shares = dict(frame.select("type", "pct").rows())
    assert shares == {"cpu_op": 100, "cuda_runtime": 10, "kernel": 80}
