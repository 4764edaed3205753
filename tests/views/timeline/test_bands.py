"""Bands of ranks: what they show, and that a summary has the same as its trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.helpers.traces import call, kernel, step, trace
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.bands import BAND, band
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.choice import choose
from torch_tb_profiler.views.timeline.screen import Viewport, screen


def rank() -> Trace:
    """Computes 10–40 and 60–70, communicates 30–50 and 80–90 µs."""
    events = [step(1, 0, 100), call("cudaLaunchKernel", 1, 2, corr=1)]
    events += [kernel("gemm", 10, 30, corr=1), kernel("gemm", 60, 10)]
    events += [
        kernel("ncclDevKernel_AllReduce(x)", at, dur, stream=9) for at, dur in ((30, 20), (80, 10))
    ]
    return trace(events)


def parts(of: Trace) -> list[tuple[str, int, int]]:
    lanes = band(of).lanes
    ends = lanes.end_ns(np.arange(len(lanes.slice)))
    return [
        (CATEGORIES[code].key.removeprefix("merged_"), start // 1000, end // 1000)
        for code, start, end in zip(
            lanes.category.tolist(), lanes.start_ns.tolist(), ends.tolist(), strict=True
        )
    ]


def test_a_band_says_when_a_rank_computes_and_communicates() -> None:
    assert parts(rank()) == [
        ("computation", 10, 30),
        ("overlap", 30, 40),
        ("exposed", 40, 50),
        ("computation", 60, 70),
        ("exposed", 80, 90),
    ]


def test_a_summary_has_the_band_of_its_trace(tmp_path: Path) -> None:
    save_summary(rank(), tmp_path)
    summary = load_summary(tmp_path)
    assert parts(summary) == parts(rank())
    shown = band(summary)
    drawn = screen(shown.lanes, choose(shown, BAND).lanes, Viewport(0, 100_000, 50), 10_000)
    assert len(drawn.whole) == 5


def test_a_rank_that_did_nothing_has_an_empty_band() -> None:
    assert parts(trace([step(1, 0, 100)])) == []
