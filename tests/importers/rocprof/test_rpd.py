"""``.rpd`` files against SQL, and against the Chrome JSON that they are converted to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import rocprof, rpd, sums
from tests.helpers.examples import examples
from tests.importers.rocprof import trace_sums
from tests.importers.rocprof.opening import import_path, open_path
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace


def rows_of(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as base:
        return base.execute(query).fetchall()


OPERATIONS = (
    "SELECT gpuId, CASE N.string WHEN '' THEN K.string ELSE N.string END, end - start"
    " FROM rocpd_op O JOIN rocpd_string N ON N.id = O.description_id"
    " JOIN rocpd_string K ON K.id = O.opType_id"
)
CALLS = (
    "SELECT pid, tid, N.string, end - start FROM rocpd_api A"
    " JOIN rocpd_string N ON N.id = A.apiName_id WHERE N.string <> 'UserMarker'"
)
LAUNCHES = (
    "SELECT N.string, O.end - O.start FROM rocpd_op O LEFT JOIN rocpd_api_ops L ON L.op_id = O.id"
    " LEFT JOIN rocpd_api A ON A.id = L.api_id LEFT JOIN rocpd_string N ON N.id = A.apiName_id"
)


def work(trace: Trace) -> sums.Sums:
    """Work of GPUs by (GPU, name), in ns."""
    return sums.add_up(
        ((device, trace.text(name)), duration)
        for device, name, duration in trace.device_work.select(
            "device", "name_code", "dur_ns"
        ).rows()
    )


def check_against_sql(path: Path) -> Trace:
    trace = open_path(path)
    expected = sums.add_up(((gpu, name), ns) for gpu, name, ns in rows_of(path, OPERATIONS))
    assert work(trace) == expected
    expected = sums.add_up(
        ((str(pid), str(tid), name), ns) for pid, tid, name, ns in rows_of(path, CALLS)
    )
    assert trace_sums.calls(trace) == expected
    expected = sums.add_up(((name,), ns) for name, ns in rows_of(path, LAUNCHES))
    assert trace_sums.launches(trace) == expected
    return trace


def test_the_recording_of_the_corpus(corpus: Path) -> None:
    path = corpus / "rocm" / "matmul_result.rpd"
    trace = check_against_sql(path)
    assert len(trace.device_work) == 85
    copied = rows_of(path, "SELECT sum(size) FROM rocpd_copyapi")
    copies = trace.device_work.filter(pl.col("category") == int(Category.MEMCPY))
    assert copies["bytes"].sum() == copied[0][0]
    grids = {
        (trace.text(grid), trace.text(block)): count
        for grid, block, count in trace.device_work.filter(pl.col("grid_code").is_not_null())
        .group_by("grid_code", "block_code").len().rows()
    }  # fmt: skip
    assert grids["[7, 782, 1]", "[256, 1, 1]"] == 1  # hipExtModuleLaunchKernel counts work items
    assert grids["[1, 2, 1]", "[128, 1, 1]"] == 6


@settings(parent=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_recordings(tmp_path: Path, data: st.DataObject) -> None:
    process = data.draw(rocprof.processes())
    calls = [call for call in process.calls if not call["function"].startswith("roctx")]
    if not calls:
        return
    path = tmp_path / "x.rpd"
    path.unlink(missing_ok=True)
    check_against_sql(rpd.write_rpd(path, [process]))


def both(folder: Path, corpus_of: Path | None = None) -> tuple[Trace, Trace]:
    """The traces of a database and of its Chrome JSON."""
    if corpus_of is not None:
        return open_path(corpus_of / "matmul_result.rpd"), open_path(
            corpus_of / "matmul_result.json"
        )
    path = rpd.write_rpd(folder / "x.rpd", [rocprof.training()])
    return open_path(path), open_path(rpd.write_chrome(folder / "x.json", rpd.to_chrome(path)))


def in_whole_us(trace: Trace) -> dict[str, list[Any]]:
    """What both formats of a recording have, in whole µs, in order."""
    names = trace.slices.select("name_code", pl.col("id").alias("launch"))
    launched = trace.device_work.join(names, on="launch", how="left", suffix="_of_launch")
    tracks = trace.tracks.select("track", "pid", "tid")
    return {
        "slices": sorted(
            (start // 1000, category, pid, tid, trace.text(name))
            for start, category, pid, tid, name in trace.slices.join(tracks, on="track")
            .select("start_ns", "category", "pid", "tid", "name_code").rows()
        ),
        "launches": sorted(
            (start // 1000, device, trace.text(name), call if call is None else trace.text(call))
            for start, device, name, call in launched.select(
                "start_ns", "device", "name_code", "name_code_of_launch"
            ).rows()
        ),
        "samples": sorted(
            (trace.text(source), trace.text(metric), trace.text(unit), time // 1000, value)
            for source, metric, unit, time, value in trace.samples.select(
                "source_code", "metric_code", "unit_code", "time_ns", "value"
            ).rows()
        ),
        "instants": sorted(
            (time // 1000, trace.text(name))
            for time, name in trace.instants.select("time_ns", "name_code").rows()
        ),
    }  # fmt: skip


def check_equal(database: Trace, chrome: Trace) -> None:
    here, there = in_whole_us(database), in_whole_us(chrome)
    for what, rows in here.items():
        assert rows == there[what], what
    assert here["samples"]


def test_the_chrome_json_is_the_same_trace(tmp_path: Path) -> None:
    database, chrome = both(tmp_path)
    check_equal(database, chrome)
    steps = chrome.slices.filter(pl.col("category") == int(Category.STEP))
    assert len(steps) == 2


def test_the_chrome_json_of_the_corpus_is_the_same_trace(corpus: Path) -> None:
    database, chrome = both(corpus, corpus / "rocm")
    check_equal(database, chrome)
    assert len(chrome.device_work) == 85
    assert len(chrome.counters) == 131 + 172  # idle, queue depth and memory: derived, but kept


def test_ranges_projected_on_a_queue_are_no_work(tmp_path: Path) -> None:
    path = rpd.write_rpd(tmp_path / "x.rpd", [rocprof.training()])
    events = rpd.to_chrome(path)
    for desc in ("UserMarker frame: 3 ops", "SomethingNew"):
        events.append({"pid": "2", "tid": "0", "name": "forward", "ts": "1010", "dur": "90",
                       "ph": "X", "args": {"desc": desc}})  # fmt: skip
    events.append({"pid": "2", "tid": "0", "name": "Graph 0x1", "ts": "1010", "dur": "90",
                   "ph": "X", "args": {"kernels": "2"}})  # fmt: skip
    trace = open_path(rpd.write_chrome(tmp_path / "x.json", events))
    assert len(trace.device_work) == len(open_path(path).device_work)
    categories = trace.slices["category"].to_list()
    assert categories.count(Category.DEVICE_ANNOTATION) == 2
    assert categories.count(Category.DEVICE_OTHER) == 1


def test_a_call_that_made_several_copies_has_no_size_for_each(tmp_path: Path) -> None:
    process = rocprof.training()
    path = rpd.write_rpd(tmp_path / "x.rpd", [process])
    with closing(sqlite3.connect(path)) as base:
        base.execute("INSERT INTO rocpd_api_ops (api_id, op_id) SELECT api_id, 1 + (SELECT max(id)"
                     " FROM rocpd_op) FROM rocpd_api_ops JOIN rocpd_copyapi ON api_ptr_id = api_id"
                     " LIMIT 1")  # fmt: skip
        base.execute("INSERT INTO rocpd_op (gpuId, queueId, start, end, description_id, opType_id)"
                     " SELECT gpuId, queueId, start + 9, end + 9, description_id, opType_id"
                     " FROM rocpd_op JOIN rocpd_string K ON K.id = opType_id"
                     " WHERE K.string LIKE 'Copy%' LIMIT 1")  # fmt: skip
        base.commit()
    trace = open_path(path)
    copies = trace.device_work.filter(pl.col("category") == int(Category.MEMCPY)).sort("start_ns")
    assert copies["bytes"].to_list() == [None, None, 4096]


def test_samples_are_those_of_the_gpu_in_the_same_place(tmp_path: Path) -> None:
    process = rocprof.training()
    for row in process.dispatches:
        row["agent"] = 1
    trace = open_path(rpd.write_rpd(tmp_path / "x.rpd", [process]))
    assert set(trace.device_work["device"]) == {2}
    assert {trace.text(code) for code in trace.samples["source_code"]} == {"GPU 2"}
    times = [1_000_000, 1_009_000, 1_018_000, 1_027_000]
    assert trace.samples["time_ns"].to_list() == times
    assert trace.samples["value"].to_list() == [800, 1700, 900, 900]


def test_allocations_are_read_where_there_is_one_gpu(corpus: Path) -> None:
    columns = import_path(corpus / "rocm" / "matmul_result.rpd")
    memory = columns.tables["memory"]
    calls = rows_of(
        corpus / "rocm" / "matmul_result.rpd",
        "SELECT A.string FROM rocpd_api JOIN rocpd_string N ON N.id = apiName_id"
        " JOIN rocpd_string A ON A.id = args_id WHERE N.string = 'hipMalloc'",
    )
    assert memory["bytes"].tolist() == [int(text.rpartition("size=")[2], 16) for (text,) in calls]
    assert set(memory["device"].tolist()) == {2}


@pytest.mark.parametrize("table", ["rocpd_kernelapi", "rocpd_copyapi", "rocpd_monitor",
                                   "rocpd_api_ops", "rocpd_metadata"])  # fmt: skip
def test_tables_may_be_missing(tmp_path: Path, table: str) -> None:
    path = rpd.write_rpd(tmp_path / "x.rpd", [rocprof.training()])
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"DROP TABLE {table}")
        base.commit()
    assert len(open_path(path).device_work) == 6
