"""Advice from samples: each rule speaks where it should, and none where nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.helpers.recorded import Sample, recorded, side_table
from tests.helpers.traces import op, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.resources import resources_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.resources.view import resources
from torch_tb_profiler.views.schema import Note

Values = Mapping[tuple[str, str], float]

STEPS = [step(1, 0, 1e6), op("a", 10, 5)]
WAITS, NO_WAITS = 400.0, 10.0
"""Of each 1000 µs for data."""

LOW_USER = {("host", "CPU user"): 8.0, ("host", "CPU system"): 2.0}


def run(values: Values, *, reader_us: float | None = None, samples: int = 8) -> Trace:
    """A run of constant samples, in which each step of 1 ms waited ``reader_us``."""
    sampled = [
        Sample(source, metric, "", 1e5 * (n + 1), value)
        for (source, metric), value in values.items()
        for n in range(samples)
    ]
    timed = [
        {"phase": "train", "step": n, "start_us": 1e3 * n, "duration_us": 1e3,
         "reader_us": reader_us}
        for n in range(20)
    ]  # fmt: skip
    side = [] if reader_us is None else [side_table("timed_steps", "a.record.jsonl", timed)]
    return recorded(STEPS, samples=sampled, side=side)


def said(trace: Trace) -> dict[str, Note]:
    notes = resources(trace, Selection()).notes
    return {note.code: note for note in notes if note.kind == "advice"}


GPU_WELL = {
    ("GPU 0", "utilization"): 97.0,
    ("GPU 0", "throttled by power"): 0.0,
    ("GPU 0", "throttled by heat"): 0.0,
    ("GPU 0", "memory in use"): 99.0,
    ("process", "CPU"): 101.0,
}


@pytest.mark.parametrize(
    "values",
    [
        LOW_USER,
        {("host", "CPU user"): 95.0, ("process", "CPU"): 1500.0},
        GPU_WELL | LOW_USER,
        {("GPU 0", "utilization"): 0.0, ("process", "CPU"): 100.0},
        {("GPU 0", "utilization"): 30.0, ("process", "CPU"): 420.0},
        {("process", "CPU limit"): 800.0, ("process", "CPU throttled"): 1.0,
         ("process", "CPU"): 300.0},
        {("host", "cores"): 2.0, ("host", "CPU idle"): 1.0, ("process", "CPU"): 60.0,
         ("loader worker 0", "CPU"): 120.0},
        {("host", "cores"): 64.0, ("host", "CPU idle"): 60.0, ("process", "CPU"): 60.0},
        {("process", "swapped memory"): 4096.0, ("host", "memory in use"): 80.0},
    ],
)  # fmt: skip
def test_where_nothing_is_wrong_nothing_is_said(values: Values) -> None:
    assert said(run(values)) == {}
    assert said(run(values, reader_us=NO_WAITS)) == {}


def test_a_few_samples_tell_nothing() -> None:
    values = {("host", "CPU system"): 90.0, ("process", "CPU throttled"): 80.0}
    assert said(run(values, samples=resources_file().advice.least_samples - 1)) == {}
    assert len(said(run(values, samples=resources_file().advice.least_samples))) == 2


@pytest.mark.parametrize(
    ("workers", "text"),
    [((), "num_workers"), ((99.0, 97.0), "Its 2 workers are busy all the time"),
     ((12.0, 10.0), "busy only 11 % of the time")],
)  # fmt: skip
def test_steps_that_wait_while_cores_are_free(workers: tuple[float, ...], text: str) -> None:
    of_workers = {(f"loader worker {n}", "CPU"): cpu for n, cpu in enumerate(workers)}
    note = said(run(LOW_USER | of_workers, reader_us=WAITS))["host_cpu_low"]
    assert text in note.text
    assert "waits for data 40 % of the time" in note.text
    assert (note.evidence["measured"], note.evidence["threshold"]) == (8, 20)


def test_waits_of_batches_and_of_ranges_count_too() -> None:
    batches = [
        {"loader": 0, "phase": "train", "batch": n, "start_us": 1e3 * n, "wait_us": WAITS}
        for n in range(20)
    ]
    samples = [Sample("host", "CPU user", "%", 1e5 * n, 8.0) for n in range(8)]
    side = [side_table("loader_batches", "a.record.jsonl", batches)]
    assert "host_cpu_low" in said(recorded(STEPS, samples=samples, side=side))
    loader = {**op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 3e5),
              "cat": "user_annotation"}  # fmt: skip
    assert "host_cpu_low" in said(recorded([*STEPS, loader], samples=samples))


@pytest.mark.parametrize(
    ("values", "code", "severity", "text"),
    [
        ({("host", "CPU system"): 45.0, ("host", "context switches"): 250_000.0},
         "host_cpu_system", "info", "250,000 context switches"),
        ({("host", "CPU I/O wait"): 25.0, ("host", "disk read"): 180e6,
          ("host", "disk written"): 0.0}, "host_io_wait", "warning", "read 180 and wrote 0 MB/s"),
        ({("host", "memory in use"): 97.0}, "memory_nearly_full", "warning", "Host memory"),
        ({("process", "memory limit in use"): 97.0, ("host", "memory in use"): 20.0},
         "memory_nearly_full", "warning", "Container memory"),
        ({("process", "swapped memory"): 3e9}, "process_swapped", "warning", "3,000 MB"),
        ({("process", "CPU limit"): 200.0, ("process", "CPU throttled"): 43.0},
         "cpu_limit_reached", "warning", "of 2 cores in 43 %"),
        ({("process", "CPU limit"): 200.0, ("process", "CPU"): 120.0,
          ("loader worker 0", "CPU"): 79.0}, "cpu_limit_reached", "info", "of the 2 cores"),
        ({("GPU 1", "throttled by power"): 80.0, ("GPU 1", "power"): 399.0,
          ("GPU 1", "power limit"): 400.0, ("GPU 1", "SM clock"): 1200.0},
         "gpu_throttled_power", "info", "399 W of 400 W"),
        ({("GPU 0", "throttled by heat"): 60.0, ("GPU 0", "temperature"): 88.0},
         "gpu_throttled_heat", "warning", "88 °C"),
        ({("GPU 0", "throttled by hardware"): 60.0}, "gpu_throttled_hardware", "warning", "cables"),
        ({("GPU 0", "clocks limited by settings"): 100.0}, "gpu_clocks_limited", "info", "-rac"),
        ({("host", "cores"): 2.0, ("host", "CPU idle"): 1.0, ("process", "CPU"): 60.0,
          ("loader worker 0", "CPU"): 20.0}, "host_shared", "warning", "other programs 59 %"),
        ({("GPU 0", "utilization"): 22.0, ("process", "CPU"): 101.0},
         "one_thread_bound", "warning", "busy 22 %"),
    ],
)  # fmt: skip
def test_each_rule_speaks(values: Values, code: str, severity: str, text: str) -> None:
    result = said(run(values))
    assert set(result) == {code}
    assert result[code].severity == severity
    assert text in result[code].text


def test_a_gpu_that_waits_for_data_is_told_of_as_that() -> None:
    values = {("GPU 0", "utilization"): 22.0, ("process", "CPU"): 101.0, **LOW_USER}
    assert set(said(run(values, reader_us=WAITS))) == {"host_cpu_low"}


def test_a_recorder_of_pipelines_without_waits() -> None:
    side = [side_table("queues", "minddata.txt", [{"queue": "host", "step": 1, "size": 0}])]
    samples = [Sample("host", "CPU user", "%", 1e5 * n, 8.0) for n in range(8)]
    note = said(recorded(STEPS, samples=samples, side=side))["host_cpu_low"]
    assert "If steps wait for data" in note.text


def test_warnings_stand_first() -> None:
    values = {("host", "CPU system"): 45.0, ("process", "swapped memory"): 3e9}
    assert [note.severity for note in said(run(values)).values()] == ["warning", "info"]


def test_what_makes_everything_slow_is_a_finding_of_the_overview() -> None:
    hot = {**GPU_WELL, ("GPU 0", "throttled by heat"): 60.0}
    shared = {("host", "cores"): 4.0, ("host", "CPU idle"): 1.0, ("process", "CPU"): 100.0}
    for values, codes in ((hot, ["gpu_throttled_heat"]), (shared, ["host_shared"]), (GPU_WELL, [])):
        notes = overview(run(values), Selection()).notes
        assert [each.code for each in notes if each.kind == "advice"] == codes
