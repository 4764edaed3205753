"""Repeated sequences of kernels: where they begin and end, and what is summed of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.sequences.view import SPEC, sequences

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
GEMM = "volta_sgemm_128x64_nn"
NCCL = "ncclKernel_AllReduce_RING_LL_Sum_float"


class Stream:
    """Writes kernels one after the other, 2 µs apart, each launched by an operator, ``ahead`` µs
    before it starts."""

    def __init__(self, at: float = 0, ahead: float = 0) -> None:
        self.now = at
        self.ahead = ahead
        self.events: list[Event] = []

    def run(self, *names: str, gap: float = 2) -> Stream:
        for name in names:
            corr = int(self.now) + 1
            launched = self.now - self.ahead
            self.events.append(op(f"aten::{name[:4]}", launched, 1))
            self.events.append(call("cudaLaunchKernel", launched, 0.5, corr=corr))
            make: Any = memcpy if name == "copy" else lambda *a, n=name, **k: kernel(n, *a, **k)
            self.events.append(make(self.now, 10, corr=corr))
            self.now += 10 + gap
        return self


def rows(view: View, *keys: str) -> list[Any]:
    return view.tables["sequences"].frame.select(keys).rows()


def of(stream: Stream) -> View:
    return sequences(trace([step(1, 0, 5000), *stream.events]), Selection())


def test_a_chain_and_an_epilogue() -> None:
    stream = Stream(at=50, ahead=30)
    for _ in range(3):
        stream.run(ADD, SUM, "mystery").run(GEMM, ADD, "mystery")
    view = of(stream)
    keys = ("length", "calls", "kind", "kernel_us", "gap_us", "saved_us", "launches")
    # Of 20 µs a chain saves a third and its gap of 2, three times; an epilogue of 10 µs likewise.
    assert rows(view, *keys) == [
        (2, 3, "chain", 60, 6, pytest.approx(26), 3),
        (2, 3, "epilogue", 60, 6, pytest.approx(16), 3),
    ]
    assert rows(view, "full_names")[0] == (f"{ADD} → {SUM}",)
    facts: dict[str, Any] = {fact.key: fact.value for fact in view.facts}
    assert facts["covered_pct"] == pytest.approx(100 * 120 / 180)
    assert (facts["saved_us"], facts["launches_saved"]) == (pytest.approx(42), 6)


@pytest.mark.parametrize(
    ("ahead", "gap", "device_gap"),
    [
        (30, 2, 2),
        (2.5, 2, 2),
        (2.4, 2, 0),
        (0, 2, 0),
        (300, 250, 0),
    ],
)
def test_only_gaps_that_the_device_makes_might_be_saved(
    ahead: float, gap: float, device_gap: float
) -> None:
    """A call takes 0.5 µs: launched 2.5 µs before its start, a kernel is in the queue when the one
    before it ends. From 0.2 ms on a launched kernel waits for something else."""
    stream = Stream(at=500, ahead=ahead)
    for _ in range(3):
        stream.run(ADD, gap=gap).run(SUM, "mystery")
    keys = ("gap_us", "device_gap_us", "saved_us")
    saved = pytest.approx(3 * (device_gap + 20 / 3))
    assert rows(of(stream), *keys) == [(3 * gap, 3 * device_gap, saved)]


def test_kernels_of_a_replayed_graph_were_launched_together() -> None:
    """The call returns only after its last kernel."""
    events = [call("cudaGraphLaunch", 1, 900, corr=7)]
    for number in range(3):
        at = 10 + 100 * number
        events += [
            kernel(ADD, at, 10, corr=7), kernel(SUM, at + 13, 10, corr=7),
            kernel("mystery", at + 30, 10, corr=7),
        ]  # fmt: skip
    view = sequences(trace([step(1, 0, 5000), *events]), Selection())
    assert rows(view, "gap_us", "device_gap_us") == [(9, 9)]


@pytest.mark.parametrize("between", [NCCL, "copy", "mystery", GEMM])
def test_what_ends_a_run(between: str) -> None:
    stream = Stream()
    for _ in range(3):
        stream.run(ADD, between, "mystery")
    assert rows(of(stream), "length") == []


def test_a_long_pause_ends_a_run() -> None:
    stream = Stream()
    for _ in range(3):
        stream.run(ADD, gap=1000).run(SUM, "mystery")
    assert rows(of(stream), "length") == []


def test_equal_kernels_in_a_row_are_told_once() -> None:
    stream = Stream()
    for _ in range(3):
        stream.run(ADD, ADD, ADD, "mystery")
    (text,) = rows(of(stream), "sequence")[0]
    assert text.endswith(" ×3")
    assert "→" not in text


def test_a_selection_counts_what_lies_in_it() -> None:
    first, second = Stream(), Stream(1000)
    first.run(ADD, SUM, "mystery")
    for _ in range(2):
        second.run(ADD, SUM, "mystery")
    built = trace([step(1, 0, 500), step(2, 1000, 500), *first.events, *second.events])
    assert rows(sequences(built, Selection()), "calls") == [(3,)]
    assert rows(sequences(built, Selection(steps="2")), "calls", "kernel_us") == [(2, 40)]
    assert rows(sequences(built, Selection(steps="1")), "operators", "slice") != []


def test_without_kernels_there_is_no_view() -> None:
    assert SPEC.missing(trace([op("aten::add", 0, 5)])) is not None
    assert SPEC.missing(trace(Stream().run(ADD).events)) is None


def test_of_a_sequence_that_leaves_the_selection_only_the_part_inside_covers_it() -> None:
    stream = Stream()
    for _ in range(3):
        stream.run(ADD, SUM, "mystery")
    recorded = trace([step(1, 0, 5000), *stream.events])
    view = sequences(recorded, Selection(start_ns=72_000, end_ns=73_000))  # the last ADD alone
    facts: dict[str, Any] = {fact.key: fact.value for fact in view.facts}
    assert facts["covered_pct"] == 100
