"""A table of a view as HTML: one unit per column, as many rows as the report has room for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from torch_tb_profiler.reports.cells import DisplayColumn, chosen, display_columns, indented
from torch_tb_profiler.reports.html.markup import Markup, element, joined, text
from torch_tb_profiler.reports.text import shortened
from torch_tb_profiler.views.schema import Column, Table

MAX_ROWS = 500
"""Of one table: more than anybody reads; the exports have all."""

MAX_BYTES = 200_000
"""Of one table, so that a report stays below 5 MB."""

MAX_CELL = 100
"""Characters of a cell, shortened in the middle; the names of kernels may have thousands."""

MAX_HOVER = 300
"""Characters of the whole text that a shortened cell shows on hover."""


MIN_SAME_ROWS = 3
"""From so many rows on a column with one value in all of them is a line below the table."""

MANY_COLUMNS = 12
"""More of them are printed smaller."""


class ShownTable(Struct, frozen=True):
    """A table as a report shows it.

    Attributes:
        markup: The table.
        columns: The columns with values, for the chapter on how numbers are counted.
        row_count: Number of rows it shows.
        cut_at_bytes: The size that left rows out; None if no size did.
    """

    markup: Markup
    columns: tuple[Column, ...]
    row_count: int = 0
    cut_at_bytes: int | None = None


def table_markup(table: Table, room_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS) -> ShownTable:
    """The table with its title, as many rows as fit and a line that says how many there are.

    Args:
        table: The table with all its rows.
        room_bytes: How long it may be.
        max_rows: How many rows it may have.
    """
    if table.why_empty is not None:
        reason = element("p", table.why_empty, class_="soft")
        return ShownTable(joined([_heading(table, "no rows"), reason]), ())
    columns = indented(table, display_columns(table))
    known = [column for column in chosen(columns, None) if column.has_values]
    same = [column for column in known[1:] if _is_same(column)]
    shown = [column for column in known if column not in same]
    bars = {each.key for each in table.spec.columns if each.unit == "pct"}
    rows: list[Markup] = []
    size = 0
    cut_at_bytes = None
    for at in range(min(table.frame.height, max_rows)):
        row = _row(shown, at, table, bars)
        size += len(row.encode())
        if size > room_bytes and rows:
            cut_at_bytes = room_bytes
            break
        rows.append(row)
    header = element("tr", *(_header(column, table) for column in shown))
    width = "wide" if len(shown) > MANY_COLUMNS else None
    grid = element("table", element("thead", header), element("tbody", *rows), class_=width)
    markup = joined(
        [
            _heading(table, _count_text(table, len(rows))),
            element(
                "div",
                grid,
                class_="scroll",
                role="region",
                aria_label=table.spec.title,
                tabindex="0",
            ),
            _same_values(same),
            _without_values(table, columns),
        ]
    )
    keys = {column.key for column in known}
    with_values = tuple(each for each in table.spec.columns if each.key in keys)
    return ShownTable(markup, with_values, len(rows), cut_at_bytes)


def _heading(table: Table, count: str) -> Markup:
    return element("h3", f"{table.spec.title} ", element("small", count), title=table.spec.help)


def _row(columns: Sequence[DisplayColumn], at: int, table: Table, bars: set[str]) -> Markup:
    cells = []
    for column in columns:
        cell = column.cells[at]
        if not column.is_number:
            short = shortened(cell, MAX_CELL)
            whole = None if short == cell else cell[:MAX_HOVER]
            cells.append(element("td", short, class_="t", title=whole))
        elif column.key in bars and (share := table.frame[column.key][at]) is not None:
            width = f"{max(0.0, min(100.0, share)):.1f}%"
            cells.append(element("td", cell, class_="n p", style=f"--p: {width}"))
        else:
            cells.append(element("td", cell, class_="n"))
    return element("tr", *cells)


def _header(column: DisplayColumn, table: Table) -> Markup:
    declared = next(each for each in table.spec.columns if each.key == column.key)
    unit = element("small", f" [{column.unit}]") if column.unit else None
    return element(
        "th", column.title, unit, class_="n" if column.is_number else None, title=declared.help
    )


def _count_text(table: Table, shown: int) -> str:
    total = table.frame.height if table.row_count is None else table.row_count
    if shown >= total:
        return f"{total:,} {'row' if total == 1 else 'rows'}"
    order = _order_text(table)
    return f"first {shown:,} of {total:,} rows{order}"


def _order_text(table: Table) -> str:
    titles = {column.key: column.title for column in table.spec.columns}
    keys = [key.strip().removeprefix("-") for key in table.spec.sort.split(",") if key.strip()]
    names = [titles[key] for key in keys[:1] if key in titles]
    return f", by {names[0]}" if names else ""


def _is_same(column: DisplayColumn) -> bool:
    return len(column.cells) >= MIN_SAME_ROWS and len(set(column.cells)) == 1


def _same_values(columns: Sequence[DisplayColumn]) -> Markup | None:
    """The columns that say the same in every row: beside the others they only take room."""
    if not columns:
        return None
    values = [
        f"{column.title} {shortened(column.cells[0], MAX_CELL)} {column.unit}".rstrip()
        for column in columns
    ]
    return element("p", "Same in every row: ", text(", ".join(values)), class_="soft")


def _without_values(table: Table, columns: Sequence[DisplayColumn]) -> Markup | None:
    """The columns that hold nothing, with the reasons that are known."""
    empty = [column for column in chosen(columns, None) if not column.has_values]
    if not empty:
        return None
    by_reason: dict[str, list[str]] = {}
    for column in empty:
        by_reason.setdefault(table.null_reasons.get(column.key, ""), []).append(column.title)
    parts = [
        f"{', '.join(titles)}: {reason}" if reason else ", ".join(titles)
        for reason, titles in by_reason.items()
    ]
    return element("p", "Without values: ", text("; ".join(parts)), class_="soft")
