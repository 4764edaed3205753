"""One file of several processes whose ids all count from 1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, columns, kernel, op, step, trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.model import Trace


def process(pid: int, start: float, device: int, *, ids: int = 0) -> list[Event]:
    """Three steps of 90 µs, each with an operator that launches one kernel of the process's name;
    correlation ids count from ``ids`` + 1."""
    return [
        event
        for number in range(3)
        for at in [start + 100 * number]
        for event in (
            step(number, at, 90, pid=pid),
            op(f"op of {pid}", at + 2, 40, pid=pid, ext=number + 1),
            call("cudaLaunchKernel", at + 5, 3, pid=pid, corr=ids + number + 1, ext=number + 1),
            kernel(f"kernel of {pid}", at + 20, 30, corr=ids + number + 1, device=device),
        )
    ]


def names(built: Trace, ids: list[int | None]) -> list[str | None]:
    codes = built.slices["name_code"]
    return [None if one is None else built.text(codes[one]) for one in ids]


def owners(built: Trace) -> Counter[tuple[str | None, str | None]]:
    work = built.device_work
    kernels = [built.text(code) for code in work["name_code"]]
    return Counter(zip(kernels, names(built, work["owner"].to_list()), strict=True))


def own(*pids: int) -> Counter[tuple[str | None, str | None]]:
    return Counter({(f"kernel of {pid}", f"op of {pid}"): 3 for pid in pids})


@pytest.mark.parametrize("device", [1, 0])
@pytest.mark.parametrize("later_us", [0, 4, 30, 100, 1000])
def test_two_processes_that_count_from_one(later_us: float, device: int) -> None:
    built = trace(process(10, 0, 0) + process(20, later_us, device))
    assert owners(built) == own(10, 20)
    assert built.steps.select("process", "name").rows() == [
        (number, name) for number in (0, 1) for name in "012"
    ]
    assert built.steps["start_ns"].to_list() == [
        1000 * int(start + 100 * number) for start in (0, later_us) for number in range(3)
    ]
    assert built.steps["device_events"].to_list() == [1] * 6
    assert built.steps["kept"].all()
    assert built.quality.counts["several_processes"] == 2
    assert "step_duplicate" not in built.quality.counts


def test_every_track_says_its_process_and_slices_are_in_the_steps_of_theirs() -> None:
    built = trace(process(20, 4, 1) + process(10, 0, 0))
    tracks = built.tracks.sort("pid").select("pid", "process").rows()
    assert tracks == [("0", None), ("1", None), ("10", 0), ("20", 1)]
    of_track = dict(built.tracks.select("track", "process").rows())
    for row in built.slices.iter_rows(named=True):
        said = of_track[row["track"]]
        name = str(built.text(row["name_code"]))
        if said is None:
            said = 0 if name == "kernel of 10" else 1
        assert built.steps["process"][row["step"]] == said


def test_work_with_several_possible_launches_has_none() -> None:
    """Kernels of device 1 start first in the second step and last in the others."""
    events = process(10, 0, 0) + process(20, 4, 1)
    events[-5]["ts"] -= 10
    built = trace(events)
    assert set(owners(built)) == {("kernel of 10", None), ("kernel of 20", None)}
    assert built.device_work["launch"].null_count() == 6
    assert set(built.device_work["orphan_reason"]) == {"ambiguous_launch"}
    assert built.quality.counts["launch_ambiguous"] == 6
    assert "kernel_without_launch" not in built.quality.counts
    assert "launch_without_kernel" not in built.quality.counts


def test_launches_that_the_format_names_need_no_inference() -> None:
    events = process(10, 0, 0) + process(20, 4, 1)
    events[-5]["ts"] -= 10
    given_columns = columns(events)
    launch = np.full(len(events), ABSENT)
    launch[3::4] = np.arange(2, len(events), 4)
    given_columns.launch = launch
    built = build_trace(given_columns)
    assert owners(built) == own(10, 20)
    assert "launch_ambiguous" not in built.quality.counts
    assert "launch_without_kernel" not in built.quality.counts


def test_a_named_launch_beats_the_correlation_id_and_may_be_an_operator() -> None:
    events = [
        op("first", 0, 20),
        call("cudaLaunchKernel", 5, 1, corr=1),
        op("second", 30, 20),
        op("inner", 32, 5),
        kernel("k", 40, 5, corr=1),
        kernel("other", 50, 5, corr=1),
    ]
    given_columns = columns(events)
    given_columns.launch = np.array([ABSENT] * 4 + [3, ABSENT])
    built = build_trace(given_columns)
    work = built.device_work
    assert names(built, work["launch"].to_list()) == ["inner", "cudaLaunchKernel"]
    assert names(built, work["owner"].to_list()) == ["inner", "first"]


def test_external_ids_are_those_of_a_process() -> None:
    """The call at the edge of an operator: only its id says that it is inside."""
    events = [
        event
        for pid in (10, 20)
        for event in (
            op(f"op of {pid}", 0, 10, pid=pid, ext=1),
            call("cudaLaunchKernel", 10, 1, pid=pid, corr=pid, ext=1),
            kernel(f"kernel of {pid}", 30, 5, corr=pid),
        )
    ]
    assert owners(trace(events)) == Counter(
        {(f"kernel of {pid}", f"op of {pid}"): 1 for pid in (10, 20)}
    )


def test_external_ids_decide_at_the_edges_of_operators_of_their_process() -> None:
    events = [
        event
        for number, pid in enumerate((10, 20, 30))
        for event in (
            op(f"a of {pid}", 10, 20, pid=pid, ext=1),
            op(f"b of {pid}", 30, 20, pid=pid, ext=2),
            call("cudaLaunchKernel", 30, 1, pid=pid, corr=100 + pid, ext=1),
            kernel(f"kernel of {pid}", 40, 5, corr=100 + pid, device=number),
        )
    ]
    assert owners(trace(events)) == Counter(
        {(f"kernel of {pid}", f"a of {pid}"): 1 for pid in (10, 20, 30)}
    )


def test_an_external_id_in_a_process_without_operators_names_none_of_the_others() -> None:
    launched = [
        call("cudaLaunchKernel", 5, 3, pid=30, corr=77),
        kernel("kernel of 30", 150, 5, corr=77, ext=1, device=2),
    ]
    built = trace([*process(10, 0, 0, ids=100), *process(20, 0, 1, ids=200), *launched])
    assert owners(built) == own(10, 20) + Counter({("kernel of 30", None): 1})


def test_work_without_a_launch_has_the_operator_of_its_devices_process() -> None:
    events = [
        *process(10, 0, 0, ids=50),
        *process(20, 4, 1, ids=100),
        kernel("lost", 300, 5, ext=2, device=1),
        kernel("nobody's", 300, 5, ext=2, device=2),
    ]
    owned = owners(trace(events))
    assert owned[("lost", "op of 20")] == 1
    assert owned[("nobody's", None)] == 1


def test_forward_threads_and_flows_are_those_of_a_process() -> None:
    """Both processes call their forward thread 1 and number operators and flows from 1; in the
    second, the flow leads to the second thread."""
    events: list[Event] = []
    for pid, tid in ((10, 1), (20, 2)):
        where = {"pid": str(pid), "cat": "fwdbwd", "name": "fwdbwd", "id": 1}
        first: dict[str, Any] = {"Sequence number": 1}
        events += [op(f"{pid} on {other}", 0, 5, pid=pid, tid=other, **first) for other in (1, 2)]
        number: dict[str, Any] = {"Sequence number": 1, "Fwd thread id": 1}
        events += [
            op(f"backward of {pid}", 100, 5, pid=pid, tid=3, **number),
            {"ph": "s", "tid": tid, "ts": 0, **where},
            {"ph": "f", "tid": 3, "ts": 100, **where},
        ]
    built = trace(events)
    backward = built.operators.filter(built.operators["forward_thread"] == 1)
    assert names(built, backward["forward"].to_list()) == ["10 on 1", "20 on 2"]


def test_steps_of_one_process_are_those_of_the_whole_file() -> None:
    built = trace([*process(10, 0, 0), op("elsewhere", 150, 5, pid=20)])
    codes = built.slices["name_code"]
    row = next(row for row, code in enumerate(codes) if built.text(code) == "elsewhere")
    assert built.slices["step"][row] == 1
    assert "several_processes" not in built.quality.counts


def test_a_process_without_steps_is_in_no_step_of_others() -> None:
    built = trace([*process(10, 0, 0), *process(20, 4, 1), op("elsewhere", 150, 5, pid=30)])
    codes = built.slices["name_code"]
    row = next(row for row, code in enumerate(codes) if built.text(code) == "elsewhere")
    assert built.slices["step"][row] is None


def test_the_tail_is_that_of_each_process() -> None:
    """The recording ended before the last kernel of process 20."""
    built = trace(process(10, 0, 0) + process(20, 4, 1, ids=100)[:-1])
    assert built.steps["kept"].to_list() == [True] * 5 + [False]


def test_earlier_work_of_one_process_moves_only_its_own_first_step() -> None:
    before = [
        call("cudaLaunchKernel", 1, 1, pid=20, corr=999),
        kernel("k", 2, 25, corr=999, device=1),
    ]
    built = trace(process(10, 10, 0) + process(20, 10, 1, ids=100) + before)
    assert built.steps.filter(built.steps["name"] == "0")["start_ns"].to_list() == [10_000, 27_000]


moments = st.integers(0, 40)


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 3), moments, st.integers(0, 12)), max_size=12
    ),
    st.lists(st.tuples(st.integers(1, 3), moments, st.booleans()), max_size=12),
)
def test_steps_and_what_lies_in_them_as_read_plainly(
    steps: list[tuple[int, int, int, int]], calls: list[tuple[int, int, bool]]
) -> None:
    """Each host slice is in the last step of its process that is open at its start."""
    events = [step(name, ts, dur, pid=pid) for pid, name, ts, dur in steps]
    events += [call("x", ts, 0, pid=pid, tid=2 if other else 1) for pid, ts, other in calls]
    built = trace(events)
    pids = dict(built.tracks.select("process", "pid").rows())
    sequences = {
        pid: [r for r in built.steps.rows(named=True) if pids.get(r["process"]) == pid]
        for pid in "123"
    }
    with_steps = [pid for pid in "123" if sequences[pid]]
    of_track = dict(built.tracks.select("track", "pid").rows())
    for pid, sequence in sequences.items():
        kept = {(name, ts * 1000) for of, name, ts, _ in steps if str(of) == pid}
        assert {(int(row["name"]), row["host_start_ns"]) for row in sequence} <= kept
        assert {name for name, _ in kept} == {int(row["name"]) for row in sequence}
    for row in built.slices.filter(
        built.slices["name_code"] == built.strings.tolist().index("x")
        if calls
        else built.slices["id"] < 0
    ).rows(named=True):
        pid = of_track[row["track"]]
        if not with_steps:
            assert row["step"] == 0
            continue
        sequence = sequences[with_steps[0] if len(with_steps) == 1 else pid]
        at = row["start_ns"]
        started = [one for one in sequence if one["host_start_ns"] <= at]
        open_one = started[-1] if started and at < started[-1]["host_end_ns"] else None
        said = None if row["step"] is None else built.steps.row(row["step"], named=True)
        assert said == open_one
