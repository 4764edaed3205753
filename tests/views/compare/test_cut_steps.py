"""Parts of steps are no observations: a time range or the end of the recording cut them."""

from __future__ import annotations

import pytest

from tests.helpers import traces as t
from tests.views.compare.test_view import facts, rows, training
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View

ALL = Selection()
STUB = Selection(end_ns=20_000 * 5 * 1000 + 32_000)
"""Five steps of 20 ms of :func:`on_the_host` and 32 µs of the sixth."""


def on_the_host(steps: int, more: int = 0) -> Trace:
    """A CPU-only recording: steps of 20 ms with one operator of 15 ms, or ``more`` µs longer."""
    events = []
    for number in range(steps):
        at, jitter = 20_000 * number, 100 * (number % 3)
        events += [t.step(number, at, 20_000), t.op("aten::mm", at + 5, 15_000 + jitter + more)]
    return t.trace(events)


def numbers(view: View) -> dict[str, object]:
    """All of a comparison but its notes."""
    tables = {name: table.frame.rows() for name, table in view.tables.items()}
    return tables | {f"fact {key}": value for key, value in facts(view).items()}


def test_a_stub_is_in_no_mean_and_no_observation() -> None:
    baseline, candidate = on_the_host(8), on_the_host(8, more=1000)
    cut = compare(baseline, STUB, candidate, STUB)
    explicit = Selection(steps="0:4", group_by="per_step")
    whole = compare(baseline, explicit, candidate, explicit)
    assert numbers(cut) == numbers(whole)
    assert facts(cut)["baseline_steps"] == 5
    assert facts(cut)["values_per_step"] is True
    mm = rows(cut, "operators", "name")["aten::mm"]
    assert mm["baseline_host_self_us"] == pytest.approx(15_000 + 100 * (0 + 1 + 2 + 0 + 1) / 5)
    (note,) = [note for note in cut.notes if note.code == "step_cut"]
    assert note.evidence == {"steps": {"baseline": ["5"], "candidate": ["5"]}}


def test_where_no_step_is_whole_what_there_is_is_shown_without_confidence() -> None:
    parts = Selection(start_ns=5_000_000, end_ns=25_000_000)
    view = compare(on_the_host(3), parts, on_the_host(3, more=1000), parts)
    average = rows(view, "average_step", "category")
    assert average["Total"]["baseline_duration_us"] == 10_000
    for table in view.tables.values():
        for column in table.frame.columns:
            if column.startswith("confidence_"):
                assert table.frame[column].is_null().all()
    codes = [note.code for note in view.notes]
    assert "step_cut" in codes
    assert "too_few_steps" in codes


def test_one_whole_step_beside_a_part_is_too_few() -> None:
    part = Selection(end_ns=30_000_000)
    view = compare(on_the_host(3), part, on_the_host(3), ALL)
    assert facts(view)["baseline_steps"] == 1
    assert facts(view)["confidence_total_pct"] is None
    assert "too_few_steps" in [note.code for note in view.notes]


def test_a_step_in_which_the_recording_ended_makes_no_difference_of_totals() -> None:
    """The recording of one side goes on for 20 µs, in which a step begins that is left out."""
    steps = [t.step(number, 20_000 * number, 20_000) for number in range(3)]
    steps += [t.op("aten::mm", 5000 * number + 5, 1000) for number in range(12)]
    begun = [t.step(3, 60_000, 20), t.op("aten::mm", 60_005, 10)]
    view = compare(t.trace(steps), ALL, t.trace(steps + begun), ALL)
    assert facts(view)["candidate_steps"] == 3
    row = rows(view, "operators", "name")["aten::mm"]
    assert row["candidate_calls"] == row["baseline_calls"]
    assert row["delta_host_total_us"] == 0


def test_on_devices_too() -> None:
    """The gate: a candidate cut in its last step is no faster."""
    cut = Selection(end_ns=3_050_000)
    view = compare(training(4), Selection(steps="0:2"), training(4), cut)
    average = rows(view, "average_step", "category")
    assert average["Total"]["delta_duration_us"] == 0
    assert {row["delta_total_us"] for row in rows(view, "kernels", "name").values()} == {0}
