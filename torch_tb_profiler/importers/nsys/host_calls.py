"""Reads calls into libraries and the operating system."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.importers.nsys.export import Export, required_names
from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.text import api_name
from torch_tb_profiler.trace.categories import Category


class CallTable(Struct, frozen=True):
    """A table of calls.

    Attributes:
        table: Name of the table.
        raw_category: Raw category of its rows.
        category: Category of its rows.
        name: Column of the names.
    """

    table: str
    raw_category: str
    category: Category
    name: str = "nameId"


OS_RUNTIME = CallTable("OSRT_API", "os_runtime", Category.HOST_OTHER)
"""Calls that may block. They are not parents of operators and have a category outside the tree."""

LIBRARIES: tuple[CallTable, ...] = (
    CallTable("CUBLAS_EVENTS", "cublas", Category.ANNOTATION),
    CallTable("CUDNN_EVENTS", "cudnn", Category.ANNOTATION),
    CallTable("MPI_P2P_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_COLLECTIVES_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_START_WAIT_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_OTHER_EVENTS", "mpi", Category.ANNOTATION, "textId"),
)
"""Functions of libraries: ranges, inside which kernels can be launched."""


def read_host_calls(export: Export) -> list[SlicePart]:
    """Read all of these calls, table by table."""
    return [
        _read(export, table)
        for table in (OS_RUNTIME, *LIBRARIES)
        if table.table in export.database.tables
    ]


def _read(export: Export, table: CallTable) -> SlicePart:
    rows = TimedRows(export.database, table.table, export.quality)
    columns = rows.columns("globalTid", table.name, "end")
    return SlicePart(
        SliceColumns.build(
            category=table.category,
            raw_category_code=export.names.code(table.raw_category),
            name_code=required_names(export, columns[table.name], api_name),
            track=export.tracks.thread_tracks(columns["globalTid"]),
            start_ns=rows.start_ns,
            end_ns=columns["end"],
        )
    )
