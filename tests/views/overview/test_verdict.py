"""The verdict of worked fixtures: each sentence was computed by hand from the times."""

from __future__ import annotations

import pytest

from tests.helpers.traces import (
    Event,
    annotation,
    call,
    kernel,
    memcpy,
    op,
    step,
    trace,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import NO_ISSUE, trace_view, view_spec
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview.view import overview

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
GEMM = "ampere_sgemm_128x64_nn"
NO_WORK = "No GPU work is recorded."
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def launched(name: str, ts: float, dur: float, corr: int, device: int = 0) -> list[Event]:
    """A kernel and its launch, just before it."""
    return [
        call("cudaLaunchKernel", ts - 2, 1, corr=corr),
        kernel(name, ts, dur, corr=corr, device=device),
    ]


def answer(events: list[Event]) -> str | None:
    return overview(trace(events), Selection()).answer


def test_loading_and_the_host_the_larger_first() -> None:
    # 1000 µs: calls 2, outside operators 49, kernel 498, loading 300, operator 100, copy 50.
    events = [
        step(1, 0, 1000),
        op(LOADER, 500, 300),
        op("aten::mm", 850, 98),
        call("cudaMemcpyAsync", 949, 1, corr=9),
        memcpy(950, 50, corr=9),
        *launched(GEMM, 2, 498, 1),
    ]
    assert answer(events) == (
        "The GPU is busy 49.8 % of the 1.00 ms step; 30.0 % of the step is spent loading data; "
        "for 15.2 % of the step it is idle, mostly while the host runs operators."
    )


def test_a_busy_gpu_says_with_what() -> None:
    events = [
        step(1, 0, 1000),
        op("aten::mm", 0, 990),
        *launched(GEMM, 10, 700, 1),
        *launched("unheard_of", 710, 250, 2),
    ]
    assert answer(events) == (
        "The GPU is busy 95.0 % of the 1.00 ms step; 73.7 % of its work is matrix products."
    )


def test_a_range_around_other_work_is_no_operator() -> None:
    # As of Lightning, which trains in a closure of the optimizer: 1000 µs, of which operators 300
    # (one 100 in the range), the range without them 600, neither 100.
    events = [
        step(1, 0, 1000),
        annotation("Optimizer.step#SGD.step", 0, 700),
        op("aten::mm", 300, 100),
        op("aten::add", 800, 200),
    ]
    assert answer(events) == (
        "Of the 1.00 ms step, 70.0 % is spent outside operators and 30.0 % in operators. "
        "No GPU work is recorded."
    )
    launched_there = [*events, *launched(GEMM, 900, 100, 1)]
    assert answer(launched_there) == (
        "The GPU is busy 10.0 % of the 1.00 ms step; for 90.0 % of the step it is idle, mostly "
        "while the host is outside operators."
    )


def test_a_short_range_is_no_news() -> None:
    events = [step(1, 0, 1000), annotation("work", 0, 990), op("aten::mm", 0, 920)]
    assert answer(events) == "Of the 1.00 ms step, 99.0 % is spent in operators. " + NO_WORK


def test_ranges_alone_do_not_say_what_the_host_did() -> None:
    ranges = [step(1, 0, 1000), annotation("train", 0, 900)]
    assert answer(ranges) == "Neither GPU work nor operators are recorded in the 1.00 ms step."
    kernels = [*ranges, kernel(GEMM, 100, 200, corr=1)]
    assert answer(kernels) == (
        "The GPU is busy 20.0 % of the 1.00 ms step; for 80.0 % of the step it is idle, and what "
        "the host did is not recorded."
    )
    short = [step(1, 0, 1000), annotation("train", 0, 90), kernel(GEMM, 0, 890, corr=1)]
    assert answer([*short, annotation("wait", 890, 80)]) == (
        "The GPU is busy 89.0 % of the 1.00 ms step; for 11.0 % of the step it is idle, and what "
        "the host did is not recorded."
    )
    loading = [*ranges, annotation(LOADER, 100, 600)]
    assert answer(loading) == (
        "Of the 1.00 ms step, 60.0 % is spent loading data. Neither GPU work nor operators are "
        "recorded."
    )


def test_communication_alone_is_part_of_the_busy_time() -> None:
    events = [
        step(1, 0, 1000),
        op("aten::mm", 0, 990),
        *launched(GEMM, 10, 490, 1),
        *launched(NCCL, 500, 400, 2),
    ]
    assert answer(events) == (
        "The GPU is busy 89.0 % of the 1.00 ms step, 40.0 % of the step with communication that no "
        "computation overlaps; for 11.0 % of the step it is idle, mostly while the host runs "
        "operators."
    )


def test_several_gpus_and_steps_are_averages() -> None:
    events = [
        step(1, 0, 1000),
        step(2, 1000, 1000),
        step(3, 2000, 1000),  # the recording ends in it
        *launched(GEMM, 10, 500, 1),
        *launched(GEMM, 520, 100, 2, device=1),
        *launched(GEMM, 2500, 100, 3),
        op("aten::mm", 5, 900),
        op("aten::mm", 1005, 900),
    ]
    assert answer(events) == (
        "The 2 GPUs are, on average, busy 15.0 % of an average step of 1.00 ms; for 70.0 % of the "
        "step no GPU works, mostly while the host runs operators."
    )


def test_of_the_host_alone() -> None:
    events = [step(1, 0, 1000), op(LOADER, 0, 600), op("aten::mm", 600, 300)]
    assert answer(events) == (
        "Of the 1.00 ms step, 60.0 % is spent loading data and 30.0 % in operators. "
        "No GPU work is recorded."
    )


def test_a_recording_without_steps_is_called_so() -> None:
    events = [op("aten::mm", 0, 900), *launched(GEMM, 50, 950, 1)]
    assert answer(events) == (
        "The GPU is busy 95.0 % of the 1.00 ms recording; 100 % of its work is matrix products."
    )


@pytest.mark.parametrize("events", [[], [annotation("a", 0, 0)], [step(1, 0, 0)]])
def test_without_any_time_there_is_no_sentence(events: list[Event]) -> None:
    assert answer(events) is None


def shown(recording: Trace) -> str:
    return trace_view(view_spec("overview"), recording, Selection()).answer or ""


def test_where_no_check_has_an_issue_the_sentence_says_so() -> None:
    busy = [op("aten::mm", 0, 990), *launched("attention_kernel", 5, 990, 1)]
    assert shown(trace([step(1, 0, 1000), *busy])).endswith(NO_ISSUE)
    assert NO_ISSUE not in shown(trace([step(1, 0, 1000), op(LOADER, 0, 600)]))
