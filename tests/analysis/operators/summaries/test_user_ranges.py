"""Device time of ranges, against a count of the launches in the file."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.opening import open_file
from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.operators.summaries.user_ranges import user_ranges
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

LAUNCHING = ("cuda_runtime", "cuda_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def counted(path: Path) -> dict[str, float]:
    """Name of a range → µs of the work launched between its start and end on its thread; of
    ranges inside each other of one name the outermost counts."""
    events = [event for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
              if event.get("ph") == "X"]  # fmt: skip
    launches: dict[int, dict[str, Any]] = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in LAUNCHING and event.get("args", {}).get("correlation")
    }
    by_thread: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        launch = launches.get(event.get("args", {}).get("correlation"))
        if event.get("cat") in WORK and launch is not None:
            by_thread[launch["pid"], launch["tid"]].append((launch["ts"], event["dur"]))
    total: defaultdict[str, float] = defaultdict(float)
    end: dict[Any, float] = {}
    ranges = (event for event in events if event.get("cat") == "user_annotation")
    for event in sorted(ranges, key=lambda event: (event["ts"], -event["dur"])):
        thread = event["pid"], event["tid"]
        key = (*thread, event["name"])
        if event["ts"] < end.get(key, 0):
            continue
        end[key] = event["ts"] + event["dur"]
        total[event["name"]] += sum(
            dur for ts, dur in by_thread[thread] if event["ts"] <= ts <= end[key]
        )
    return dict(total)


@pytest.mark.parametrize(
    ("folder", "file", "inner"),
    [
        ("dlrm_8_ranks", "worker0*", "nccl:all_to_all"),
        ("dlrm_8_ranks", "worker7*", "nccl:all_reduce"),
        ("torch_compile_triton", "*", "## Call CompiledFxGraph"),
    ],
)
def test_device_time_is_that_of_the_launches_inside(
    samples: Path, folder: str, file: str, inner: str
) -> None:
    (path,) = (samples / folder).glob(f"{file}.json.gz")
    expected = counted(path)
    assert sum(us for name, us in expected.items() if name.startswith(inner)) > 300
    groups = user_ranges(open_file(open_location(str(path)), cache=None), Selection())
    actual = dict(zip(groups["name"], groups["gpu_total_ns"], strict=True))
    assert len(actual) > 0
    for name, ns in actual.items():
        assert (ns or 0) / 1000 == pytest.approx(expected[name], abs=0.01), name


def _launched_at(ts: float) -> Trace:
    return trace(
        [
            annotation("outer", 0, 100),
            op("aten::mm", 10, 80),
            annotation("inner", 20, 40),
            annotation("innermost", 30, 10),
            op("aten::add", 70, 10),
            call("cudaLaunchKernel", ts, 1, corr=1),
            kernel("k", 200, 7, corr=1),
        ]
    )


@pytest.mark.parametrize(
    ("ts", "inside"),
    [
        (35, {"outer", "inner", "innermost"}),
        (50, {"outer", "inner"}),
        (65, {"outer"}),
        (75, {"outer"}),
        (95, {"outer"}),
    ],
)
def test_work_belongs_to_every_range_around_its_launch(ts: float, inside: set[str]) -> None:
    groups = user_ranges(_launched_at(ts), Selection())
    times = dict(zip(groups["name"], groups["gpu_total_ns"], strict=True))
    assert {name for name, ns in times.items() if ns} == inside
    assert {ns for ns in times.values() if ns} == {7000}


def test_a_share_of_the_steps_counts_their_moments_once() -> None:
    """A range of 60 µs on each of two threads, 40 of them at once, in a step of 100 µs; one that
    outlasts the step is as long as it."""
    recorded = trace(
        [
            step(1, 1000, 100),
            annotation("load", 1000, 60, tid=1),
            annotation("load", 1020, 60, tid=2),
            annotation("run", 0, 5000, tid=3),
        ]
    )
    groups = user_ranges(recorded, Selection())
    found = {
        row["name"]: (row["cpu_total_ns"], row["in_steps_ns"]) for row in groups.rows(named=True)
    }
    assert found == {"load": (120_000, 80_000), "run": (5_000_000, 100_000)}
