"""Calls of the host into libraries and the operating system."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.importers.nsys.export import Export, named
from torch_tb_profiler.importers.nsys.parts import Part, Slices
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.text import api_name
from torch_tb_profiler.trace.categories import Category


@dataclass(frozen=True, slots=True)
class CallTable:
    """A table of calls.

    Attributes:
        table: Its name.
        word: The category as the trace shows it.
        category: What its rows are.
        name: The column of their names.
    """

    table: str
    word: str
    category: Category
    name: str = "nameId"


OS_RUNTIME = CallTable("OSRT_API", "os_runtime", Category.HOST_OTHER)
"""Calls that may wait. They are drawn beside what the program does: none is a parent of an
operator."""

LIBRARIES: tuple[CallTable, ...] = (
    CallTable("CUBLAS_EVENTS", "cublas", Category.ANNOTATION),
    CallTable("CUDNN_EVENTS", "cudnn", Category.ANNOTATION),
    CallTable("MPI_P2P_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_COLLECTIVES_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_START_WAIT_EVENTS", "mpi", Category.ANNOTATION, "textId"),
    CallTable("MPI_OTHER_EVENTS", "mpi", Category.ANNOTATION, "textId"),
)
"""Functions of libraries: ranges, which may be where a kernel is launched."""


def read_host_calls(export: Export) -> list[Part]:
    """All of these calls, table by table."""
    return [
        _read(export, table)
        for table in (OS_RUNTIME, *LIBRARIES)
        if table.table in export.database.tables
    ]


def _read(export: Export, table: CallTable) -> Part:
    rows = TimedRows(export.database, table.table, export.quality)
    columns = rows.columns("globalTid", table.name, "end")
    return Part(
        Slices.of(
            category=table.category,
            raw_category_code=export.names.code(table.word),
            name_code=named(export, columns[table.name], api_name),
            track=export.tracks.of_threads(columns["globalTid"]),
            start_ns=rows.start_ns,
            end_ns=columns["end"],
        )
    )
