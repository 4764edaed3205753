"""Operators and scopes of device work, as it states them.

Device work of XLA names the HLO operation that it computes, and the framework's scopes around it
(``jit(step)/decoder/dot_general``). The host launches whole programs, so no operator of the host
stands around it: each piece of work gets an operator of its own without any time of the host, at
its start, and each scope a range from the first to the last work of consecutive work in it.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.scope_ranges import MAX_SCOPES, scope_ranges
from torch_tb_profiler.importers.xplane.device_rows import LineWork
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int32, Int64

OPERATOR_CATEGORY = "hlo"
SCOPE_CATEGORY = "xla/name scope"
"""Raw categories of operators without an HLO category, and of scopes; the prefix makes the rest the
domain of the ranges."""


def scope_names(path: str) -> list[str]:
    """The scopes of a path, without the operation at its end: ``jit(f)/layer/add:`` → ``jit(f)``,
    ``layer``. Separators inside parentheses belong to a name."""
    names, depth, start = [], 0, 0
    for at, char in enumerate(path):
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(depth - 1, 0)
        elif char == "/" and depth == 0:
            names.append(path[start:at])
            start = at + 1
    return [name for name in names if name][:MAX_SCOPES]


def add_operators(work: LineWork, runs: Int64, track: int, rows: TraceRows) -> Int64:
    """Add the operators of one line's work that names its operation; returns the row of each
    operator, -1 for work without one.

    Args:
        work: The work, by start.
        runs: Per piece of work a number of the run of a program that it belongs to.
        track: The track of the operators.
        rows: The tables.
    """
    named = work.operation >= 0
    owners = np.full(work.row.size, -1, np.int64)
    if not named.any():
        return owners
    start = work.start_ns[named]
    owners[named] = rows.add_slices(
        {
            "category": np.full(start.size, Category.OPERATOR, np.int8),
            "raw_category_code": np.where(
                work.category[named] >= 0, work.category[named], rows.strings[OPERATOR_CATEGORY]
            ).astype(np.int32),
            "name_code": work.operation[named],
            "track": np.full(start.size, track, np.int32),
            "start_ns": start,
            "dur_ns": np.zeros(start.size, np.int64),
        }
    )
    _add_scopes(work.select(named), runs[named], track, rows)
    return owners


def _constant(rows: TraceRows, text: str, count: int) -> Int32:
    return np.full(count, rows.strings[text], np.int32)


def _add_scopes(work: LineWork, runs: Int64, track: int, rows: TraceRows) -> None:
    """Add the ranges of scopes."""
    ranges = scope_ranges(_levels(work.path, rows), work.start_ns, work.end_ns, runs)
    count = ranges.code.size
    rows.add_slices(
        {
            "category": np.full(count, Category.ANNOTATION, np.int8),
            "raw_category_code": _constant(rows, SCOPE_CATEGORY, count),
            "name_code": ranges.code,
            "track": np.full(count, track, np.int32),
            "start_ns": ranges.start_ns,
            "dur_ns": ranges.dur_ns,
        }
    )


def _levels(path: Int32, rows: TraceRows) -> Int32:
    """Per piece of work the code of its scope on each level, -1 below the last."""
    distinct, inverse = np.unique(path, return_inverse=True)
    texts = list(rows.strings)
    names = [scope_names(texts[code]) if code >= 0 else [] for code in distinct.tolist()]
    depth = max(map(len, names), default=0)
    table = np.full((distinct.size, depth), -1, np.int32)
    for row, scopes in enumerate(names):
        table[row, : len(scopes)] = [rows.strings[name] for name in scopes]
    levels: Int32 = table[inverse]
    return levels
