"""A table as text for agents: a line that says what it is, keys with units, exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from torch_tb_profiler.mcp.answer_text import MAX_NAME, AnswerText, quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.table_files import write_table
from torch_tb_profiler.reports.text import ELLIPSIS
from torch_tb_profiler.requests.errors import unknown
from torch_tb_profiler.views.schema import Column, Fact, Scalar, Table

NULL = "null"
_ONE_ROW_NAME = 2_000
"""Characters of a cell where a row has few of them."""
_FEW_COLUMNS = 2
_DECIMALS = 3
"""Of µs: a nanosecond."""
_LARGE = 1000
_SIGNIFICANT = 6
_PLAIN_UNITS = (None, "count", "ratio")
_MAX_REASON = 300


class TablePage(Struct, frozen=True):
    """Rows of a table to be written.

    Attributes:
        source: What the table is called: ``kernels.kernels``.
        table: Its rows, filtered, sorted and cut; ``row_count`` says how many there are.
        offset: How many rows were skipped.
        columns: Keys to show, in order; empty for those with values.
        whole: All rows that pass the filter, for the file.
    """

    source: str
    table: Table
    offset: int = 0
    columns: tuple[str, ...] = ()
    whole: Callable[[], Table] | None = None


def add_table(answer: AnswerText, context: ToolContext, page: TablePage) -> None:
    """Add the rows that fit; where some do not, the whole table goes to a file.

    Raises:
        UnknownError: the table has no such column.
    """
    table = page.table
    title = f"{page.source} ({table.spec.title}): {table.spec.help}"
    if table.why_empty is not None:
        answer.add(f"{title}\nNo rows: {table.why_empty}")
        return
    columns, unused = _columns(table, page.columns)
    limit = _ONE_ROW_NAME if len(columns) <= _FEW_COLUMNS else MAX_NAME
    total = table.frame.height if table.row_count is None else table.row_count
    cells = [
        [cell_text(value, column, limit) for value in table.frame[column.key].to_list()]
        for column in columns
    ]
    lines = ["\t".join(row) for row in zip(*cells, strict=True)]
    header = "\t".join(header_text(column) for column in columns)
    first = page.offset + 1 if lines else page.offset
    nulls = _null_lines(table, columns) + _sums(table, columns, total) + unused
    range_text = f"Rows {first} to {page.offset + len(lines)} of {total:,}, tab-separated:"
    count = answer.add_lines([title, range_text, header], lines, nulls)
    if limit == MAX_NAME and any(ELLIPSIS in cell for row in cells for cell in row):
        nulls.append(f"Texts with {ELLIPSIS} are shortened: ask for that column alone.")
    for line in nulls:
        answer.add(line, "reasons of nulls and empty columns; ask for fewer columns")
    end = page.offset + count
    if count < len(lines):
        whole = table if page.whole is None else page.whole()
        file = write_table(context.cache, whole)
        answer.note_cut(
            f"rows {end + 1} to {page.offset + len(lines)} of {page.source}; ask with "
            f"offset={end}, for fewer columns or a larger max_chars; {file.text}"
        )
    elif end < total:
        answer.add(f"{total - end:,} more rows: offset={end}.")


def header_text(column: Column) -> str:
    """The key of a column with its unit."""
    unit = column.unit
    text = (
        column.key
        if unit in _PLAIN_UNITS or str(unit) in column.key
        else (f"{column.key} [{unit}]")
    )
    return f"{text} (est.)" if column.estimated and "est" not in column.key else text


def cell_text(value: Scalar, column: Column | Fact, limit: int = MAX_NAME) -> str:
    """A value: text on one line, numbers in full, null where it is not known."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NULL
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return quoted(value, limit)
    return number_text(value, column.unit)


def number_text(value: int | float, unit: str | None) -> str:
    """A number: whole ones as they are, times and large ones with three decimals, others with six
    digits."""
    if isinstance(value, int):
        return str(value)
    if unit == "us" or abs(value) >= _LARGE:
        text = f"{value:.{_DECIMALS}f}"
    else:
        return f"{value:.{_SIGNIFICANT}g}"
    return text.rstrip("0").rstrip(".")


def fact_line(fact: Fact) -> str:
    """A single figure with unit and scope, or why it is not known."""
    unit = "" if fact.unit in _PLAIN_UNITS or str(fact.unit) in fact.key else f" {fact.unit}"
    scope = f" ({quoted(fact.scope)})" if fact.scope else ""
    value = cell_text(fact.value, fact)
    reason = f": {quoted(fact.reason, _MAX_REASON)}" if value == NULL and fact.reason else ""
    return f"{fact.key}{scope} = {value}{unit if value != NULL else ''}{reason}"


def _columns(table: Table, keys: Sequence[str]) -> tuple[list[Column], list[str]]:
    """The columns to show, and a line about those that are left out as they have no values."""
    by_key = {column.key: column for column in table.spec.columns}
    for key in keys:
        if key not in by_key:
            raise unknown("column", key, by_key)
    if keys:
        return [by_key[key] for key in keys], []
    visible = [column for column in table.spec.columns if not column.hidden]
    shown = [
        column for column in visible if table.frame[column.key].null_count() < table.frame.height
    ]
    empty = [column.key for column in visible if column not in shown]
    hidden = [column.key for column in table.spec.columns if column.hidden]
    lines = _reasons(table.null_reasons, empty, "All null")
    lines += [f"Further columns on request: {', '.join(hidden)}."] if hidden else []
    return shown or visible[:1], lines


def _null_lines(table: Table, columns: Sequence[Column]) -> list[str]:
    """Why some values of the columns are null."""
    keys = [each.key for each in columns if table.frame[each.key].null_count()]
    return _reasons(table.null_reasons, keys, NULL)


def _reasons(reasons: Mapping[str, str], keys: Sequence[str], label: str) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for key in keys:
        by_reason.setdefault(reasons.get(key, "does not apply"), []).append(key)
    return [
        f"{label}: {', '.join(names)}: {quoted(reason, _MAX_REASON)}"
        for reason, names in by_reason.items()
    ]


def _sums(table: Table, columns: Sequence[Column], total: int) -> list[str]:
    """The sums over all rows that pass the filter."""
    if not table.sums or total < 2:
        return []
    texts = [
        f"{each.key} = {cell_text(table.sums[each.key].shown, each)}"
        for each in columns
        if each.key in table.sums
    ]
    return [f"Sums over all {total:,} rows: {', '.join(texts)}."] if texts else []
