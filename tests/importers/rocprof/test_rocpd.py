"""rocpd databases of both generations against SQL in the way of their own views, and against the
JSON of the same recordings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import rocpd, rocprof, sums
from tests.helpers.examples import examples
from tests.importers.rocprof import rocpd_sums, trace_sums
from tests.importers.rocprof.opening import import_path, open_path
from torch_tb_profiler.trace.categories import Category

SUMS = ("kernels", "copies", "calls", "launches", "counters")
GENERATIONS = [False, True]


def differences(path: Path) -> dict[str, object]:
    """Which sums of a database differ from those of SQL, and where."""
    trace = open_path(path)
    named = {
        what: sums.differences(getattr(trace_sums, what)(trace), getattr(rocpd_sums, what)(path))
        for what in SUMS
    }
    return {what: where for what, where in named.items() if where}


@pytest.mark.parametrize("is_new", GENERATIONS)
@pytest.mark.parametrize("one_set", [False, True])
def test_two_processes(tmp_path: Path, is_new: bool, one_set: bool) -> None:
    processes = [rocprof.training(), rocprof.training()]
    processes[1].pid = 200
    path = rocpd.write_rocpd(tmp_path / "x.db", processes, is_new=is_new, one_set=one_set)
    assert not differences(path)
    json_path = rocprof.write_json(tmp_path / "x_results.json", processes)
    here, there = open_path(path), open_path(json_path)
    for what in ("kernels", "copies", "calls", "ranges", "launches", "counters"):
        assert getattr(trace_sums, what)(here) == getattr(trace_sums, what)(there), what
    assert sums.memory(here) == sums.memory(there)
    assert sums.instants(here) == sums.instants(there) == {
        (pid, "7", "checkpoint"): (2, 0) for pid in ("100", "200")
    }  # fmt: skip


@pytest.mark.parametrize("is_new", GENERATIONS)
@settings(parent=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_recordings(tmp_path: Path, is_new: bool, data: st.DataObject) -> None:
    pids = data.draw(st.sampled_from([(1,), (1, 2)]))
    processes = [data.draw(rocprof.processes(pid=pid)) for pid in pids]
    if not any(call["end"] > call["start"] for each in processes for call in each.calls):
        return
    path = tmp_path / "x.db"
    path.unlink(missing_ok=True)
    rocpd.write_rocpd(path, processes, is_new=is_new)
    assert not differences(path)


@pytest.mark.parametrize("is_new", GENERATIONS)
def test_sampled_counters_are_samples_of_their_gpu(tmp_path: Path, is_new: bool) -> None:
    process = rocprof.training()
    process.samples = [
        {"time": 1_000_000 + 1000 * number, "counter": 1, "value": 10.0 * number}
        for number in range(3)
    ]
    trace = open_path(rocpd.write_rocpd(tmp_path / "x.db", [process], is_new=is_new))
    rows = trace.samples.select("source_code", "metric_code", "time_ns", "value").rows()
    assert [(trace.text(a), trace.text(b), time, value) for a, b, time, value in rows] == [
        ("GPU 1", "GRBM_COUNT", 1_000_000 + 1000 * number, 10.0 * number) for number in range(3)
    ]
    assert trace_sums.counters(trace) == rocpd_sums.counters(tmp_path / "x.db")


def test_calls_of_unknown_kinds_and_scratch_memory_are_no_work(tmp_path: Path) -> None:
    process = rocprof.training()
    process.calls.append(rocprof.call("rocDecDecodeFrame", 5, 9, 1))
    scratch = {"operation": 1, "level": "SCRATCH", "agent": 1, "address": 1, "bytes": 9}
    process.allocations.append({**scratch, "time": 5, "thread": 7})
    columns = import_path(rocpd.write_rocpd(tmp_path / "x.db", [process]))
    assert columns.quality.counts["unknown_category"] == 1
    assert columns.quality.counts["rocprof_not_read"] == 1
    assert len(columns.tables["memory"]["bytes"]) == 2
    category = columns.tables["slices"]["category"].tolist()
    assert category.count(Category.HOST_OTHER) == 1
    assert category.count(Category.KERNEL) == len(process.dispatches)


def test_threads_queues_and_streams_have_the_names_of_the_file(tmp_path: Path) -> None:
    trace = open_path(rocpd.write_rocpd(tmp_path / "x.db", [rocprof.training()]))
    tracks = trace.tracks.filter(pl.col("is_device")).select("process_label", "thread_name")
    assert sorted(tracks.rows()) == [
        ("GPU 0", "Stream 1"), ("GPU 0", "Stream 2"), ("GPU 1", "Stream 2"),
    ]  # fmt: skip
