"""Steps in unusual traces; the rules themselves are checked in test_build and
test_worked_examples."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, slice_event, step, trace
from torch_tb_profiler.trace.model import Trace


def named(built: Trace) -> list[tuple[str, int, int]]:
    columns = built.steps.select("name", "start_ns", "end_ns").rows()
    return [(name, start // 1000, end // 1000) for name, start, end in columns]


def test_a_step_seen_on_two_threads_is_one_step() -> None:
    built = trace([step(4, 10, 90, tid=2), step(4, 10, 91), step(5, 101, 50)])
    assert named(built) == [("4", 10, 101), ("5", 101, 151)]
    assert built.quality.counts["step_duplicate"] == 1


def test_a_number_that_comes_back_later_is_another_step() -> None:
    built = trace([step(0, 0, 10), step(1, 10, 10), step(0, 100, 10)])
    assert [name for name, _, _ in named(built)] == ["0", "1", "0"]
    assert built.quality.counts["step_duplicate"] == 1


def test_a_step_of_length_zero_remains() -> None:
    built = trace([step(1, 0, 0), step(2, 0, 50), op("aten::mm", 0, 5)])
    assert sorted(named(built)) == [("1", 0, 0), ("2", 0, 50)]
    rows = {built.text(row["name_code"]): row["step"] for row in built.slices.rows(named=True)}
    names = built.steps["name"].to_list()
    assert {name: names[step] for name, step in rows.items()} == {
        "ProfilerStep#1": "1",
        "ProfilerStep#2": "2",
        "aten::mm": "2",
    }


def test_copies_of_a_step_on_the_device_are_no_steps() -> None:
    copy = slice_event("gpu_user_annotation", "ProfilerStep#1", 20, 90, pid=0, tid=7)
    built = trace([step(1, 0, 50), copy, kernel("k", 30, 5)])
    assert named(built) == [("1", 0, 50)]
    assert built.slices["step"].to_list() == [0, None, None]


def test_numbers_that_are_none_stay_text() -> None:
    assert [name for name, _, _ in named(trace([annotation("ProfilerStep#last", 0, 5)]))] == [
        "last"
    ]


def test_device_work_is_in_the_step_of_its_launch_however_late_it_runs() -> None:
    host = [step(1, 0, 50), step(2, 50, 50), call("cudaLaunchKernel", 40, 5, corr=7)]
    straddling = call("cudaLaunchKernel", 48, 4, corr=8)
    built = trace([*host, straddling, kernel("k", 70, 5, corr=7), kernel("late", 80, 9, corr=8)])
    of_work = built.slices["step"].gather(built.device_work["slice"]).to_list()
    assert of_work == [0, 0]
    assert built.steps["device_events"].to_list() == [1, 0], "a call over the edge is in no step"


def test_device_work_without_a_launch_stretches_the_step_of_the_operator_it_names() -> None:
    events = [op("aten::mm", 0, 50, ext=1), kernel("gemm", 10, 90, ext=1)]
    assert named(trace(events)) == [("0", 0, 50)]  # made up: by launches alone
    second = [op("aten::mm", 160, 20, ext=2), kernel("gemm", 170, 50, ext=2)]
    built = trace([step(1, 0, 150), *events, step(2, 150, 50), *second])
    assert named(built) == [("1", 0, 150), ("2", 150, 220)]
    assert built.steps["device_events"].to_list() == [1, 1]


def test_the_one_step_of_a_recording_without_any_starts_where_the_recording_does() -> None:
    """Also in a capture that was cut out of a longer one, where devices still do what was launched
    before."""
    before = kernel("launched before the recording", 5, 30, corr=1)
    host = [op("aten::mm", 0, 90, ext=1), call("cudaLaunchKernel", 40, 5, corr=7, ext=1)]
    events = [before, *host, kernel("gemm", 50, 60, corr=7)]
    assert named(trace(events)) == [("0", 0, 110)]
    assert named(trace([step(1, 0, 95), *events])) == [("1", 35, 110)]


def test_the_span_of_the_recording_is_in_no_step() -> None:
    span = slice_event("Trace", "PyTorch Profiler (0)", 0, 99, pid="Spans", tid="PyTorch Profiler")
    built = trace([span, step(1, 0, 50)])
    assert built.slices.sort("dur_ns")["step"].to_list() == [0, None]
