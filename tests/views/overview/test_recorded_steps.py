"""The step time of a file whose steps are not among the events, against its own column."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import op, step
from tests.importers.mindspore.folders import opened
from tests.importers.mindspore.folders import recorded as recorded_folder
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.overview.view import overview

SIDE = side_table(
    "recorded_step_trace",
    "steps.csv",
    [{"step": str(number), "total_us": us} for number, us in enumerate((40, 130, 132, None))],
)


def test_the_recorded_step_is_the_step() -> None:
    """Not the recording, of which a part initializes the program."""
    (fact,) = (
        each
        for each in overview(recorded([op("a", 0, 9000)], side=[SIDE]), Selection()).facts
        if each.key == "recorded_step_us"
    )
    assert fact.value == 130
    assert "3 steps in steps.csv" in fact.help


def test_steps_among_the_events_are_measured() -> None:
    trace = recorded([step(1, 0, 100), op("a", 0, 90)], side=[SIDE])
    assert "recorded_step_us" not in {each.key for each in overview(trace, Selection()).facts}


def test_a_recording_by_its_file(corpus: Path) -> None:
    """Ticks are of 10 ns; the last row is the mean of the others."""
    path = corpus / "mindspore_r1" / "profiler" / "step_trace_raw_0_detail_time.csv"
    rows = [row for row in csv.DictReader(path.open()) if row["step_num"].isdigit()]
    expected = median(int(row["total"]) / 100 for row in rows)
    facts = overview(opened(recorded_folder("profiler", 0)), Selection()).facts
    (fact,) = (each for each in facts if each.key == "recorded_step_us")
    assert fact.value == pytest.approx(expected)
