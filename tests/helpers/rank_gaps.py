"""A rank with a gap between two kernels, for tests of what the gap is."""

from __future__ import annotations

from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.trace.model import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def gap(*events: Event, launch_at: float = 395) -> Trace:
    """Kernels at 100-200 and 400-500 µs, the second launched at 395 unless stated."""
    return trace(
        [
            step(1, 90, 500),
            op("aten::mm", 92, 10, ext=1),
            call("cudaLaunchKernel", 93, 4, corr=1, ext=1),
            kernel("gemm", 100, 100, corr=1, ext=1),
            op("aten::mm", launch_at - 1, 6, ext=2),
            call("cudaLaunchKernel", launch_at, 4, corr=2, ext=2),
            kernel("gemm", 400, 100, corr=2, ext=2),
            *events,
        ]
    )


def all_reduce(start: float, end: float, launch_at: float = 105) -> list[Event]:
    return [
        op("nccl:all_reduce", launch_at - 1, 6, ext=9, cat="user_annotation"),
        call("cudaLaunchKernel", launch_at, 4, corr=9, ext=9),
        kernel(NCCL, start, end - start, corr=9, ext=9, stream=13),
    ]
