"""What files tell of steps, beside our own figures of the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import Event, annotation, call, kernel, op, step
from tests.importers.mindspore.folders import on_disk, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.phases.recorded_steps import NO_STEP, NOT_OURS
from torch_tb_profiler.views.phases.view import SPEC, phases
from torch_tb_profiler.views.schema import Table


def launched(name: str, ts: float, dur: float, corr: int, stream: int = 7) -> list[Event]:
    launch = call("cudaLaunchKernel", ts - 3, 2, corr=corr)
    return [launch, kernel(name, ts, dur, corr=corr, stream=stream)]


STEPS = [
    step(1, 100, 100),
    *launched("gemm", 110, 40, 1),
    *launched("ncclDevKernel_AllReduce_Sum", 130, 50, 2, stream=9),
    step(2, 200, 100),
    *launched("gemm", 220, 60, 3),
]
SUMS = side_table(
    "recorded_steps",
    "step_trace_time.csv",
    [
        {"step": "1", "computing_us": 41, "overlapped_us": 21, "free_us": 29, "stage_us": 100},
        {"step": "7", "computing_us": 5},
    ],
)


def table(trace: Trace, name: str = "recorded_steps", selection: Selection | None = None) -> Table:
    return phases(trace, selection or Selection()).tables[name]


def test_ours_stand_beside_what_the_file_tells() -> None:
    made = table(recorded(STEPS, side=[SUMS]))
    first, other = made.frame.iter_rows(named=True)
    assert (first["computing_us"], first["own_computing_us"]) == (41, 40)
    assert (first["overlapped_us"], first["own_overlapped_us"]) == (21, 20)
    assert first["own_communication_not_overlapped_us"] == 30
    assert (first["free_us"], first["own_free_us"]) == (29, 30)
    assert (other["step"], other["own_computing_us"]) == ("7", None)
    assert made.null_reasons["own_computing_us"] == NOT_OURS
    assert set(made.frame["source"]) == {SUMS.source}


def test_differences_are_named_with_the_reason_where_it_is_known() -> None:
    row = {
        "step": "1", "computing_us": 40, "communication_not_overlapped_us": 30,
        "overlapped_us": 10, "free_us": 20, "preparing_us": 10,
    }  # fmt: skip
    side = side_table("recorded_steps", "step_trace_time.csv", [row])
    notes = phases(recorded(STEPS, side=[side]), Selection()).notes
    (note,) = (note for note in notes if note.code == "recorded_differs")
    assert note.text == (
        "step_trace_time.csv and the events differ on Overlapped (10.0 µs, 20.0 µs here), Free "
        "(20.0 µs, 30.0 µs here); they agree within 1 % on Computing, Communication Exposed. Steps "
        "here begin on the host, so Free includes Preparing (10.0 µs)."
    )
    same = side_table("recorded_steps", "a.csv", [{"step": "1", "computing_us": 40}])
    notes = phases(recorded(STEPS, side=[same]), Selection()).notes
    assert "recorded_differs" not in {note.code for note in notes}


def test_the_selected_steps() -> None:
    made = table(recorded(STEPS, side=[SUMS]), selection=Selection(steps="1"))
    assert made.frame["step"].to_list() == ["1"]


def test_what_is_told_of_the_whole_recording() -> None:
    whole = side_table("recorded_steps", "step_trace_time.csv", [{"computing_us": 41}])
    made = table(recorded(launched("gemm", 110, 40, 1), side=[whole]))
    assert made.frame.row(0, named=True)["own_computing_us"] == 40
    assert made.null_reasons["step"] == NO_STEP


def test_parts_of_mindspore_steps() -> None:
    told = {"step": "1", "total_us": 99, "interval_us": 9, "forward_backward_us": 80, "tail_us": 10}
    side = side_table("recorded_step_trace", "step_trace_raw_0_detail_time.csv", [told])
    events = [
        step(1, 100, 100),
        annotation("forward", 110, 40),
        op("a", 115, 30),
        annotation("backward", 150, 40),
        op("b", 155, 30),
    ]
    row = table(recorded(events, side=[side]), "recorded_step_trace").frame.row(0, named=True)
    assert (row["total_us"], row["own_total_us"]) == (99, 100)
    assert (row["own_interval_us"], row["own_forward_backward_us"], row["own_tail_us"]) == (
        pytest.approx(10),
        pytest.approx(80),
        pytest.approx(10),
    )


def test_the_mean_of_the_file_stands_behind_its_steps() -> None:
    steps = [{"step": str(n), "total_us": 10 * n} for n in (1, 2, 3)]
    side = side_table("recorded_step_trace", "step_trace_raw_0_detail_time.csv", steps)
    mean = side_table("recorded_mean_step", "step_trace_raw_0_detail_time.csv", [{"total_us": 25}])
    trace = recorded([step(2, 0, 20)], side=[side, mean])
    whole = table(trace, "recorded_step_trace").frame
    assert whole["step"].to_list() == ["1", "2", "3", "mean"]
    assert whole["total_us"].to_list()[-1] == 25
    narrowed = table(trace, "recorded_step_trace", Selection(steps="2")).frame
    assert narrowed["step"].to_list() == ["2", "mean"]
    (line,) = phases(trace, Selection()).series["recorded_step_trace"].lines or [None]
    assert line is None, "no part of a step is in the file"


def test_borders_of_a_mindspore_timeline_are_its_operators(corpus: Path) -> None:
    trace = opened(on_disk(corpus / "mindspore_r1" / "run_1_normal_run_profiler", 1))
    chosen = Selection(forward_start="Mul-op29", backward_end="Concat-op196")
    view = phases(trace, chosen)
    rows = view.tables["recorded_step_trace"].frame.rows(named=True)
    timed = [row for row in rows if row["own_forward_backward_us"] is not None]
    assert len(timed) == 13, "the timeline holds the operators of these steps"
    for row in timed:
        # MindSpore begins and ends with neighbours of these operators.
        for part in ("interval", "forward_backward", "tail"):
            assert row[f"own_{part}_us"] == pytest.approx(row[f"{part}_us"], abs=150)
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["step_trace_by"] == "device work"
    # Work that begins within the borders is of the pass, the rest of the steps is other.
    parts = {row["phase"]: row for row in view.tables["phases"].frame.rows(named=True)}
    work = trace.device_work
    names = {code: trace.text(code) for code in work["name_code"].unique().to_list()}
    events = [
        (start, dur, names[code])
        for start, dur, code in work.select("start_ns", "dur_ns", "name_code")
        .sort("start_ns")
        .rows()
    ]
    total = 0
    edges = {
        row["name"]: (row["host_start_ns"], row["host_end_ns"])
        for row in trace.steps.rows(named=True)
    }
    for row in timed:
        low, high = edges[row["step"]]
        first = min(s for s, _, name in events if name == "Mul-op29" and low <= s < high)
        last = max(s + d for s, d, name in events if name == "Concat-op196" and low <= s < high)
        total += sum(d for s, d, _ in events if first <= s < last)
    assert parts["forward"]["gpu_total_us"] == pytest.approx(total / 1000)
    assert "passes_not_divided" in {note.code for note in view.notes}
    # As step_trace_point_info.json names them.
    full = "Default/network-TrainStepWrap/optimizer_d-Adam/Mul-op29"
    again = phases(trace, Selection(forward_start=full, backward_end="Concat-op196"))
    assert again.tables["step_trace"].frame.equals(view.tables["step_trace"].frame)


def test_files_alone_are_enough() -> None:
    assert SPEC.missing(recorded([])) is not None
    trace = recorded([], side=[SUMS])
    assert SPEC.missing(trace) is None
    assert table(trace).frame["computing_us"].to_list() == [41, 5]


def test_without_files_there_are_no_such_tables() -> None:
    assert not {"recorded_steps", "recorded_step_trace"} & set(
        phases(recorded(STEPS), Selection()).tables
    )


def test_parts_that_files_tell_are_curves_over_the_steps() -> None:
    steps = [
        {"step": str(number), "total_us": 9, "interval_us": number, "tail_us": 4}
        for number in (2, 1, 3)
    ]
    side = side_table("recorded_step_trace", "step_trace_raw_0_detail_time.csv", steps)
    series = phases(recorded([], side=[side]), Selection()).series["recorded_step_trace"]
    assert [(line.name, line.x, line.y) for line in series.lines] == [
        ("Interval", [1, 2, 3], [1, 2, 3]),
        ("Tail", [1, 2, 3], [4, 4, 4]),
    ]
    twice = side_table("recorded_step_trace", "x.csv", [*steps, steps[0]])
    assert "recorded_step_trace" not in phases(recorded([], side=[twice]), Selection()).series
