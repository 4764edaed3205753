"""``.rpd`` files as newer tracers write them: arguments in a table of texts of their own, and the
operations of ROCprofiler-SDK, of the runtime itself and of CUPTI. The truth is SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers import rpd
from tests.importers.rocprof.opening import open_path
from tests.importers.rocprof.test_rpd import rows_of
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

SCHEMA = """
CREATE TABLE rocpd_metadata (id integer PRIMARY KEY AUTOINCREMENT, tag, value);
CREATE TABLE rocpd_string (id integer PRIMARY KEY AUTOINCREMENT, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_ustring (id integer PRIMARY KEY AUTOINCREMENT, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_api (id integer PRIMARY KEY AUTOINCREMENT, pid, tid, start, end, domain_id,
    category_id, apiName_id REFERENCES rocpd_string (id), args_id REFERENCES rocpd_ustring (id));
CREATE TABLE rocpd_op (id integer PRIMARY KEY AUTOINCREMENT, gpuId, queueId, sequenceId, start, end,
    description_id, opType_id);
CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY AUTOINCREMENT, api_id, op_id);
CREATE TABLE rocpd_kernelapi (api_ptr_id integer PRIMARY KEY, stream, gridX, gridY, gridZ,
    workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, kernelName_id);
INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '3');
"""
STRINGS = ("", "UserMarker", "roctx", "range", "mark", "hipLaunchKernel", "hipMemcpyWithStream",
           "gemm", "KernelExecution", "MEMORY_COPY_HOST_TO_DEVICE", "Memcpy", "Fill", "SDMA",
           "ConcurrentKernel", "Memset", "SomethingNew", "cudaLaunchKernel")  # fmt: skip
MESSAGES = ("", "forward", "aten::mm, op_id = 3", "epoch", '{"stream":"0x0"}')


def write(path: Path, operations: tuple[tuple[str, str], ...], own_call: str | None = None) -> Path:
    """A database with ranges around a launch of each (type, description)."""
    with closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        strings = (*STRINGS, *filter(None, [own_call]))
        base.executemany("INSERT INTO rocpd_string (string) VALUES (?)", [(s,) for s in strings])
        base.executemany("INSERT INTO rocpd_ustring (string) VALUES (?)", [(s,) for s in MESSAGES])

        def call(name: str, message: str, start: int, end: int) -> int:
            values = (7, 7, start, end, 3, 4, strings.index(name) + 1, MESSAGES.index(message) + 1)
            query = ("INSERT INTO rocpd_api (pid, tid, start, end, domain_id, category_id,"
                     " apiName_id, args_id) VALUES (?,?,?,?,?,?,?,?)")  # fmt: skip
            return int(base.execute(query, values).lastrowid or 0)

        call("UserMarker", "forward", 1000, 90_000)
        call("UserMarker", "aten::mm, op_id = 3", 1100, 80_000)
        call("UserMarker", "epoch", 90_500, 90_500)
        if own_call:
            call(own_call, "", 95_000, 96_000)
        for number, (kind, description) in enumerate(operations):
            at = 2000 + 1000 * number
            launch = call("hipLaunchKernel", MESSAGES[-1], at, at + 200)
            query = ("INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, end, description_id,"
                     " opType_id) VALUES (0, 1, 0, ?, ?, ?, ?)")  # fmt: skip
            row = (at + 300, at + 400 + number, strings.index(description) + 1,
                   strings.index(kind) + 1)  # fmt: skip
            operation = base.execute(query, row).lastrowid
            base.execute("INSERT INTO rocpd_api_ops (api_id, op_id) VALUES (?, ?)",
                         (launch, operation))  # fmt: skip
            base.execute("INSERT INTO rocpd_kernelapi VALUES (?,'0x0',2048,4,1,256,1,1,0,0,1)",
                         (launch,))  # fmt: skip
        base.commit()
    return path


def ranges(trace: Trace) -> set[tuple[str | None, int]]:
    kinds = [int(each) for each in (Category.ANNOTATION, Category.OPERATOR)]
    rows = trace.slices.filter(pl.col("category").is_in(kinds)).select("name_code", "dur_ns").rows()
    return {(trace.text(name), duration) for name, duration in rows}


def test_ranges_have_the_texts_of_the_table_of_arguments(tmp_path: Path) -> None:
    path = write(tmp_path / "x.rpd", (("KernelExecution", "gemm"),))
    trace = open_path(path)
    query = ("SELECT U.string, end - start FROM rocpd_api A JOIN rocpd_ustring U ON U.id = args_id"
             " JOIN rocpd_string N ON N.id = apiName_id WHERE N.string = 'UserMarker'"
             " AND start < end")  # fmt: skip
    names = {(name.partition(",")[0], duration) for name, duration in rows_of(path, query)}
    assert ranges(trace) == names == {("forward", 89_000), ("aten::mm", 78_900)}
    assert [trace.text(code) for code in trace.instants["name_code"]] == ["epoch"]


@pytest.mark.parametrize(
    ("kind", "description", "category"),
    [
        ("KernelExecution", "gemm", Category.KERNEL),
        ("ConcurrentKernel", "gemm", Category.KERNEL),
        ("MEMORY_COPY_HOST_TO_DEVICE", "", Category.MEMCPY),
        ("Memcpy", "SDMA", Category.MEMCPY),
        ("Memcpy", "", Category.MEMCPY),
        ("Memcpy", "Fill", Category.MEMSET),
        ("Memset", "", Category.MEMSET),
        ("SomethingNew", "", Category.DEVICE_OTHER),
        ("SomethingNew", "Fill", Category.DEVICE_OTHER),
    ],
)
def test_types_of_operations(
    tmp_path: Path, kind: str, description: str, category: Category
) -> None:
    trace = open_path(write(tmp_path / "x.rpd", ((kind, description),)))
    assert trace.slices.filter(pl.col("start_ns") == 2300)["category"].to_list() == [category]


@pytest.mark.parametrize(
    ("own_call", "grid"),
    [(None, "[2048, 4, 1]"), ("RocprofDataSource::buffer_callback", "[8, 4, 1]")],
)
def test_the_sdk_states_grids_in_work_items(
    tmp_path: Path, own_call: str | None, grid: str
) -> None:
    trace = open_path(write(tmp_path / "x.rpd", (("KernelExecution", "gemm"),), own_call))
    assert [trace.text(code) for code in trace.device_work["grid_code"]] == [grid]
    rows = trace.slices.filter(pl.col("start_ns") == 95_000)
    assert rows["category"].to_list() == ([int(Category.OVERHEAD)] if own_call else [])


def test_the_chrome_json_has_the_same_categories(tmp_path: Path) -> None:
    kinds = (("Memcpy", "Fill"), ("Memcpy", "SDMA"), ("ConcurrentKernel", "gemm"),
             ("MEMORY_COPY_HOST_TO_DEVICE", ""))  # fmt: skip
    database = open_path(write(tmp_path / "x.rpd", kinds))
    events: list[Any] = [{}, {"name": "process_name", "ph": "M", "pid": "0",
                              "args": {"name": "GPU0"}}]  # fmt: skip
    events += [
        {"pid": "0", "tid": "1", "name": name or kind, "ts": str(2 + at), "dur": "1", "ph": "X",
         "args": {"desc": kind}}
        for at, (kind, name) in enumerate(kinds)
    ]  # fmt: skip
    chrome = open_path(rpd.write_chrome(tmp_path / "x.json", events))
    expected = database.device_work.sort("start_ns")["category"].to_list()
    assert chrome.device_work.sort("start_ns")["category"].to_list() == expected
