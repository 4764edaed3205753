"""What ``sql --tables``, ``--columns`` and ``--examples`` print."""

from __future__ import annotations

import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.reports.csv import frame_csv
from torch_tb_profiler.reports.terminal import DEFAULT_WIDTH
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.sql import SqlTablesAnswer
from torch_tb_profiler.sql.listing import tables_answer

GAP = "  "
MIN_LAST = 40
"""Cells of the last column, at least."""


def print_listing(arguments: Namespace) -> None:
    """Print it as text, as CSV, or as the answer of ``/sql/tables`` in JSON.

    Raises:
        UnknownError, RequestError: no table, or several, have the name; or the format is another.
    """
    if arguments.format not in ("table", "json", "csv") or arguments.output is not None:
        message = "Tables, columns and examples are printed as table, json or csv only."
        raise RequestError("bad_parameter", message)
    answer = tables_answer(arguments.columns_of)
    if arguments.format == "json":
        sys.stdout.buffer.write(encode(answer) + b"\n")
        return
    if arguments.examples and arguments.format == "table":
        print("\n\n".join(_example_texts(answer)))
        return
    header, rows = _rows(arguments, answer)
    if arguments.format == "csv":
        frame = pl.DataFrame(rows, dict.fromkeys(header, pl.String), orient="row")
        sys.stdout.buffer.write(frame_csv(frame))
        return
    print("\n".join(_lines([header, *rows])))


def _rows(
    arguments: Namespace, answer: SqlTablesAnswer
) -> tuple[Sequence[str], list[Sequence[str | None]]]:
    if arguments.tables:
        tables = [(table.name, table.short_name, table.help) for table in answer.tables]
        return ("table", "or", "meaning"), list(tables)
    if arguments.examples:
        examples = [(each.title, each.help, each.query) for each in answer.examples]
        return ("title", "meaning", "query"), list(examples)
    (table,) = answer.tables
    columns = [(column.key, column.type, column.unit, column.help) for column in table.columns]
    return ("column", "type", "unit", "meaning"), list(columns)


def _lines(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """Rows in columns, of which the last is wrapped."""
    widths = [max(len(row[at] or "") for row in rows) for at in range(len(rows[0]) - 1)]
    indent = sum(widths) + len(GAP) * len(widths)
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    lines = []
    for row in rows:
        first = GAP.join((row[at] or "").ljust(cells) for at, cells in enumerate(widths)) + GAP
        texts = textwrap.wrap(row[-1] or "", max(MIN_LAST, width - indent)) or [""]
        lines.append(f"{first}{texts[0]}".rstrip())
        lines += [f"{' ' * indent}{text}" for text in texts[1:]]
    return lines


def _example_texts(answer: SqlTablesAnswer) -> list[str]:
    return [f"-- {each.title}: {each.help}\n{each.query.strip()}" for each in answer.examples]
