"""Rows of HCCL's collectives → the collective table, with their groups."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int32,
    Int64,
    absent_table,
)
from torch_tb_profiler.trace.side_tables import SideTable

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
"""HCCL's names → the names of collectives in PyTorch's traces."""


def collective_kind(name: str) -> str:
    """``"hcom_allReduce__586_0_1"`` → ``"allreduce"``; an unknown name stays as it is."""
    match = OPERATION.match(name)
    kind = match["kind"] if match else name
    return KINDS.get(kind, kind)


def collectives_from_tasks(
    columns: EventColumns, tasks: ColumnArrays, strings: Strings
) -> ColumnArrays:
    """The collective table of the rows that have an element count."""
    slices = columns.tables["slices"]
    row = tasks["slice"]
    chosen = (tasks["element_count"] != ABSENT) & (slices["category"][row] == Category.KERNEL)
    names = [track.thread_name or "" for track in columns.tracks]
    labels = [match["name"] if (match := GROUP.match(name)) else None for name in names]
    operations = CollectiveRows(
        row[chosen],
        strings.rewritten(slices["name_code"][row[chosen]], collective_kind),
        tasks["element_type_code"][chosen],
        tasks["element_count"][chosen],
        strings.codes(labels)[slices["track"][row[chosen]]],
    )
    return collective_table(operations, strings)


COUNTS_OUTPUT = ("reduce_scatter",)
"""Kinds whose ``count`` is the number of elements a rank receives."""

COUNTS_BOTH = ("allreduce", "broadcast", "reduce")
"""Kinds whose ``count`` holds for input and output; for all others it is what a rank sends."""


class CollectiveRows(Struct, frozen=True):
    """Collectives: their slices (rows), and the arguments of each.

    Attributes:
        rows: Their slices.
        kind: Code of the kind, see :func:`collective_kind`.
        dtype: Code of the data type.
        count: Number of elements.
        group: Code of the group.
    """

    rows: Int64
    kind: Int32
    dtype: Int32
    count: Int64
    group: Int32


def collective_table(operations: CollectiveRows, strings: Strings) -> ColumnArrays:
    """The collective table, one row per operation."""
    counts_output = np.isin(operations.kind, strings.codes(COUNTS_OUTPUT))
    counts_both = np.isin(operations.kind, strings.codes(COUNTS_BOTH))
    return absent_table("collective", len(operations.rows)) | {
        "slice": operations.rows.astype(np.int64),
        "collective_code": operations.kind,
        "dtype_code": operations.dtype,
        "in_nelems": np.where(counts_output, ABSENT, operations.count),
        "out_nelems": np.where(counts_output | counts_both, operations.count, ABSENT),
        "group_code": operations.group,
    }


def set_groups(
    columns: EventColumns,
    collectives: SideTable | None,
    links: SideTable | None,
    strings: Strings,
) -> None:
    """Set the group of collectives from the reported collectives of the same name, and its size
    from the number of ranks in its links. In place."""
    if collectives is None or not len(columns.tables["collective"]["slice"]):
        return
    table = columns.tables["collective"]
    names = columns.tables["slices"]["name_code"][table["slice"]]
    groups = dict(collectives.frame.select("name", "group").drop_nulls().rows())
    sizes = {} if links is None else _sizes(links.frame)
    for code in np.unique(names).tolist():
        group = groups.get(columns.strings[code])
        if group is None:
            continue
        rows = names == code
        table["group_code"][rows] = strings.code(group)
        if group in sizes:
            table["group_size"][rows] = sizes[group]


def _sizes(links: pl.DataFrame) -> dict[str, int]:
    ends = pl.concat(
        [
            links.select("group", rank=end).drop_nulls()
            for end in ("source_rank", "destination_rank")
        ]
    )
    return dict(ends.group_by("group").agg(pl.col("rank").n_unique()).rows())
