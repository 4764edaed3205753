"""GPU measures of random traces against counting moments (FX7 stands in test_overview)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers.traces import kernel, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import View


def gpu_rows(view: View) -> dict[int, dict[str, Any]]:
    return {row["gpu"]: row for row in view.tables["gpus"].frame.to_dicts()}


@given(recordings())
def test_measures_agree_with_counted_moments(recording: Recording) -> None:
    recorded = trace(recording.events)
    windows = step_windows(recorded, recording.selection)
    moments = [
        moment
        for start, end in zip(windows.start_ns, windows.end_ns, strict=True)
        for moment in range(start, end)
    ]
    pieces = [
        (round(e["ts"] * 1000), round(e["dur"] * 1000), e["args"] | {"name": e["name"]})
        for e in recording.events
        if e["cat"] == "kernel"
    ]
    for gpu, row in gpu_rows(overview(recorded, recording.selection)).items():
        mine = [(s, s + d, args) for s, d, args in pieces if args["device"] == gpu]
        busy, filled, occupied, weight = 0, 0.0, 0.0, 0
        computing = perhaps = 0
        for moment in moments:
            active = [args for s, e, args in mine if s <= moment < e]
            busy += bool(active)
            # Of a name that no rule knows the range that launched it tells what it is.
            computing += any(a["name"].startswith(("volta", "vector")) for a in active)
            perhaps += any(not a["name"].startswith("nccl") for a in active)
            filled += min(1.0, sum(args.get("blocks per SM", 0) for args in active))
            known = [a["est. achieved occupancy %"] for a in active if len(a) and _has(a)]
            occupied += sum(known)
            weight += len(known)
        if not moments:
            assert row["utilization_pct"] is None
            continue
        assert row["utilization_pct"] == pytest.approx(busy / len(moments) * 100)
        for computed_pct in _compute_bounds(row):
            computed = computed_pct / 100 * len(moments)
            assert computing - 1e-6 <= computed <= perhaps + 1e-6
        if any("blocks per SM" in args for *_, args in mine):
            assert row["est_sm_efficiency_pct"] == pytest.approx(filled / len(moments) * 100)
        else:
            assert row["est_sm_efficiency_pct"] is None
        if weight:
            assert row["est_achieved_occupancy_pct"] == pytest.approx(occupied / weight)
        else:
            assert row["est_achieved_occupancy_pct"] is None


def _compute_bounds(row: dict[str, Any]) -> tuple[float, ...]:
    """The bounds in order, and the value between them; a value is null where they are wide."""
    least, most = row["compute_utilization_min_pct"], row["compute_utilization_max_pct"]
    value = row["compute_utilization_pct"]
    assert value in (None, most)
    assert least <= most
    return least, most


def _has(args: dict[str, Any]) -> bool:
    return "est. achieved occupancy %" in args


def test_gaps_between_steps_do_not_count() -> None:
    # The predecessor took first start to last end: 20 of 300.
    recorded = trace([step(1, 0, 50), kernel("k", 10, 20), step(2, 250, 50), kernel("k", 100, 100)])
    [row] = gpu_rows(overview(recorded, Selection())).values()
    assert row["utilization_pct"] == pytest.approx(20)


def test_communication_kernels_keep_a_gpu_busy_and_copies_do_not() -> None:
    recorded = trace(
        [
            op("aten::mm", 0, 100),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 30),
            kernel("copy", 50, 50, cat="gpu_memcpy"),
        ]
    )
    windows = step_windows(recorded, Selection())
    use = gpu_use(gpu_profiles(recorded)[0], windows.start_ns, windows.end_ns)
    assert use.utilization_pct == pytest.approx(30)


def test_absurd_estimates_leave_nothing_behind() -> None:
    events = [
        step(1, 0, 100),
        kernel("a", 0, 10, blocks=1e308, occupancy=50),
        kernel("b", 5, 10, blocks=1e300, occupancy=1e9),
        kernel("c", 50, 10, blocks=0.5, occupancy=100, stream=8),
    ]
    row = gpu_rows(overview(trace(events), Selection()))[0]
    assert row["est_sm_efficiency_pct"] == pytest.approx(5)
    assert row["est_achieved_occupancy_pct"] == pytest.approx(75)
