"""Scopes of operators by level, from their full names: worked, and against reading a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import call, kernel, step, trace
from tests.importers.mindspore.folders import on_disk, opened
from torch_tb_profiler.analysis.recording.operator_paths import codes_by_path, operator_paths
from torch_tb_profiler.reports.timeline_binary import timeline_bytes
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.choice import choose
from torch_tb_profiler.views.timeline.levels import with_levels
from torch_tb_profiler.views.timeline.names import name_text, names_from
from torch_tb_profiler.views.timeline.scopes import scopes
from torch_tb_profiler.views.timeline.screen import Viewport

Bars = list[list[tuple[str, int, int]]]


def bars(trace: Trace, depth: int = 8, device: int = 0) -> Bars:
    """Per lane of the track of scopes its boxes: name, start and end in µs from the origin."""
    shown = with_levels(trace, {"scopes": depth})
    lanes = shown.lanes
    number = [track.key for track in shown.tracks].index(f"levels.scopes.d{device}")
    assert lanes.name is not None
    result: Bars = []
    for lane in np.flatnonzero(lanes.track == number)[: shown.tracks[number].lanes]:
        positions = np.arange(lanes.first[lane], lanes.first[lane + 1])
        assert set(lanes.category[positions].tolist()) == {categories.SCOPE}
        names = [str(name_text(trace, code)) for code in lanes.name[positions].tolist()]
        start, end = lanes.start_ns[positions] // 1000, lanes.end_ns(positions) // 1000
        result.append(list(zip(names, start.tolist(), end.tolist(), strict=True)))
    return result


def test_runs_of_operators_of_one_scope_by_level() -> None:
    timeline = trace(
        [
            kernel("Default/net-Net/conv-Conv2d/Conv2D-op1", 0, 10),
            kernel("Default/net-Net/conv-Conv2d/BiasAdd-op2", 20, 10),
            kernel("Default/net-Net/fc-Dense/MatMul-op3", 30, 5),
            kernel("Default/Cast-op4", 40, 5),
            kernel("Default/net-Net/conv-Conv2d/Conv2D-op1", 50, 10),
            kernel("ncclDevKernel_AllReduce_Sum", 61, 10, stream=9),
            kernel("Gradients/Default/net-Net/MatMul-op5", 75, 5),
        ]
    )
    outer, second, third = bars(timeline)
    assert outer == [("Default", 0, 60), ("Gradients", 75, 80)]
    assert second == [("net-Net", 0, 35), ("net-Net", 50, 60), ("Default", 75, 80)]
    assert third == [
        ("conv-Conv2d", 0, 30), ("fc-Dense", 30, 35), ("conv-Conv2d", 50, 60), ("net-Net", 75, 80),
    ]  # fmt: skip
    assert bars(timeline, depth=1) == [outer]


def test_a_scope_ends_with_its_step_and_begins_where_one_before_ends() -> None:
    events = [
        step(1, 0, 100), call("cudaLaunchKernel", 1, 1, corr=1),
        call("cudaLaunchKernel", 3, 1, corr=2),
        step(2, 100, 100), call("cudaLaunchKernel", 101, 1, corr=3),
        kernel("Default/a/X-op1", 10, 50, corr=1),
        kernel("Default/b/X-op2", 40, 50, corr=2, stream=8),
        kernel("Default/b/X-op2", 110, 10, corr=3),
    ]  # fmt: skip
    assert bars(trace(events)) == [
        [("Default", 10, 90), ("Default", 110, 120)],
        [("a", 10, 60), ("b", 60, 90), ("b", 110, 120)],
    ]


def test_names_without_scopes_are_completed_by_the_files() -> None:
    paths = [{"name": "Mul-op1", "path": "Default/opt-Adam/Mul-op1"}]
    operators: list[dict[str, Any]] = [
        {"unit": "AI Core", "type": "Cast", "name": name}
        for name in ("Default/a/Cast-op2", "Default/a/Add-op3", "Default/b/Add-op3", "Alone-op4")
    ]
    side = [
        side_table("operator_paths", "timeline", paths),
        side_table("recorded_operators", "detail.csv", operators),
    ]
    names = ("Mul-op1", "Cast-op2", "Add-op3", "Alone-op4")
    timeline = recorded([kernel(name, 10 * n, 5) for n, name in enumerate(names)], side=side)
    assert set(operator_paths(timeline).values()) == {
        "Default/opt-Adam/Mul-op1",
        "Default/a/Cast-op2",
    }
    assert timeline.text(codes_by_path(timeline)["Default/a/Cast-op2"]) == "Cast-op2"
    assert bars(timeline)[1] == [("opt-Adam", 0, 5), ("a", 10, 15)]


def test_a_timeline_of_mindspore(corpus: Path) -> None:
    """Against a second reading of the file, level by level."""
    folder = corpus / "mindspore_r1" / "run_1_normal_run_profiler"
    timeline = opened(on_disk(folder, 1))
    events = json.loads((folder / "timeline_display_1.json").read_text())
    calls = sorted(
        (event["ts"], event["ts"] + event["dur"], event["args"]["fullname"].split("/")[:-1])
        for event in events
        if event.get("args")
    )
    assert len(calls) == 2817
    # The operators after the last step are of one that is cut.
    steps = np.append(timeline.steps["host_start_ns"], timeline.steps["end_ns"][-1:]) / 1000
    for level, runs in enumerate(scopes(timeline).runs[1]):
        expected: list[tuple[str, float]] = []
        before: object = None
        for start, _, scope in calls:
            now = (scope[: level + 1], int(np.searchsorted(steps, start, "right")))
            if len(scope) > level and now != before:
                expected.append((scope[level], start))
            before = now if len(scope) > level else None
        names = [scopes(timeline).names[name] for name in runs.name.tolist()]
        assert names == [name for name, _ in expected]
        assert np.allclose(runs.start_ns / 1000, [start for _, start in expected], atol=0.01)


def test_a_screen_and_the_pages_of_names_have_the_names_of_scopes() -> None:
    timeline = trace([kernel("Default/net-Net/Conv2D-op1", 0, 10)])
    shown = with_levels(timeline, {"scopes": 2})
    choice = choose(shown, "levels.scopes.d0:0-1")
    answer = timeline_bytes(shown, choice, Viewport(0, 10_000, 100))
    head = json.loads(answer[answer.index(b"{") : answer.rindex(b"}") + 1])
    assert {"Default", "net-Net"} <= set(head["names"])
    page = names_from(timeline, 0)
    assert page.names == ["Default/net-Net/Conv2D-op1", "Default", "net-Net"]
    assert name_text(timeline, page.codes[-1] + 1) is None


def test_kernels_of_others_have_no_scopes() -> None:
    others = ["void at::native::x<a/b>(int)", "jit(train)/dot_general", "triton_poi/fused", "a-op1"]
    timeline = trace([kernel(name, 10 * n, 5) for n, name in enumerate(others)])
    assert operator_paths(timeline) == {}
    assert scopes(timeline).runs == {}
    assert [track.kind for track in with_levels(timeline, {"scopes": 8}).tracks].count(
        "levels"
    ) == 0
