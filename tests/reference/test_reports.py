"""The tables that DLProf's reports are made of, against a walk over raw events."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import trace as build
from tests.importers.kineto.reference import read_file
from tests.reference.modules import Modules
from tests.reference.walk import Times, Walk, is_kernel, uses_tensor_cores
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.reports.dlprof.registry import REPORTS
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import complete

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = {
    "inference": SAMPLES / "h100_bert_small" / "rank0.pt.trace.json.gz",
    "compiled": SAMPLES / "torch_compile_triton",
    "rank of eight": SAMPLES / "dlrm_8_ranks",
    "without a GPU": SAMPLES / "cpu_slowloader_nw0",
}
MEASURES = ("cpu", "gpu", "cpu_overhead", "gpu_idle")
WORDS = ("total", "mean", "min", "max")
OWN_KEYS = {"cpu_total_us": "host_total_us", "gpu_total_us": "device_total_us"}
"""Where the table of operators had a column for a time before it had all sixteen."""

Row = dict[str, Any]


@lru_cache
def recording(name: str) -> tuple[Trace, Walk]:
    path = FILES[name]
    file = path if path.is_file() else next(path.rglob("*.json*"))
    return build_trace(read_file(file)), Walk(reference.load(file))


def rows(
    trace: Trace, view: str, table: str, group_by: str | None = None, steps: str | None = None
) -> list[Row]:
    made = trace_view(view_spec(view), trace, Selection(group_by=group_by, steps=steps))
    found: list[Row] = complete(made.tables[table]).frame.rows(named=True)
    return found


def assert_times(row: Row, expected: Times, walk: Walk) -> None:
    assert row["calls"] == expected.calls
    linked = walk.has_links
    recorded = {"cpu": True, "gpu": linked, "gpu_idle": linked, "cpu_overhead": walk.runtime}
    for measure, figures in zip(MEASURES, expected[1:], strict=True):
        for word, value in zip(WORDS, figures, strict=True):
            key = f"{measure}_{word}_us"
            shown = row[key] if key in row else row[OWN_KEYS[key]]
            if recorded[measure]:
                assert shown == pytest.approx(value / 1000, abs=1e-6), (row.get("name"), key)
            else:
                assert shown is None, (row.get("name"), key)


def assert_all(found: dict[Hashable, Row], expected: dict[Hashable, Times], walk: Walk) -> None:
    """Times of a device are null where it was not recorded, overheads without calls of it."""
    assert set(found) == set(expected)
    for key, times in expected.items():
        assert_times(found[key], times, walk)


def assert_detail_and_types(trace: Trace, walk: Walk) -> None:
    operators = rows(trace, "operators", "operators", "name")
    found = {row["name"]: row for row in operators if row["kind"] == "operator"}
    assert_all(found, walk.times(lambda node: node.name), walk)
    types = rows(trace, "operator_types", "operator_types")
    known = {
        row["type"]: row for row in types if not (row["type"] or "").startswith("unassociated_")
    }
    assert_all(known, walk.by_type(), walk)


@pytest.mark.parametrize("name", FILES)
def test_detail_by_name_and_op_type(name: str) -> None:
    assert_detail_and_types(*recording(name))


def test_detail_at_places_of_modules() -> None:
    trace, walk = recording("inference")
    modules = Modules(walk)
    operators = rows(trace, "operators", "operators", "path")
    found = {row["name"]: row for row in operators if row["kind"] == "operator"}
    assert_all(found, walk.times(modules.path), walk)
    ids = [row["operator_id"] for row in found.values()]
    assert len(set(ids)) == len(ids)


def test_group_node() -> None:
    trace, walk = recording("inference")
    groups = {row["path"]: row for row in rows(trace, "groups", "groups", "modules")
              if row["kind"] == "group"}  # fmt: skip
    expected = Modules(walk).times()
    assert set(groups) == set(expected)
    for path, times in expected.items():
        row = groups[path]
        assert row["calls"] == times.calls
        for key, value in zip(MEASURES, dataclasses.astuple(times)[1:], strict=True):
            for word in WORDS:  # one iteration: all four are one
                shown = row[f"{key}_{word}_us"]
                assert shown == pytest.approx(value / 1000, abs=1e-6), (path, key)


@pytest.mark.parametrize("name", FILES)
def test_iteration_and_kernel(name: str) -> None:
    trace, walk = recording(name)
    base = trace.meta.base_ns
    times = ("gpu_start_us", "gpu_time_us", "api_start_us", "api_time_us")
    found = Counter(
        (row["kernel"], row["iteration"], *(None if row[k] is None else _ns(row[k]) for k in times))
        for row in rows(trace, "iterations", "iteration_kernels")
    )
    steps = [e for e in walk.slices if e["name"].startswith("ProfilerStep#")]
    expected: Counter[tuple[Any, ...]] = Counter()
    for kernel, _, start, dur, api, api_dur in walk.kernel_calls():
        number = next((_number(step) for step in steps if _within(api, step)), None)
        # Files that write the time since 1970 are shown from the base on.
        api_start = None if api is None else api % base if api >= base > 0 else api
        shown = start % base if start >= base > 0 else start
        # Without a launch in a step, work is in no iteration.
        expected[kernel, number if steps else 0, shown, dur, api_start, api_dur] += 1
    assert found == expected


def _ns(time_us: float) -> int:
    return round(time_us * 1000)


def _number(step: Row) -> int:
    return int(step["name"].partition("#")[2])


def _within(time_ns: int | None, event: Row) -> bool:
    start = reference.ns(event["ts"])
    return time_ns is not None and start <= time_ns < start + reference.ns(event["dur"])


def test_tensor() -> None:
    """Operators that could use Tensor Cores, with the different kernels launched inside them."""
    trace, walk = recording("inference")
    path = Modules(walk).path
    using: set[str] = set()
    kernels: dict[str, set[str]] = defaultdict(set)
    times: Counter[tuple[str, bool]] = Counter()
    for node in walk.read.operators:
        inside = walk.work(node)
        kernels[path(node)] |= {piece["name"] for piece in inside}
        if any(is_kernel(p) and uses_tensor_cores(p["name"]) for p in inside):
            using.add(path(node))
        for piece in inside:
            uses = is_kernel(piece) and uses_tensor_cores(piece["name"])
            times[path(node), uses] += reference.ns(piece["dur"])
    needs = {"operators": "path", "iterations": None}
    views = {
        name: trace_view(view_spec(name), trace, Selection(group_by=by))
        for name, by in needs.items()
    }
    (table,) = REPORTS["tensor"].make(views).tables
    found = table.frame.rows(named=True)
    assert {row["Op Name"] for row in found} >= {name for name, uses in times if uses}
    for row in found:
        name = row["Op Name"]
        used = {kernel for kernel in kernels[name] if uses_tensor_cores(kernel)}
        assert row["Total Kernel Count"] == len(kernels[name])
        assert (row["TC Kernel Count"], row["Non-TC Kernel Count"]) == (
            len(used), len(kernels[name] - used),
        )  # fmt: skip
        assert set(filter(None, row["TC Kernel Names"].split("; "))) == used
        assert row["Uses TC"] == ("yes" if name in using else "no")
        assert row["TC GPU Time (ns)"] == times[name, True]
        assert row["Non-TC GPU Time (ns)"] == times[name, False]


@pytest.mark.parametrize("name", FILES)
def test_summary_of_kernels(name: str) -> None:
    trace, walk = recording(name)
    for row in rows(trace, "overview", "kernel_classes"):
        time, api, count, names = walk.kernel_classes()[row["class"]]
        assert row["gpu_time_us"] == (time / 1000 if walk.read.device else None)
        assert row["kernels"] == (count if walk.read.device else None)
        assert row["kernel_names"] == (names if walk.read.device else None)
        if walk.has_links:
            assert row["api_time_us"] == pytest.approx(api / 1000)


def test_summary_of_moments() -> None:
    trace, walk = recording("inference")
    step = next(e for e in walk.slices if e["name"].startswith("ProfilerStep#"))
    start = reference.ns(step["ts"])
    last = max(reference.ns(p["ts"]) + reference.ns(p["dur"]) for p in walk.read.device)
    end = max(start + reference.ns(step["dur"]), last)
    found = {
        row["category"]: round(row["duration_us"] * 1000)
        for row in rows(trace, "overview", "resources")
    }
    assert found == walk.resources(start, end)
    assert sum(found.values()) == end - start


@examples(40)
@given(recordings())
def test_random_recordings(recording: Recording) -> None:
    walk = Walk(recording.events)
    if walk.read.operators:
        assert_detail_and_types(build(recording.events), walk)
