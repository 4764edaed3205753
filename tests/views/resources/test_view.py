"""The view of resources: what was sampled, against sums by hand, and curves that hide no peak."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel, op, step
from torch_tb_profiler.analysis.recording.samples import (
    MAX_SERIES,
    SampleSeries,
    downsample,
    samples,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.resources.notes import NOTHING
from torch_tb_profiler.views.resources.panels import MAX_LINES, MAX_POINTS
from torch_tb_profiler.views.resources.view import SPEC, resources
from torch_tb_profiler.views.schema import View

STEPS = [step(1, 100, 100), step(2, 200, 100), op("a", 110, 5), op("b", 210, 5)]
CPU = [
    Sample("host", "cores used", "%", at, value) for at, value in ((120, 10), (180, 20), (260, 60))
]
CLOCK = [Sample("GPU 0", "SM clock", "MHz", at, value) for at, value in ((250, 900), (150, 1800))]
SWITCHES = [Sample("host", "context switches", "", 120, 4000)]


def machine() -> Trace:
    return recorded(STEPS, samples=[*CPU, *CLOCK, *SWITCHES])


def rows(view: View) -> dict[str, dict[str, object]]:
    return {row["metric"]: row for row in view.tables["summary"].frame.iter_rows(named=True)}


def test_means_and_extremes() -> None:
    user = rows(resources(machine(), Selection()))["cores used"]
    assert user == {
        "metric": "cores used", "source": "host", "mean": 30, "min": 10, "max": 60, "unit": "%",
        "samples": 3, "about": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("selection", "mean"),
    [(Selection(steps="1"), 15), (Selection(steps="2"), 60), (Selection(start_ns=150_000), 40)],
)
def test_the_selection_narrows_them(selection: Selection, mean: float) -> None:
    assert rows(resources(machine(), selection))["cores used"]["mean"] == mean


def test_a_panel_per_unit_and_of_numbers_per_metric() -> None:
    series = resources(machine(), Selection()).series
    assert list(series) == ["host_pct", "host_context_switches", "devices_mhz"]
    clock = series["devices_mhz"]
    assert (clock.y_title, clock.y_unit) == ("SM clock (MHz)", None)
    (line,) = clock.lines
    assert (line.name, line.x, line.y) == ("SM clock", [50, 150], [1800, 900])
    assert series["host_pct"].y_unit == "pct"


@pytest.mark.parametrize(("value", "unit"), [(25e9, "GB/s"), (25e6, "MB/s"), (25, "bytes/s")])
def test_bytes_per_second_are_drawn_in_a_unit_that_fits(value: float, unit: str) -> None:
    read = [Sample("NPU 0", "HBM read", "bytes/s", at, value) for at in (100, 200)]
    view = resources(recorded(STEPS, samples=read), Selection())
    (panel,) = view.series.values()
    assert (panel.y_title, set(panel.lines[0].y)) == (f"HBM read ({unit})", {25})
    assert rows(view)["HBM read"]["mean"] == value / 1e6


def test_steps_are_marked_on_the_same_axis() -> None:
    steps = resources(machine(), Selection()).tables["resource_steps"].frame
    assert steps.rows() == [("1", 0, 100), ("2", 100, 200)]
    many = [step(number, number * 10, 9) for number in range(280)]
    shown = resources(recorded(many, samples=CPU), Selection()).tables["resource_steps"].frame
    assert shown["step"].to_list() == [str(5 * n) for n in range(56)], "of many every nth"


def test_peaks_stay_in_thinned_curves() -> None:
    time = np.arange(100_000, dtype=np.int64) * 10
    value = np.zeros(len(time))
    value[[5, 77_777]] = (-3, 9)
    series = SampleSeries("GPU 0", "SMs Active", "%", time, value)
    kept = downsample(series, MAX_POINTS)
    assert len(kept) <= MAX_POINTS
    assert np.all(np.diff(kept) > 0)
    assert {5, 77_777} <= set(kept.tolist())
    few = SampleSeries("GPU 0", "SMs Active", "%", time[:7], value[:7])
    assert downsample(few, MAX_POINTS).tolist() == list(range(7))


def test_thinning_keeps_the_extremes_of_every_stretch() -> None:
    random = np.random.default_rng(7)
    time = np.sort(random.integers(0, 10**6, 5000))
    value = random.normal(size=5000)
    kept = downsample(SampleSeries("", "", "", time, value), 40)
    bucket = (time - time[0]) // ((time[-1] - time[0] + 1) / 20)
    for each in np.unique(bucket):
        inside = value[bucket == each]
        assert {inside.min(), inside.max()} <= set(value[kept].tolist())


def test_lines_that_vary_least_are_left_out_and_counted() -> None:
    many = [
        Sample("GPU 0", f"metric {n:02d}", "%", at, at / 100 * n)
        for n in range(MAX_LINES + 3)
        for at in (100, 200)
    ]
    view = resources(recorded(STEPS, samples=many), Selection())
    (panel,) = view.series.values()
    assert len(panel.lines) == MAX_LINES
    assert panel.lines[0].name == "metric 03"
    (note,) = [note for note in view.notes if note.code == "curves_left_out"]
    assert note.evidence["count"] == 3


def test_series_of_a_damaged_file_are_bounded() -> None:
    many = [Sample(f"s{n}", "m", "", 100, n) for n in range(MAX_SERIES + 9)]
    trace = recorded(STEPS, samples=many)
    assert (len(samples(trace).series), samples(trace).left_out) == (MAX_SERIES, 9)
    assert "samples_left_out" in {note.code for note in resources(trace, Selection()).notes}


def test_what_is_no_number_is_left_out() -> None:
    odd = [*CPU, Sample("host", "cores used", "%", 300, float("nan"))]
    assert rows(resources(recorded(STEPS, samples=odd), Selection()))["cores used"]["samples"] == 3


def test_one_value_of_the_recorder() -> None:
    trace = recorded(STEPS, process_cpu_pct=130.5)
    table = resources(trace, Selection()).tables["summary"]
    row = table.frame.row(0, named=True)
    assert (row["metric"], row["mean"], row["min"]) == (
        "CPU utilization of the process",
        130.5,
        None,
    )
    assert set(table.null_reasons) == {"min", "max", "samples"}


def test_queues_are_no_resource_and_without_anything_it_says_why() -> None:
    assert "torch-tb-profiler record" in str(SPEC.missing(recorded(STEPS)))
    queue = [Sample("queue 1", "queue size", "", 100, 3)]
    assert SPEC.missing(recorded(STEPS, samples=queue, recorder="paddle.profiler")) == NOTHING
    assert SPEC.missing(recorded(STEPS, samples=CPU)) is None
    nsys = recorded([kernel("k", 0, 1)], recorder="Nsight Systems")
    assert "--gpu-metrics-devices" in str(SPEC.missing(nsys))


def test_a_recording_of_samples_alone() -> None:
    view = resources(recorded([], samples=CPU), Selection())
    (panel,) = view.series.values()
    assert panel.lines[0].x == [0, 60, 140]


def test_a_panel_of_one_curve_says_of_what_it_is() -> None:
    sampled = [Sample("NPU 0", "AI Core Freq", "MHz", at, 1800) for at in (100, 200)]
    sampled += [Sample("host", "context switches", "", 100, 4), *CPU[:1]]
    titles = {
        panel.title
        for panel in resources(recorded(STEPS, samples=sampled), Selection()).series.values()
    }
    assert titles == {"NPU 0: AI Core Freq", "Host: context switches", "Host: cores used"}


def test_curves_begin_with_the_recording() -> None:
    early = [Sample("NPU 0", "clock", "MHz", at, at) for at in (20, 70, 150)]
    momentary = [Sample("AI Core", "mac", "%", at, at) for at in (50, 160)]
    view = resources(recorded(STEPS, samples=[*early, *momentary]), Selection())
    (clock,) = view.series["devices_mhz"].lines
    assert (clock.x, clock.y) == ([0, 50], [70, 150]), "the value that held at the start"
    (mac,) = view.series["devices_pct"].lines
    assert (mac.x, mac.y) == ([60, 60, 60], [160, 160, None])
    assert rows(view)["clock"]["samples"] == 3


def test_what_is_measured_of_a_kernel_does_not_hold_until_the_next() -> None:
    mac = [Sample("AI Core", "mac", "%", at, value) for at, value in ((100, 5), (101, 7), (300, 9))]
    (line,) = resources(recorded(STEPS, samples=mac), Selection()).series["devices_pct"].lines
    assert line.x == [0, 1, 2, 2, 200, 201, 201]
    assert {type(each) for each in line.x} == {float}, "answers hold no numbers of numpy"
    assert line.y == [5, 7, 7, None, 9, 9, None]


def test_samples_of_another_clock_are_beside_no_steps() -> None:
    apart = recorded(STEPS, samples=CPU)
    apart.quality.add("samples_own_clock", 3)
    for selection in (Selection(), Selection(steps="1")):
        view = resources(apart, selection)
        (line,) = view.series["host_pct"].lines
        assert line.x == [0, 60, 140], "since their first"
        assert view.tables["resource_steps"].frame.is_empty()
        assert [fact.value for fact in view.facts] == [None]
        assert "samples_own_clock" in {note.code for note in view.notes}


def test_series_between_each_other_are_told_apart() -> None:
    random = np.random.default_rng(3)
    mixed = [
        Sample(f"GPU {gpu}", metric, "%", at, float(random.integers(0, 100)))
        for at in range(100, 200)
        for gpu, metric in random.permutation([(0, "a"), (0, "b"), (1, "a")]).tolist()
    ]
    found = samples(recorded(STEPS, samples=mixed)).series
    told = {(each.source, each.metric): each.value.tolist() for each in found}
    for key, values in told.items():
        assert values == [each.value for each in mixed if each[:2] == key]
    assert len(told) == 3


def test_counters_of_use_are_resources_too() -> None:
    events = [
        {"ph": "C", "name": name, "ts": ts, "pid": pid, "args": {"": ts}}
        for pid in (1, 2)
        for name in ("GPU Utilization", "queue length")
        for ts in (110, 120)
    ]
    text = json.dumps({"traceEvents": [*STEPS, *events]}).encode()
    view = resources(build_trace(import_trace([text], name="x")), Selection())
    (panel,) = view.series.values()
    assert panel.title == "Devices: GPU Utilization"
    assert [line.name for line in panel.lines] == ["recording", "recording (2)"]
    assert [line.y for line in panel.lines] == [[110, 120], [110, 120]]
