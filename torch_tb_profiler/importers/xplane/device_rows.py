"""Events of devices: kernels, copies, HLO operations, and what only groups them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.xplane.details import COPY, KERNEL, SET
from torch_tb_profiler.importers.xplane.lines import LineKind
from torch_tb_profiler.importers.xplane.metadata import OPERATION, PATH
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.stats import NamedStats
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int32, Int64
from torch_tb_profiler.trace.constant_columns import concatenate

COPY_NAME, SET_NAME = "memcpy", "memset"
"""How names of copies and memsets of a stream begin, whatever the case."""

_GROUPING = (LineKind.MODULES, LineKind.STEPS)


class LineWork(Struct, frozen=True):
    """LineWork of a device in one line, for its operators and scopes; arrays are aligned.

    Attributes:
        row: Row of the slice.
        start_ns: Its start.
        end_ns: Its end.
        operation: Code of the name of the HLO operation, -1 for none.
        path: Code of the scopes and the operation of the framework, -1 for none.
        program: Code of the XLA program, -1 for none.
        category: Code of the HLO category, -1 for none.
    """

    row: Int64
    start_ns: Int64
    end_ns: Int64
    operation: Int32
    path: Int32
    program: Int32
    category: Int32

    def select(self, rows: Int64 | Bools) -> LineWork:
        """Some of the work."""
        return LineWork(
            self.row[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.operation[rows],
            self.path[rows],
            self.program[rows],
            self.category[rows],
        )


def joined_work(parts: list[LineWork]) -> LineWork:
    """The work of several parts of a line, by start, what is longer first."""
    work = LineWork(
        concatenate([part.row for part in parts], np.int64),
        concatenate([part.start_ns for part in parts], np.int64),
        concatenate([part.end_ns for part in parts], np.int64),
        concatenate([part.operation for part in parts], np.int32),
        concatenate([part.path for part in parts], np.int32),
        concatenate([part.program for part in parts], np.int32),
        concatenate([part.category for part in parts], np.int32),
    )
    return work.select(np.lexsort((-work.end_ns, work.start_ns)))


def containing(start_ns: Int64, end_ns: Int64) -> Bools:
    """Which of some slices, ordered by start and longer first, contain the next: loops and
    conditions, whose operations stand on the same line."""
    contains = np.zeros(start_ns.size, np.bool_)
    if start_ns.size > 1:
        is_inside = (start_ns[1:] < end_ns[:-1]) & (end_ns[1:] <= end_ns[:-1])
        contains[:-1] = is_inside & (end_ns[1:] > start_ns[1:])
    return contains


def categories(kind: LineKind, name_codes: Int32, texts: dict[int, str], stats: NamedStats) -> Int8:
    """The categories of events of a line of a device; one of a stream that is neither a kernel nor
    a copy nor a memset is none of them.

    Args:
        kind: The kind of the line.
        name_codes: The codes of the names.
        texts: Code → name.
        stats: The values of the events.
    """
    count = name_codes.size
    if kind == LineKind.OPERATIONS:
        return np.full(count, Category.KERNEL, np.int8)
    if kind in _GROUPING:
        return np.full(count, Category.DEVICE_ANNOTATION, np.int8)
    category = np.full(count, Category.DEVICE_OTHER, np.int8)
    if kind != LineKind.STREAM:
        return category
    category[stats.has(OPERATION) | stats.has(KERNEL)] = Category.KERNEL
    for stat, prefix, own in (
        (COPY, COPY_NAME, Category.MEMCPY),
        (SET, SET_NAME, Category.MEMSET),
    ):
        codes = [code for code, text in texts.items() if text.lower().startswith(prefix)]
        is_own = stats.has(stat) | (
            np.isin(name_codes, np.array(codes, np.int32)) & ~stats.has(KERNEL)
        )
        category[is_own] = own
    return category


def stated_texts(stats: NamedStats, rows: TraceRows) -> tuple[Int32, Int32]:
    """Per event the codes of its HLO operation and of its path in the framework, -1 for none."""
    columns = []
    for name in (OPERATION, PATH):
        codes, texts = stats.texts(name)
        columns.append(rows.codes(texts)[codes])
    return columns[0], columns[1]
