"""Speed of shapes against the best one, of calls with and without a device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.efficiency.shape_speeds import shape_speeds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.shapes.view import shapes

TYPES: dict[str, Any] = {"Input type": ["float", "float"]}


def product(at: float, dur: float, number: int, size: int) -> list[Event]:
    shape = [[size, size], [size, size]]
    return [
        op("aten::mm", at, 10, ext=number, shape=shape, **TYPES),
        call("cudaLaunchKernel", at + 1, 2, corr=number, ext=number),
        kernel("gemm", at + 20, dur, corr=number, ext=number),
    ]


def by_shape(
    made: Trace, selection: Selection, peak: str | None = None
) -> dict[str, dict[str, Any]]:
    rows = shape_speeds(made, selection, peak).rows(named=True)
    return {str(made.text(row["input_shape_code"])): row for row in rows}


def test_a_shape_loses_what_it_would_save_at_the_speed_of_the_best() -> None:
    """16^3 in 1 us is the fastest; 8^3 in 1 us computes an eighth per us; of a relu no FLOPs per
    product are known."""
    relu = [
        op("my::op", 300, 10, ext=9, shape=[[4]]),
        call("cudaLaunchKernel", 301, 2, corr=9, ext=9), kernel("k", 400, 7, corr=9, ext=9),
    ]  # fmt: skip
    events = [step(1, 0, 500), *product(10, 1, 1, 16), *product(60, 1, 2, 8), *product(90, 1, 3, 8)]
    found = by_shape(
        trace([*events, *relu, step(2, 500, 100), *product(510, 2, 4, 8)]), Selection()
    )
    fast, slow, other = (
        found[text] for text in ("[[16, 16], [16, 16]]", "[[8, 8], [8, 8]]", "[[4]]")
    )
    assert (fast["flops"], fast["flop_per_ns"], fast["slower"], fast["lost_ns"]) == (
        2 * 16**3, 2 * 16**3 / 1000, 1, 0
    )  # fmt: skip
    assert (slow["calls"], slow["time_ns"], slow["flops"]) == (3, 4000, 3 * 2 * 8**3)
    assert slow["slower"] == pytest.approx(8 * 4 / 3)
    assert slow["lost_ns"] == pytest.approx(4000 - 3 * 125)
    assert (other["time_ns"], other["flops"], other["slower"], other["lost_ns"]) == (
        7000, None, None, None
    )  # fmt: skip


def test_a_selection_has_its_own_best() -> None:
    events = [step(1, 0, 50), *product(10, 1, 1, 16), step(2, 50, 50), *product(60, 3, 2, 8)]
    found = by_shape(trace(events), Selection(steps="2"))
    assert {text: row["slower"] for text, row in found.items()} == {"[[8, 8], [8, 8]]": 1}


def test_without_devices_time_is_that_of_the_host() -> None:
    shapes = ([[4, 4], [4, 4]], [[2, 2], [2, 2]])
    events = [op("aten::mm", 20 * n, 10, shape=shape, **TYPES) for n, shape in enumerate(shapes)]
    found = by_shape(trace([step(1, 0, 100), *events]), Selection())
    assert [row["time_ns"] for row in found.values()] == [10_000, 10_000]
    assert [row["slower"] for row in found.values()] == [1, 8]


def test_no_shape_is_expected_to_beat_its_own_roof() -> None:
    """float32 at 0.001 TFLOP/s: 8^3 takes 1.024 us at the peak. The large product ran beyond it
    (as by a method with fewer operations), eight times as fast as the small one."""
    events = [step(1, 0, 500), *product(10, 1, 1, 16), *product(60, 2, 2, 8)]
    found = by_shape(trace(events), Selection(), "float32=0.001,bandwidth_gb_per_s=1000000")
    fast, slow = found["[[16, 16], [16, 16]]"], found["[[8, 8], [8, 8]]"]
    assert (fast["slower"], fast["lost_ns"]) == (1, 0)
    assert slow["slower"] == pytest.approx(2000 / 1024)
    assert slow["lost_ns"] == pytest.approx(2000 - 1024)


def test_the_view_takes_the_peaks_that_are_given() -> None:
    made = trace([step(1, 0, 500), *product(10, 1, 1, 16), *product(60, 2, 2, 8)])
    lost = [
        shapes(made, Selection(), peak=peak).tables["shapes"].frame["lost_us"].max()
        for peak in (None, "float32=0.001,bandwidth_gb_per_s=1000000")
    ]
    assert lost == [pytest.approx(2 - 0.125), pytest.approx(2 - 1.024)]
