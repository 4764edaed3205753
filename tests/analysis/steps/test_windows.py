"""Steps as stretches of time, also of several processes; see docs/metrics.md."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.views.compare.steps import step_basis, step_rows
from torch_tb_profiler.views.overview.view import overview

Step = tuple[int, int, int, int]
"""Process, number, start, duration in µs."""


def windows(given_steps: list[Step], **selected: str | int) -> list[tuple[str, int, int]]:
    """Name, start and end in µs."""
    events = [step(name, ts, dur, pid=pid) for pid, name, ts, dur in given_steps]
    of = step_windows(trace(events), Selection(**selected))  # type: ignore[arg-type]
    ends = (of.end_ns // 1000).tolist()
    return list(zip(of.names, (of.start_ns // 1000).tolist(), ends, strict=True))


def test_steps_of_one_number_that_overlap_are_one() -> None:
    steps = [(1, 0, 0, 10), (1, 1, 10, 10), (2, 0, 2, 11), (2, 1, 13, 10)]
    assert windows(steps) == [("0", 0, 13), ("1", 13, 23)]
    assert windows(steps, steps="1") == [("1", 10, 23)]
    assert windows(steps, start_ns=5_000, end_ns=15_000) == [("0", 5, 13), ("1", 13, 15)]


def test_processes_one_after_the_other_have_their_own() -> None:
    steps = [(1, 0, 0, 10), (1, 1, 10, 10), (2, 0, 20, 10), (2, 1, 30, 10)]
    assert windows(steps) == [("0", 0, 10), ("1", 10, 20), ("0", 20, 30), ("1", 30, 40)]


def test_a_step_inside_another_is_shown_only_when_selected() -> None:
    steps = [(1, 0, 0, 100), (2, 4, 10, 10), (2, 5, 20, 10)]
    assert windows(steps) == [("0", 0, 100)]
    assert windows(steps, steps="5") == [("5", 20, 30)]


def whole(given_steps: list[Step], **selected: str | int) -> dict[str, bool]:
    events = [step(name, ts, dur, pid=pid) for pid, name, ts, dur in given_steps]
    of = step_windows(trace(events), Selection(**selected))  # type: ignore[arg-type]
    return dict(zip(of.names, of.whole.tolist(), strict=True))


def test_a_step_the_time_range_cuts_is_not_whole() -> None:
    steps = [(1, 0, 0, 10), (1, 1, 10, 10), (1, 2, 20, 10)]
    assert whole(steps) == {"0": True, "1": True, "2": True}
    assert whole(steps, start_ns=5_000) == {"0": False, "1": True, "2": True}
    assert whole(steps, end_ns=25_000) == {"0": True, "1": True, "2": False}
    assert whole(steps, start_ns=12_000, end_ns=15_000) == {"1": False}
    assert whole(steps, start_ns=10_000, end_ns=20_000) == {"1": True}


def test_means_are_over_the_whole_steps_alone() -> None:
    events = [step(number, 10 * number, 10) for number in range(4)]
    of = step_windows(trace(events), Selection(start_ns=5_000, end_ns=35_000))
    kept = of.of_averages
    assert kept.names == ["1", "2"]
    assert kept.start_ns.tolist() == [10_000, 20_000]
    assert kept.end_ns.tolist() == [20_000, 30_000]
    assert kept.of_step.tolist() == [-1, 0, 1, -1]
    cut = step_windows(trace(events), Selection(start_ns=12_000, end_ns=18_000))
    assert cut.of_averages.names == ["1"]


def test_a_step_the_recording_ended_in_is_not_whole() -> None:
    events = [step(0, 0, 100), step(1, 100, 100)]
    for number in range(4):
        at = 10 * number
        events += [
            call("cudaLaunchKernel", at, 2, corr=number),
            kernel("k", at + 3, 2, corr=number),
        ]
    built = trace(events)
    assert step_windows(built, Selection()).whole.tolist() == [True]
    assert step_windows(built, Selection(steps="0:1")).whole.tolist() == [True, False]


def test_a_joined_step_is_whole_when_it_holds_that_of_one_process() -> None:
    skewed = [(1, 0, 0, 10), (1, 1, 10, 10), (2, 0, 2, 11), (2, 1, 13, 10)]
    assert whole(skewed) == {"0": True, "1": True}
    inside_another = [(1, 0, 0, 100), (2, 4, 90, 20)]
    assert whole(inside_another) == {"0": True, "4": False}


moments = st.integers(0, 30)
recorded = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 3), moments, st.integers(1, 12)),
    min_size=1,
    max_size=10,
)


@given(recorded)
def test_every_moment_of_a_step_is_in_one_window(steps: list[Step]) -> None:
    events = [step(name, ts, dur, pid=pid) for pid, name, ts, dur in steps]
    built = trace(events)
    of = step_windows(built, Selection())
    held = [
        moment
        for start, end in zip(of.start_ns, of.end_ns, strict=True)
        for moment in range(start // 1000, end // 1000)
    ]
    rows = built.steps.select("start_ns", "end_ns").rows()
    wanted = {moment for start, end in rows for moment in range(start // 1000, end // 1000)}
    assert held == sorted(wanted)
    for name, window in zip(built.steps["name"].to_list(), of.of_step.tolist(), strict=True):
        assert window == -1 or of.names[window] == name


def two_processes() -> list[Event]:
    events: list[Event] = []
    for pid, later in ((10, 0), (20, 4)):
        for number in range(3):
            at = 100 * number + later
            events += [
                step(number, at, 90, pid=pid),
                op("aten::mm", at + 2, 40, pid=pid),
                call("cudaLaunchKernel", at + 5, 3, pid=pid, corr=number + 1),
                kernel("k", at + 20, 30, corr=number + 1, device=pid // 20),
            ]
    return events


def test_the_overview_counts_a_moment_once() -> None:
    view = overview(trace(two_processes()), Selection())
    steps = view.tables["steps"].frame
    assert steps["step"].to_list() == ["0", "1", "2"]
    assert steps["total_us"].to_list() == [94, 94, 94]
    assert steps["kernel_us"].to_list() == [34, 34, 34]
    assert "several_processes" in [note.code for note in view.notes]


def test_a_comparison_averages_over_the_same_steps_as_the_overview() -> None:
    built = trace(two_processes())
    rows = step_rows(built, Selection())
    basis = step_basis(built, Selection(), rows, per_step=True)
    assert built.steps["name"].gather(rows).to_list() == ["0", "1", "2"]
    assert basis.divisor == 3
    assert basis.window_row.tolist() == [0, 1, 2, 0, 1, 2]


def test_steps_of_several_threads_count_a_moment_once() -> None:
    built = trace([step(4, 0, 100), step(3, 40, 100, tid=2), op("aten::mm", 0, 140)])
    windows = step_windows(built, Selection())
    assert windows.names == ["4", "3"]
    assert windows.start_ns.tolist() == [0, 100_000]
    assert windows.end_ns.tolist() == [100_000, 140_000]
