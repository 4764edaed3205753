"""The times of modules in a recording of an H100, against a walk over the file's own JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.operators.hierarchies.timed import timed_modules
from torch_tb_profiler.analysis.operators.hierarchies.times import MEASURES, node_times
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.storage.locations import open_location

Span = tuple[int, int]


def ns(event: dict[str, Any]) -> Span:
    """Start and end; the file has whole nanoseconds."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def covered(spans: list[Span]) -> int:
    """Length of what any of ``spans`` covers."""
    length, reach = 0, None
    for start, end in sorted(spans):
        if reach is None or start > reach:
            reach = start
        length += max(0, end - reach)
        reach = max(reach, end)
    return length


def walked(events: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Per name of a module, which this model calls once each, its four times in ns."""
    slices = [event for event in events if event.get("ph") == "X"]
    (step,) = [
        ns(event)
        for event in slices
        if event["cat"] == "user_annotation" and event["name"].startswith("ProfilerStep")
    ]
    work = {event["args"]["correlation"]: ns(event) for event in slices if is_work(event)}
    calls = [event for event in slices if event["cat"] in ("cuda_runtime", "cuda_driver")]
    found = {}
    for module in slices:
        if module["cat"] != "python_function" or not module["name"].startswith("nn.Module: "):
            continue
        start, end = ns(module)
        inside = [call for call in calls if call["tid"] == module["tid"]]
        inside = [call for call in inside if start <= ns(call)[0] < end]
        cpu = covered([(max(start, step[0]), min(end, step[1]))])
        launched = [work[n] for call in inside if (n := call["args"]["correlation"]) in work]
        gpu = covered(launched)
        span = max(e for _, e in launched) - min(s for s, _ in launched) if launched else 0
        found[module["name"].removeprefix("nn.Module: ")] = {
            "cpu": cpu,
            "gpu": gpu,
            "cpu_overhead": cpu - covered([ns(call) for call in inside]),
            "gpu_idle": span - gpu,
        }
    return found


def is_work(event: dict[str, Any]) -> bool:
    return event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")


@pytest.mark.parametrize("run", ["h100_bert_small", "mi300_bert_small"])
def test_modules_as_the_file_has_them(samples: Path, run: str) -> None:
    (path,) = (samples / run).glob("*.json.gz")
    expected = walked(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"])
    trace = open_file(open_location(str(path)), cache=None)
    kept = timed_modules(trace)
    times = node_times(trace, kept, Selection())
    nodes = kept.hierarchy.nodes
    got = {name: dict.fromkeys(MEASURES, 0) for name in nodes.name[: kept.hierarchy.first_outside]}
    for key in MEASURES:
        measured = times.measures[key]
        for node, value in zip(measured.node.tolist(), measured.ns.tolist(), strict=True):
            if node < kept.hierarchy.first_outside:
                got[nodes.name[node]][key] += value
    assert got == expected
