"""When communication calls could have run."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, step, trace
from torch_tb_profiler.analysis.communication.queues import ALWAYS_NS, call_queues

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def test_a_call_needs_its_launch_and_the_computation_before_it() -> None:
    """The kernel ends at 100. The first call is launched before it, the second after it, the third
    later than its end; the fourth has no launch."""
    queues = call_queues(
        trace(
            [
                step(1, 0, 1000),
                *(call("cudaLaunchKernel", at, 1, corr=at) for at in (5, 10, 20, 150)),
                kernel("gemm", 30, 70, corr=10),
                *(kernel(ALL_REDUCE, 200 + at, 1, corr=at, stream=20) for at in (5, 20, 150)),
                kernel(ALL_REDUCE, 400, 1, stream=20),
            ]
        )
    )
    assert queues.ready_ns.tolist() == [5_000, 100_000, 150_000, ALWAYS_NS]
    assert len(set(queues.track.tolist())) == 1


def test_calls_on_the_host_may_always_have_been_ready() -> None:
    queues = call_queues(trace([step(1, 0, 1000), annotation("gloo:all_reduce", 10, 90)]))
    assert queues.ready_ns.tolist() == [ALWAYS_NS]
