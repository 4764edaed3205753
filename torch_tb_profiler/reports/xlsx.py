"""Tables as an Excel workbook: one sheet per table, with numbers as numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_tb_profiler.reports.cells import finite
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.views.schema import Column, Scalar, Table

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

MAX_ROWS = 1_048_575
"""Rows of a sheet below its header, by Excel's limit."""

MAX_TEXT = 32_767
"""Characters of a cell, by Excel's limit."""

_MAX_NAME = 31
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\]")
_RESERVED = "history"
"""No sheet may have this name."""

_EPOCH = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""When every workbook was created, so that the same tables give the same file."""

_UNITS: dict[str | None, str] = {
    "us": "µs",
    "pct": "%",
    "bytes": "B",
    "gb_per_s": "GB/s",
    "per_s": "/s",
}

_MIN_WIDTH, _MAX_WIDTH, _SAMPLED_ROWS = 8, 60, 200


class Sheet(Struct, frozen=True):
    """A table, and the name that its sheet is to have."""

    name: str
    table: Table


def dumps(about: Sequence[tuple[str, str]], sheets: Sequence[Sheet]) -> bytes:
    """The workbook.

    Args:
        about: Lines of the first sheet: what they are and what they say.
        sheets: The tables in order; names are shortened and made unique.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    import xlsxwriter  # noqa: PLC0415 - an extra

    data = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(data, options) as book:
        book.set_properties({"created": _EPOCH})
        bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        _write_about(book, about, bold, wrapped)
        taken = {"about"}
        for sheet in sheets:
            _write_table(book.add_worksheet(_unique(sheet.name, taken)), sheet.table, bold)
    return data.getvalue()


def _write_about(
    book: Workbook, about: Sequence[tuple[str, str]], bold: Format, wrapped: Format
) -> None:
    page = book.add_worksheet("About")
    page.set_column(0, 0, 24)
    page.set_column(1, 1, 100)
    for row, (title, text) in enumerate(about):
        page.write_string(row, 0, visible(title)[:MAX_TEXT], bold)
        page.write_string(row, 1, visible(text)[:MAX_TEXT], wrapped)


def _write_table(page: Worksheet, table: Table, bold: Format) -> None:
    """A header with units that stays in sight, then a row of typed cells per row."""
    frame = finite(table.frame.head(MAX_ROWS))
    page.freeze_panes(1, 1)
    for at, column in enumerate(table.spec.columns):
        page.write_string(0, at, header_text(column), bold)
        page.write_comment(0, at, visible(column.help))
        values: list[Scalar] = frame[column.key].to_list()
        for row, value in enumerate(values, start=1):
            _write_cell(page, row, at, value)
        shown = [len(str(value)) for value in values[:_SAMPLED_ROWS] if value is not None]
        width = max([_MIN_WIDTH, len(column.title), *shown])
        page.set_column(at, at, min(width + 1, _MAX_WIDTH), None, {"hidden": column.hidden})
    if table.spec.columns:
        page.autofilter(0, 0, frame.height, len(table.spec.columns) - 1)


def _write_cell(page: Worksheet, row: int, at: int, value: Scalar) -> None:
    """Nothing for a null; a text is never a formula or a link."""
    if isinstance(value, bool):
        page.write_boolean(row, at, value)
    elif isinstance(value, str):
        page.write_string(row, at, visible(value)[:MAX_TEXT])
    elif value is not None:
        page.write_number(row, at, value)


def header_text(column: Column) -> str:
    """The title with the unit of the values, which are as in JSON and CSV."""
    title = f"est. {column.title}" if column.estimated else column.title
    if column.unit in (None, "count", "ratio"):
        return visible(title)
    return visible(f"{title} [{_UNITS.get(column.unit, column.unit)}]")


def _unique(name: str, taken: set[str]) -> str:
    """``name`` as Excel allows it, different from those in ``taken`` ignoring case."""
    plain = _NOT_IN_NAMES.sub("_", visible(name))[:_MAX_NAME].strip("'") or "table"
    shown, number = f"{plain}~" if plain.lower() == _RESERVED else plain, 2
    while shown.lower() in taken:
        suffix = f"~{number}"
        shown, number = plain[: _MAX_NAME - len(suffix)] + suffix, number + 1
    taken.add(shown.lower())
    return shown
