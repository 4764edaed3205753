"""Rows of HCCL's collectives → the collective table."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    EventColumns,
    Int32,
    Int64,
)

OPERATION = re.compile(r"(?P<kind>hcom_[A-Za-z]+?)_{1,2}(?P<rest>\d.*)?$")
GROUP = re.compile(r"(?P<name>Group .+?)\s+Communication$")
KINDS = {
    "hcom_allReduce": "allreduce",
    "hcom_allGather": "allgather",
    "hcom_reduceScatter": "reduce_scatter",
    "hcom_broadcast": "broadcast",
    "hcom_alltoall": "alltoall",
    "hcom_alltoallv": "alltoallv",
    "hcom_alltoallvc": "alltoallv",
    "hcom_reduce": "reduce",
    "hcom_scatter": "scatter",
    "hcom_send": "send",
    "hcom_receive": "recv",
    "hcom_batchSendRecv": "batch_isend_irecv",
}
"""HCCL's names → those that collectives have in traces of PyTorch."""


def kind_of(name: str) -> str:
    """``"hcom_allReduce__586_0_1"`` → ``"allreduce"``; an unknown name stays as it is."""
    match = OPERATION.match(name)
    kind = match["kind"] if match else name
    return KINDS.get(kind, kind)


def collectives_of_rows(
    columns: EventColumns, tasks: ColumnArrays, strings: Strings
) -> ColumnArrays:
    """The collective table of the rows that say how many elements they move."""
    slices = columns.tables["slices"]
    row = tasks["slice"]
    chosen = (tasks["element_count"] != ABSENT) & (slices["category"][row] == Category.KERNEL)
    names = [track.thread_name or "" for track in columns.tracks]
    labels = [match["name"] if (match := GROUP.match(name)) else None for name in names]
    operations = Operations(
        row[chosen],
        strings.rewritten(slices["name_code"][row[chosen]], kind_of),
        tasks["element_type_code"][chosen],
        tasks["element_count"][chosen],
        strings.codes(labels)[slices["track"][row[chosen]]],
    )
    return collective_table(operations, strings)


RECEIVED = ("reduce_scatter",)
BOTH = ("allreduce", "broadcast", "reduce")
"""Kinds whose ``count`` HCCL takes for what a rank gets, and for what it gives and gets alike; of
all others it is what a rank gives."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Collectives: their slices (rows), and per slice what it says.

    Attributes:
        rows: The slices.
        kind: Codes of what :func:`kind_of` gives.
        dtype: Code of the data type.
        count: Elements.
        group: Code of the group.
    """

    rows: Int64
    kind: Int32
    dtype: Int32
    count: Int64
    group: Int32


def collective_table(of: Operations, strings: Strings) -> ColumnArrays:
    """The collective table, one row per operation."""
    table: ColumnArrays = {
        name: np.full(len(of.rows), ABSENT if dtype is np.int64 else -1, dtype)
        for name, dtype in TABLE_COLUMNS["collective"].items()
    }
    is_received = np.isin(of.kind, strings.codes(RECEIVED))
    is_both = np.isin(of.kind, strings.codes(BOTH))
    return table | {
        "slice": of.rows.astype(np.int64),
        "collective_code": of.kind,
        "dtype_code": of.dtype,
        "in_nelems": np.where(is_received, ABSENT, of.count),
        "out_nelems": np.where(is_received | is_both, of.count, ABSENT),
        "group_code": of.group,
    }
