"""The view of resources on samples as our recorder takes them: host, process, workers, GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded, side_table
from tests.helpers.traces import op, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.resources.view import SPEC, resources
from torch_tb_profiler.views.schema import Line, Series, View

EVERY_US = 100_000.0
STEPS = [step(1, 0, 1e6), step(2, 1e6, 1e6), op("a", 10, 5)]


def every(source: str, metric: str, unit: str, values: list[float]) -> list[Sample]:
    """Samples a tenth of a second apart, the first at a tenth."""
    return [
        Sample(source, metric, unit, EVERY_US * (n + 1), value) for n, value in enumerate(values)
    ]


def line(series: Series, name: str) -> Line:
    return next(each for each in series.lines if each.name == name)


def shown(view: View) -> dict[str, list[str]]:
    return {panel.title: [each.name for each in panel.lines] for panel in view.series.values()}


def test_a_rate_is_drawn_in_the_time_that_it_is_of() -> None:
    samples = every("process", "CPU", "%", [50, 90, 10]) + every(
        "process", "threads", "", [3, 3, 5]
    )
    view = resources(recorded(STEPS, samples=samples), Selection())
    (cpu,) = view.series["process_pct"].lines
    assert cpu.x == [0, EVERY_US, 2 * EVERY_US, 3 * EVERY_US]
    assert cpu.y == [50, 90, 10, 10], "to the end of the last interval"
    (threads,) = view.series["process_threads"].lines
    assert threads.x == [EVERY_US, 2 * EVERY_US, 3 * EVERY_US]


def test_sources_are_drawn_by_kind_and_use_first() -> None:
    samples = [
        *every("GPU 0", "utilization", "%", [60]),
        *every("GPU 0", "power", "W", [300]),
        *every("loader worker 1", "CPU", "%", [40]),
        *every("loader worker 0", "CPU", "%", [30]),
        *every("process", "resident memory", "bytes", [5e9]),
        *every("process", "CPU", "%", [110]),
        *every("host", "CPU user", "%", [70]),
    ]
    assert list(shown(resources(recorded(STEPS, samples=samples), Selection())).items()) == [
        ("Host: CPU user", ["CPU user"]),
        ("Process: CPU", ["CPU"]),
        ("Workers: CPU", ["loader worker 0", "loader worker 1"]),
        ("GPU 0: utilization", ["utilization"]),
        ("Process: resident memory", ["resident memory"]),
        ("GPU 0: power", ["power"]),
    ]


def test_a_panel_is_called_after_what_its_curves_share() -> None:
    both = every("GPU 0", "SM clock", "MHz", [9, 8]) + every("GPU 1", "memory clock", "MHz", [9, 8])
    own = every("process", "CPU user", "%", [9, 8]) + every("process", "CPU system", "%", [9, 8])
    assert shown(resources(recorded(STEPS, samples=both + own), Selection())) == {
        "Process: use": ["CPU user", "CPU system"],
        "Devices: clocks": ["GPU 0 SM clock", "GPU 1 memory clock"],
    }


def test_curves_begin_with_the_samples_of_a_recorder() -> None:
    early = [Sample("process", "threads", "", at, 3) for at in (10, 40, 160)]
    events = [step(1, 100, 100), op("a", 110, 5)]
    (threads,) = (
        resources(recorded(events, samples=early), Selection()).series["process_threads"].lines
    )
    assert threads.x == [-90, -60, 60], "taken around a window, and in its means too"


def test_many_workers_have_a_panel_per_metric() -> None:
    samples = [
        sample
        for worker in range(5)
        for metric in ("read", "written")
        for sample in every(f"loader worker {worker}", metric, "bytes/s", [1e6, 2e6])
    ]
    view = resources(recorded(STEPS, samples=samples), Selection())
    assert shown(view) == {
        f"Workers: {metric}": [f"loader worker {worker}" for worker in range(5)]
        for metric in ("read", "written")
    }
    assert not view.notes


def test_what_is_mostly_nothing_is_drawn_only_where_it_is_something() -> None:
    quiet = every("GPU 0", "throttled by heat", "%", [0, 0])
    busy = every("GPU 0", "utilization", "%", [0, 0])
    view = resources(recorded(STEPS, samples=quiet + busy), Selection())
    assert shown(view) == {"GPU 0: utilization": ["utilization"]}
    assert view.tables["summary"].frame.height == 2
    assert not view.notes
    hot = every("GPU 0", "throttled by heat", "%", [0, 100])
    view = resources(recorded(STEPS, samples=hot + busy), Selection())
    assert len(view.series["devices_pct"].lines) == 2


def test_a_curve_ends_where_nothing_was_sampled_for_long() -> None:
    times = [*range(1, 21), *range(60, 70)]
    samples = [
        Sample("loader worker 0", "resident memory", "bytes", EVERY_US * n, n) for n in times
    ]
    (memory,) = (
        resources(recorded(STEPS, samples=samples), Selection()).series["workers_bytes"].lines
    )
    at = memory.y.index(None)
    assert (memory.x[at], memory.y[at - 1], memory.y[at + 1]) == (21 * EVERY_US, 20, 60)
    cpu = [Sample("loader worker 0", "CPU", "%", EVERY_US * n, n) for n in times]
    (rate,) = resources(recorded(STEPS, samples=cpu), Selection()).series["workers_pct"].lines
    assert rate.x[rate.y.index(60)] == 59 * EVERY_US, "nobody knows what was before"


def test_the_table_says_what_metrics_mean() -> None:
    samples = every("process", "CPU", "%", [50]) + every("process", "odd", "", [1])
    frame = resources(recorded(STEPS, samples=samples), Selection()).tables["summary"].frame
    about = dict(frame.select("metric", "about").iter_rows())
    assert "100 % is one core" in about["CPU"]
    assert about["odd"] is None


def test_steps_of_several_processes_are_marked_once() -> None:
    events = [
        {**step(number, number * 100 + 7 * pid, 100), "pid": pid}
        for pid in (1, 2)
        for number in (1, 2)
    ]
    operators = [{**op("a", 150, 5), "pid": pid} for pid in (1, 2)]
    samples = every("host", "load", "", [1])
    steps = resources(recorded([*events, *operators], samples=samples), Selection())
    frame = steps.tables["resource_steps"].frame
    assert frame.rows() == [("1", 0, 107), ("2", 100, 207)]


def test_steps_that_the_recorder_timed_are_marked_where_there_are_no_others() -> None:
    timed = [
        {"phase": "train", "step": 0, "start_us": 100.0, "duration_us": 50.0},
        {"phase": "evaluation", "step": 0, "start_us": 150.0, "duration_us": 10.0},
        {"phase": "train", "step": 1, "start_us": 160.0, "duration_us": 50.0},
    ]
    trace = recorded(
        [op("a", 100, 5)],
        samples=[Sample("host", "load", "", at, 1) for at in (110, 200)],
        side=[side_table("timed_steps", "rank0.record.jsonl", timed)],
    )
    frame = resources(trace, Selection()).tables["resource_steps"].frame
    assert frame.rows() == [("0", 0, 50), ("evaluation 0", 50, 60), ("1", 60, 110)]
    late = resources(trace, Selection(start_ns=155_000)).tables["resource_steps"].frame
    assert late["step"].to_list() == ["evaluation 0", "1"]


def test_the_recorders_own_reasons_are_told() -> None:
    reasons: dict[Any, str] = {"gpu_samples": "This machine has no NVIDIA GPU."}
    trace = recorded(STEPS, samples=every("host", "load", "", [1]), not_recorded=reasons)
    (note,) = resources(trace, Selection()).notes
    assert note.code == "gpu_samples_missing"
    assert reasons["gpu_samples"] in note.text
    reasons["host_samples"] = "--sample-every 0 takes no samples."
    told = SPEC.missing(recorded(STEPS, not_recorded=reasons))
    assert told == f"{reasons['host_samples']} {reasons['gpu_samples']}"


@pytest.mark.parametrize("selection", [Selection(steps="1"), Selection(start_ns=0, end_ns=10**9)])
def test_the_selection_narrows_curves_and_means(selection: Selection) -> None:
    samples = every("process", "CPU", "%", [10.0] * 10 + [90.0] * 10)
    view = resources(recorded(STEPS, samples=samples), selection)
    assert view.tables["summary"].frame["mean"].to_list() == [10]
    assert set(view.series["process_pct"].lines[0].y) == {10}


def test_the_order_is_that_of_the_machine_and_of_the_knowledge() -> None:
    names = [
        ("GPU 10", "power"), ("GPU 2", "power"), ("GPU 2", "utilization"),
        ("process", "threads"), ("process", "CPU"), ("loader worker 10", "CPU"),
        ("loader worker 9", "CPU"), ("host", "odd"),
        ("host", "CPU idle"), ("host", "CPU user"),
    ]  # fmt: skip
    samples = [sample for name in names for sample in every(*name, "%", [1])]
    frame = resources(recorded(STEPS, samples=samples), Selection()).tables["summary"].frame
    assert frame.select("source", "metric").rows() == [
        ("host", "CPU user"), ("host", "CPU idle"), ("host", "odd"), ("process", "CPU"),
        ("process", "threads"), ("loader worker 9", "CPU"), ("loader worker 10", "CPU"),
        ("GPU 2", "utilization"), ("GPU 2", "power"), ("GPU 10", "power"),
    ]  # fmt: skip


def test_times_at_the_ends_of_what_there_is() -> None:
    far = [Sample("process", "CPU", "%", at, 5) for at in (-(2**52), 0, 2**52)]
    view = resources(recorded(STEPS, samples=far), Selection())
    (cpu,) = view.series["process_pct"].lines
    assert np.isfinite(cpu.x).all()
    assert len(cpu.x) == 4
