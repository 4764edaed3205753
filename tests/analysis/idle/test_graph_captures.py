"""When the host captures graphs: from the call that begins to the one that ends, per thread."""

from __future__ import annotations

from tests.helpers.traces import Event, call, kernel, op, trace
from torch_tb_profiler.analysis.idle.attribution import gpu_idle, idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.graph_captures import graph_captures


def spans(events: list[Event]) -> list[tuple[int, int]]:
    (found,) = graph_captures(trace(events)).values()
    return [
        (start // 1000, end // 1000)
        for start, end in zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    ]


def test_from_begin_to_end_and_the_instantiation() -> None:
    events = [
        call("cudaStreamBeginCapture_v10000", 10, 5),
        call("cudaLaunchKernel", 20, 5),
        call("cudaStreamEndCapture_v10000", 60, 5),
        call("cudaGraphInstantiateWithFlags", 70, 20),
        call("cudaGraphLaunch", 100, 5),
        call("hipStreamBeginCapture", 200, 5),
        call("hipStreamEndCapture", 210, 5),
    ]
    assert spans(events) == [(10, 65), (70, 90), (200, 215)]


def test_a_capture_ends_on_its_thread_or_is_not_counted() -> None:
    events = [
        call("cudaStreamBeginCapture", 10, 5, tid=1),
        call("cudaStreamEndCapture", 30, 5, tid=2),
        call("cudaStreamBeginCapture", 20, 5, tid=2),
    ]
    assert spans(events) == [(20, 35)]


def test_what_is_launched_into_a_graph_is_no_launch_bound_time() -> None:
    """100 µs of capture, with operators, between a kernel and the first work of the graph."""
    events = [
        call("cudaLaunchKernel", 0, 5, corr=1),
        kernel("k", 5, 5, corr=1),
        op("aten::mm", 10, 120),
        call("cudaStreamBeginCapture", 10, 5),
        *[call("cudaLaunchKernel", 20 + 10 * n, 5) for n in range(8)],
        call("cudaStreamEndCapture", 105, 5),
        call("cudaGraphLaunch", 112, 8, corr=9),
        kernel("k", 120, 50, corr=9),
    ]
    recorded = trace(events)
    causes = idle_causes(recorded).intervals
    lengths = {
        cause: int((causes[cause].end_ns - causes[cause].start_ns).sum()) // 1000
        for cause in (IdleCause.GRAPH_CAPTURE, IdleCause.HOST)
    }
    assert lengths == {IdleCause.GRAPH_CAPTURE: 100, IdleCause.HOST: 15}
    (of_gpu,) = gpu_idle(recorded).values()
    capture = of_gpu.causes["graph_capture"]
    assert (capture.start_ns.tolist(), capture.end_ns.tolist()) == ([10_000], [110_000])


def test_a_capture_of_a_thread_that_launches_nothing_next_is_not_the_cause() -> None:
    events = [
        call("cudaLaunchKernel", 0, 5, corr=1),
        kernel("k", 5, 5, corr=1),
        op("aten::mm", 10, 100),
        call("cudaLaunchKernel", 105, 5, corr=2),
        kernel("k", 110, 50, corr=2),
        call("cudaStreamBeginCapture", 10, 5, tid=2),
        call("cudaStreamEndCapture", 95, 5, tid=2),
    ]
    causes = idle_causes(trace(events)).intervals
    assert not len(causes[IdleCause.GRAPH_CAPTURE].start_ns)
    assert len(causes[IdleCause.HOST].start_ns)
