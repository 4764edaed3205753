"""Chakra's nodes that did not run on the host, as its converter takes them from a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.chakra import file_of, node
from tests.importers.protobuf.encode import field, message, varint
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.execution.device_nodes import device_categories
from torch_tb_profiler.trace.categories import Category

NOT_HOST = field(10, message((1, "is_cpu_op"), (27, 0)))
"""A choice of fields (``oneof``) is written where its value is false, too."""

HOST = [("is_cpu_op", "bool_val", True), ("rf_id", "int64_val", 3)]
STREAM = [("stream", "int64_val", 7)]


def written(*nodes: tuple[Any, bytes]) -> bytes:
    data = [each.SerializeToString() + more for each, more in nodes]
    return file_of([]) + b"".join(varint(len(each)) + each for each in data)


def linked(times: bool = True) -> bytes:
    def when(start: int, dur: int) -> dict[str, int]:
        return {"start_time_micros": start, "duration_micros": dur} if times else {}

    return written(
        (node(2, "aten::mm", type=4, attr=HOST, **when(1010, 20)), b""),
        (node(3, "ampere_sgemm", type=4, attr=STREAM, ctrl_deps=[2], **when(1040, 500)), NOT_HOST),
        (node(4, "Memcpy DtoH (Device -> Pinned)", type=4, **when(1600, 9)), NOT_HOST),
        (node(5, "ncclKernel", type=7, ctrl_deps=[99], **when(1700, 300)), NOT_HOST),
    )


def test_nodes_with_times_that_are_not_of_the_host_are_device_work(tmp_path: Path) -> None:
    path = tmp_path / "rank0.et"
    path.write_bytes(linked())
    with open_trace(path, cache=False) as opened:
        trace = opened.trace
        operators = opened.operators().frame
        kernels = opened.kernels().frame
    work = (
        trace.device_work.sort("start_ns")
        .select("name_code", "category", "device", "stream", "dur_ns")
        .rows()
    )
    assert [(trace.text(name), *rest) for name, *rest in work] == [
        ("ampere_sgemm", Category.KERNEL, 0, 7, 500_000),
        ("Memcpy DtoH (Device -> Pinned)", Category.MEMCPY, 0, -1, 9000),
        ("ncclKernel", Category.KERNEL, 0, -1, 300_000),
    ]
    named = operators.filter(pl.col("name") == "aten::mm")
    times = named.select("host_self_us", "device_self_us").rows()
    assert times == [(20.0, 500.0)]
    assert "ampere_sgemm" not in operators["name"].to_list()
    assert dict(kernels.select("name", "total_us").iter_rows()) == {
        "ampere_sgemm": 500.0, "ncclKernel": 300.0,
    }  # fmt: skip


def test_without_times_nothing_is_device_work(tmp_path: Path) -> None:
    path = tmp_path / "rank0.et"
    path.write_bytes(linked(times=False))
    with open_trace(path, cache=False) as opened:
        assert opened.trace.device_work.is_empty()
        assert opened.trace.slices.height == 4


@pytest.mark.parametrize(
    ("name", "category"),
    [("Memcpy HtoD", Category.MEMCPY), ("MEMSET", Category.MEMSET), ("gemm", Category.KERNEL)],
)
def test_categories_by_name(name: str, category: Category) -> None:
    assert device_categories(np.zeros(2, np.int32), [name]).tolist() == [category] * 2
