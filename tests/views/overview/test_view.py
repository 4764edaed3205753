"""The overview against worked fixtures and moments counted one by one.

Cases: FX1 all roles; FX2 no step; FX3 two steps; FX4 work spilling over; FX5 tail left out, named,
and shown when asked for; FX7 GPU metrics, and kernels outside the steps; FX11 a step wholly
covered (the predecessor's restart defect); steps and time ranges; traces without device, without
steps in range, of length 0; environment; any random trace: categories add up to the step.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.helpers.traces import (
    Event,
    annotation,
    call,
    kernel,
    memcpy,
    memset,
    op,
    step,
    trace,
)
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.communication.roles import Role, slice_roles
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import Fact, View

KEYS = [f"{role.name.lower()}_us" for role in Role]
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

FX1 = [
    op(LOADER, 100, 180, tid=123, ext=2),
    op("aten::to", 200, 60, tid=123, ext=3),
    op("aten::nll_loss_backward", 340, 70, tid=456, ext=4),
    step(1, 50, 400, tid=123, ext=1),
    memcpy(405, 10, ext=4, corr=334),
    call("cudaMemcpyAsync", 360, 20, tid=456, ext=4, corr=334),
    memset(420, 5, ext=4, corr=40344),
    call("cudaMemsetAsync", 390, 10, tid=456, ext=4, corr=40344),
    kernel("k", 430, 15, ext=4, corr=40348),
    call("cudaLaunchKernel", 405, 5, tid=456, ext=4, corr=40348),
]
FX2 = [
    op("aten::to", 100, 60, tid=123, ext=3),
    op("aten::nll_loss_backward", 300, 70, tid=456, ext=4),
    kernel("k", 320, 100, ext=4, corr=1),
    call("cudaLaunchKernel", 310, 20, tid=456, ext=4, corr=1),
]


def fx3(copy_us: int) -> list[Event]:
    return [
        step(1, 100, 200, tid=123, ext=1),
        op("aten::to", 200, 60, tid=123, ext=2),
        step(2, 350, 150, tid=123, ext=3),
        op("aten::mm", 360, 50, tid=123, ext=4),
        memcpy(280, copy_us, ext=2, corr=334),
        call("cudaMemcpyAsync", 250, 5, tid=123, ext=2, corr=334),
        kernel("k", 410, 200, ext=4, corr=48),
        call("cudaLaunchKernel", 400, 5, tid=123, ext=4, corr=48),
    ]


FX5 = [
    step(1, 100, 200, tid=123, ext=1),
    step(2, 300, 100, tid=123, ext=10),
    step(3, 400, 50, tid=123, ext=11),
    op("aten::to", 120, 10, tid=123, ext=2),
    kernel("before", 90, 20, ext=123, corr=123),
    call("cudaLaunchKernel", 125, 5, tid=123, ext=2, corr=334),
    kernel("k", 150, 180, ext=2, corr=334),
]


def steps_of(view: View) -> list[list[float]]:
    return [[*row[2:], row[1]] for row in view.tables["steps"].frame.rows()]


def average_of(view: View) -> list[float]:
    return view.tables["average_step"].frame["duration_us"].to_list()


def fact(view: View, key: str, scope: str | None = None) -> Fact:
    [result] = [fact for fact in view.facts if fact.key == key and fact.scope == scope]
    return result


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(FX1, [[15, 10, 5, 0, 30, 180, 35, 125, 400]], id="FX1"),
        pytest.param(FX2, [[100, 0, 0, 0, 10, 0, 70, 140, 320]], id="FX2"),
        pytest.param(
            fx3(40),
            [[0, 40, 0, 0, 5, 0, 55, 120, 220], [200, 0, 0, 0, 5, 0, 45, 10, 260]],
            id="FX3",
        ),
        pytest.param(
            [*fx3(100), kernel("stray", 150, 90, ext=123, corr=123)],
            [[0, 100, 0, 0, 5, 0, 15, 20, 140], [200, 0, 0, 0, 5, 0, 25, 0, 230]],
            id="FX4",
        ),
        pytest.param(FX5, [[180, 0, 0, 0, 5, 0, 5, 30, 220]], id="FX5"),
    ],
)
def test_steps_of_fixtures(events: list[Event], expected: list[list[float]]) -> None:
    view = overview(trace(events), Selection())
    assert steps_of(view) == expected
    means = np.mean(expected, axis=0)
    assert average_of(view) == pytest.approx(means[:-1])
    assert fact(view, "average_step_us").value == pytest.approx(means[-1])
    assert fact(view, "step_count").value == len(expected)
    shares = view.tables["average_step"].frame["pct"].to_list()
    assert shares == pytest.approx(means[:-1] / means[-1] * 100)


def test_steps_are_named_and_the_made_up_one_is_0() -> None:
    assert overview(trace(FX2), Selection()).tables["steps"].frame["step"].to_list() == ["0"]
    named = overview(trace(fx3(40)), Selection()).tables["steps"].frame["step"].to_list()
    assert named == ["1", "2"]


def test_tail_is_named_and_can_be_asked_for() -> None:
    view = overview(trace(FX5), Selection())
    [note] = [note for note in view.notes if note.code == "step_left_out"]
    assert note.evidence["steps"] == ["2", "3"]
    requested = overview(trace(FX5), Selection(steps="1:3"))
    assert requested.tables["steps"].frame["step"].to_list() == ["1", "2", "3"]
    assert "step_left_out" not in [note.code for note in requested.notes]


def test_a_step_that_is_cut_is_no_part_of_averages() -> None:
    recorded = trace(fx3(40))
    view = overview(recorded, Selection(start_ns=200_000))
    assert [row[-1] for row in steps_of(view)] == [120, 260]
    assert average_of(view) == [200, 0, 0, 0, 5, 0, 45, 10]
    assert fact(view, "average_step_us").value == 260
    assert fact(view, "step_count").value == 1
    [note] = [note for note in view.notes if note.code == "step_cut"]
    assert note.evidence["steps"] == ["1"]


def test_a_range_inside_a_step_is_averaged_over_and_said_to_be_no_step() -> None:
    view = overview(trace(fx3(40)), Selection(start_ns=200_000, end_ns=260_000))
    assert fact(view, "average_step_us").value == 60
    [note] = [note for note in view.notes if note.code == "step_cut"]
    assert "not complete steps" in note.text


def test_incomplete_steps_asked_for_by_name_are_shown_beside_the_averages() -> None:
    requested = overview(trace(FX5), Selection(steps="1:3"))
    assert (
        fact(requested, "average_step_us").value == requested.tables["steps"].frame["total_us"][0]
    )
    [note] = [note for note in requested.notes if note.code == "step_cut"]
    assert note.evidence["steps"] == ["2", "3"]


def test_what_a_recording_of_the_device_alone_cannot_tell_is_null() -> None:
    view = overview(trace([kernel("k", 0, 40), memcpy(60, 20)]), Selection())
    assert average_of(view) == [40, 20, 0, 0, None, None, None, 20]
    reason = view.tables["average_step"].null_reasons["duration_us"]
    assert "no device API calls" in reason
    assert "no operators" in reason
    steps = view.tables["steps"]
    assert steps.frame.select("runtime_us", "dataloader_us", "cpu_exec_us").row(0) == (None,) * 3
    assert {"runtime_us", "dataloader_us", "cpu_exec_us"} <= set(steps.null_reasons)


def test_a_step_wholly_covered_adds_up_nevertheless() -> None:
    # The predecessor served Kernel 100, Runtime 5, CPU Exec 85, Other 10 of 100.
    view = overview(
        trace(
            [
                step(1, 0, 100),
                op("aten::mm", 5, 90),
                call("cudaLaunchKernel", 10, 5, corr=1),
                kernel("k", 0, 100, corr=1),
            ]
        ),
        Selection(),
    )
    assert steps_of(view) == [[100, 0, 0, 0, 0, 0, 0, 0, 100]]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        pytest.param(
            [(0, 75), (16, 16), (100, 20), (130, 161), (162, 1556)],
            [105, 0, 0, 16, None, 0, 79, 35, 235],
            id="worker0",
        ),
        # Where the predecessor's restart made CPU Exec 20 and Other 215.
        pytest.param(
            [(0, 20), (8, 31), (25, 20), (30, 161), (562, 1058)],
            [161, 0, 0, 22, None, 0, 52, 0, 235],
            id="worker1",
        ),
    ],
)
def test_fx11_communication_runs_on_the_device_and_the_host_only_hands_it_over(
    ranges: list[tuple[int, int]], expected: list[float | None]
) -> None:
    broadcast, broadcast_kernel, add, add_kernel, reduce_kernel = ranges
    recorded = trace(
        [
            annotation("nccl:broadcast", *broadcast, ext=146),
            op("aten::add_", *add),
            kernel("ncclKernel_Broadcast_RING_LL_Sum_int8_t", *broadcast_kernel, stream=8),
            kernel("vectorized_elementwise_kernel", *add_kernel),
            annotation("nccl:all_reduce", 160, 75, ext=2513),
            kernel("ncclKernel_AllReduce_RING_LL_Sum_float", *reduce_kernel, stream=8),
        ]
    )
    assert steps_of(overview(recorded, Selection())) == [expected]


FX7 = [
    op("mat_mul", 100, 100, tid=456, ext=2),
    op("mm", 120, 70, tid=456, ext=4),
    kernel("A", 130, 10, ext=4, corr=1, device=1, blocks=0.5, occupancy=0.6),
    kernel("B", 135, 15, ext=2, corr=2, device=1, blocks=0.6, occupancy=0.1),
    kernel("B", 150, 0, ext=2, corr=3, device=1, blocks=0.3, occupancy=0.2),
    kernel("A", 145, 25, ext=4, corr=4, device=1, blocks=0.3, occupancy=1.0),
    kernel("A", 200, 20, ext=2, corr=5, device=1, blocks=10.5, occupancy=0.3),
    call("cudaLaunchKernel", 120, 0, tid=456, ext=2, corr=2),
    call("cudaLaunchKernel", 120, 0, tid=456, ext=2, corr=3),
    call("cudaLaunchKernel", 125, 3, tid=456, ext=4, corr=1),
    call("cudaLaunchKernel", 125, 3, tid=456, ext=4, corr=4),
    call("cudaLaunchKernel", 195, 1, tid=456, ext=2, corr=5),
]


def test_selected_steps_and_time_ranges_cut_the_steps() -> None:
    recorded = trace(fx3(40))
    second = overview(recorded, Selection(steps="2"))
    assert steps_of(second) == [[200, 0, 0, 0, 5, 0, 45, 10, 260]]
    assert fact(second, "gpu_utilization_pct", "GPU 0").value == pytest.approx(200 / 260 * 100)
    # Step 1 is 100–320, step 2 is 350–610: the range cuts both.
    cut = overview(recorded, Selection(start_ns=300_000, end_ns=411_000))
    assert steps_of(cut) == [[0, 20, 0, 0, 0, 0, 0, 0, 20], [1, 0, 0, 0, 5, 0, 45, 10, 61]]
    assert steps_of(overview(recorded, Selection(start_ns=10**9))) == []


def test_nothing_selected_is_null_with_a_reason() -> None:
    view = overview(trace(fx3(40)), Selection(start_ns=10**9))
    assert average_of(view) == [None] * 8
    assert "no step" in view.tables["average_step"].null_reasons["duration_us"]
    assert fact(view, "average_step_us").value is None
    assert fact(view, "gpu_utilization_pct", "GPU 0").value is None
    assert fact(view, "gpu_utilization_pct", "GPU 0").reason


def test_unknown_steps_are_an_error() -> None:
    with pytest.raises(SelectionError):
        overview(trace(fx3(40)), Selection(steps="9"))


def test_without_device_the_device_categories_are_unknown_not_0() -> None:
    view = overview(trace([step(1, 0, 100), op("aten::mm", 10, 40)]), Selection())
    assert average_of(view) == [None, None, None, 0, None, 0, 40, 60]
    assert view.tables["gpus"].frame.is_empty()
    assert fact(view, "device_type").value == "CPU"
    assert len(view.series["step_time"].lines) == 4


def test_a_step_of_length_0_and_an_empty_trace() -> None:
    view = overview(trace([step(1, 5, 0)]), Selection())
    assert view.tables["steps"].frame["total_us"].to_list() == [0]
    assert view.tables["average_step"].frame["pct"].null_count() == 8
    assert overview(trace([]), Selection()).tables["steps"].frame.is_empty()


def test_environment_shows_named_keys_only() -> None:
    view = overview(
        trace(
            FX1,
            cuda_runtime_version=12040,
            hip_runtime_version=60443483,
            host_name="node-1",
            distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8, "secret": "x"},
            metadata={"AWS_SECRET_ACCESS_KEY": "hunter2"},
        ),
        Selection(),
    )
    shown = {fact.key: fact.value for fact in view.facts}
    assert shown["cuda_runtime_version"] == "12.4"
    assert shown["hip_runtime_version"] == "6.4.43483"
    assert (shown["host_name"], shown["backend"]) == ("node-1", "nccl")
    assert (shown["rank"], shown["world_size"]) == (3, 8)
    assert "hunter2" not in repr(view)
    assert "secret" not in repr(view)


def test_quality_counts_become_notes() -> None:
    view = overview(trace([step(1, 0, 100), kernel("orphan", 0, 40, corr=77)]), Selection())
    [note] = [note for note in view.notes if note.code == "kernel_without_launch"]
    assert note.severity == "warning"
    assert note.evidence["count"] == 1


def roles_by_moment(recorded: Trace) -> dict[int, Role]:
    """The strongest role at every ns at which any is active."""
    roles = slice_roles(recorded).tolist()
    result: dict[int, Role] = {}
    for role, row in zip(roles, recorded.slices.iter_rows(named=True), strict=True):
        if role == Role.OTHER:
            continue
        for moment in range(row["start_ns"], row["start_ns"] + row["dur_ns"]):
            result[moment] = min(result.get(moment, Role.OTHER), Role(role))
    return result


@given(recordings())
def test_categories_add_up_and_agree_with_counted_moments(recording: Recording) -> None:
    recorded = trace(recording.events)
    selection = recording.selection
    strongest = roles_by_moment(recorded)
    kept = recorded.steps
    if selection.steps is None:
        kept = kept.filter("kept")
    else:
        kept = kept.filter(kept["name"] == selection.steps)
    expected = []
    for row in kept.iter_rows(named=True):
        first = max(row["start_ns"], selection.start_ns or -(10**9))
        last = min(row["end_ns"], 10**9 if selection.end_ns is None else selection.end_ns)
        early = selection.start_ns is not None and row["end_ns"] <= selection.start_ns
        late = selection.end_ns is not None and first >= selection.end_ns
        if early or late:
            continue
        counts = [0] * len(Role)
        for moment in range(first, last):
            counts[strongest.get(moment, Role.OTHER)] += 1
        expected.append([count / 1000 for count in counts])
    frame = overview(recorded, selection).tables["steps"].frame
    assert frame.height == len(expected)
    for row, wanted in zip(frame.iter_rows(named=True), expected, strict=True):
        parts = [row[key] or 0 for key in KEYS]
        assert sum(parts) == pytest.approx(row["total_us"], abs=1e-9)
        assert parts == pytest.approx(wanted, abs=1e-9)


def test_device_work_that_was_launched_and_not_recorded_is_unknown_not_zero() -> None:
    host = [step(1, 0, 100), op("aten::mm", 10, 50)]
    view = overview(trace([*host, call("cudaLaunchKernel", 20, 5, corr=1)]), Selection())
    row = view.tables["steps"].frame.row(0, named=True)
    assert (row["kernel_us"], row["memcpy_us"], row["memset_us"]) == (None, None, None)
    assert (row["runtime_us"], row["cpu_exec_us"], row["other_us"]) == (5.0, 45.0, 50.0)
    waiting = overview(trace([*host, call("cudaDeviceSynchronize", 20, 5)]), Selection())
    assert waiting.tables["steps"].frame["kernel_us"].to_list() == [0.0]
