"""Whose time a gap of the computation is: the host's, the input's, a pause's or communication's."""

from __future__ import annotations

from tests.helpers.rank_gaps import all_reduce, gap
from tests.helpers.traces import annotation, call, frame, kernel, op, step, trace
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.ranks.own_time import own_time

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def spans(time: Intervals) -> list[tuple[float, float]]:
    return [
        (a / 1000, b / 1000)
        for a, b in zip(time.start_ns.tolist(), time.end_ns.tolist(), strict=True)
        if 100_000 <= a < 400_000
    ]


def test_a_late_launch_is_the_hosts() -> None:
    time = own_time(gap())
    assert spans(time.host) == [(200, 399)]
    assert spans(time.device) == [(399, 400)]
    assert spans(time.blocked) == []


def test_a_launched_kernel_that_follows_a_collective_waited_for_it() -> None:
    time = own_time(gap(*all_reduce(150, 395), launch_at=110))
    assert spans(time.blocked) == [(200, 395)]
    assert spans(time.host) == []
    assert spans(time.device) == [(395, 400)]


def test_a_collective_that_runs_while_the_host_is_late_is_not_waited_for() -> None:
    time = own_time(gap(*all_reduce(150, 350)))
    assert spans(time.host) == [(200, 399)]
    assert spans(time.blocked) == []


def test_a_host_that_synchronizes_with_a_collective_waits_for_it() -> None:
    waiting = call("cudaStreamSynchronize", 120, 235, corr=20)
    time = own_time(gap(*all_reduce(150, 350), waiting))
    assert spans(time.blocked) == [(200, 350)]
    assert spans(time.host) == [(355, 399)]
    assert spans(time.device) == [(350, 355), (399, 400)]


def test_a_collective_that_goes_on_holds_nothing_up() -> None:
    time = own_time(gap(*all_reduce(150, 480), launch_at=110))
    assert spans(time.blocked) == []
    assert spans(time.device) == [(200, 400)]


def test_reasons_of_a_late_host() -> None:
    loading = own_time(gap(annotation(LOADER, 210, 100)))
    assert spans(loading.input) == [(210, 310)]
    assert spans(loading.host) == [(200, 210), (310, 399)]
    collecting = own_time(gap(annotation("Python GC", 250, 50)))
    assert spans(collecting.collection) == [(250, 300)]
    writing = own_time(gap(frame("torch/serialization.py(850): save", 220, 150)))
    assert spans(writing.checkpoint) == [(220, 370)]
    named = own_time(gap(annotation("## wait_for_batch ##", 210, 50)))
    assert spans(named.input) == [(210, 260)]


def test_a_rank_without_a_device() -> None:
    """Operators compute, gloo transfers in its ranges; the rest is the host's or the input's."""
    time = own_time(
        trace(
            [
                step(1, 90, 500),
                op("aten::mm", 100, 100),
                annotation("gloo:all_reduce", 210, 90, tid=2),
                annotation(LOADER, 320, 60),
                op("aten::mm", 400, 100),
            ]
        )
    )
    assert spans(time.computation) == [(100, 200)]
    assert spans(time.blocked) == [(210, 300)]
    assert spans(time.input) == [(320, 380)]
    assert spans(time.host) == [(200, 210), (300, 320), (380, 400)]


def test_a_range_of_gloo_that_ends_after_it_woke_the_host_was_waited_for() -> None:
    """Its thread wakes the one that waits, and closes its range when it runs again."""

    def rank(until: float) -> list[tuple[float, float]]:
        events = [
            step(1, 90, 500),
            op("aten::mm", 100, 100),
            annotation("gloo:all_reduce", 210, until - 210, tid=2),
            op("aten::mm", 400, 100),
        ]
        return spans(own_time(trace(events)).blocked)

    assert rank(until=405) == [(210, 400)]
    assert rank(until=450) == []  # it goes on: the host does not wait for it


def test_where_kernels_have_no_duration_the_host_computes() -> None:
    # Two operators of the host, and a kernel whose negative duration was read as none.
    events = [step(1, 90, 500), op("aten::mm", 100, 50), op("aten::mm", 300, 50)]
    events += [call("cudaLaunchKernel", 110, 5, corr=1), kernel("gemm", 200, 0, corr=1)]
    time = own_time(trace(events))
    assert spans(time.computation) == [(100, 150), (300, 350)]
    assert (150, 300) in spans(time.host)
