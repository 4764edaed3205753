"""The events of a rank, and its own time between them."""

from __future__ import annotations

import pytest

from tests.helpers.rank_gaps import all_reduce, gap
from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.ranks import segments as module
from torch_tb_profiler.analysis.ranks.segments import SEGMENTS, RankEvent, segments


def test_a_collective_is_entered_and_waited_for() -> None:
    """Its kernel runs from 150 to 395 µs, beside and after a kernel (100-200)."""
    frame = segments(gap(*all_reduce(150, 395), launch_at=110))
    assert frame.schema == SEGMENTS
    assert frame["event"].to_list() == [RankEvent.CALL, RankEvent.WAIT, RankEvent.STEP_END]
    assert frame["record"].to_list() == [0, 0, -1]
    assert frame["computation_ns"].to_list() == [50_000, 50_000, 100_000]
    assert sum(frame[f"{part}_ns"].sum() for part in ("host", "device", "input", "pause")) > 0


def test_without_communication_only_steps_end() -> None:
    frame = segments(trace([step(1, 100, 50), op("aten::mm", 110, 20), step(2, 150, 50)]))
    assert frame["event"].to_list() == [RankEvent.STEP_END, RankEvent.STEP_END]
    assert frame["step"].to_list() == [0, 1]


def test_of_very_many_calls_the_ends_of_steps_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EVENTS", 1)
    frame = segments(gap(*all_reduce(150, 395), launch_at=110))
    assert frame["event"].to_list() == [RankEvent.STEP_END]
