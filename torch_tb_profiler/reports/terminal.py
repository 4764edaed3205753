"""A view as plain text for a terminal: fits its width, one unit per column, numbers at the right.

Columns without any value are left out. When the rest is too wide, long texts are shortened in
the middle; when that is not enough, columns go from the right, except the first and those the
rows are ordered by; a line under the table names what was left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.reports.cells import (
    DisplayColumn,
    chosen,
    display_columns,
    fact_text,
    facts_in_order,
    indented,
    with_columns,
)
from torch_tb_profiler.reports.notes import (
    documentation_text,
    in_reading_order,
    measured_text,
    note_text,
    same_time_texts,
    title_text,
)
from torch_tb_profiler.reports.style import PLAIN, Style
from torch_tb_profiler.reports.text import display_width, shortened, visible
from torch_tb_profiler.views.name_columns import NameMode
from torch_tb_profiler.views.schema import Fact, Note, Table, View
from torch_tb_profiler.views.spec import ViewSpec

DEFAULT_WIDTH = 100
MIN_WIDTH = 40
GAP = 2
MAX_LISTED = 8
"""Names of columns in a line about what is left out."""

MIN_TEXT_WIDTH = 16
"""A text column is not shortened below this; 16 cells still tell ``aten::conv…ward``."""

MIN_FIRST_WIDTH = 40
"""Nor the first, which says what the row is, below this: kernels of one family start alike."""


class TextLayout(Struct, frozen=True):
    """How a view is printed.

    Attributes:
        width: Cells per line; less than 40 counts as 40.
        columns: Keys of the columns to show, None for all that fit.
        sort: The order that was asked for; its columns are never left out.
        names: Which name of kernels is shown.
        style: Colours.
        time_unit: Unit of all times in tables, of ``cells.TIME_SCALES``; None: by their size.
    """

    width: int = DEFAULT_WIDTH
    columns: Sequence[str] | None = None
    sort: str | None = None
    names: NameMode = "short"
    style: Style = PLAIN
    time_unit: str | None = None


def dumps(spec: ViewSpec, view: View, heading: str, layout: TextLayout | None = None) -> str:
    """The view as lines that fit.

    Args:
        spec: The declaration of the view.
        view: What it answered.
        heading: What it is about: run, worker, span, selection.
        look: How it is printed; None for plain text of 100 cells.
    """
    layout = layout or TextLayout()
    layout = replace(layout, width=max(layout.width, MIN_WIDTH))
    lines = textwrap.wrap(visible(f"{spec.title}: {heading}"), layout.width)
    head = "\n".join([*lines, "=" * max(map(display_width, lines))]) + "\n"
    parts = [layout.style.paint(layout.style.strong, head)]
    if view.answer is not None:
        answer = textwrap.wrap(visible(view.answer), layout.width)
        parts.append("".join(f"{line}\n" for line in answer))
    first, others = facts_in_order(spec, view.facts)
    if first:
        parts.append(_facts(first, layout.width))
    if view.notes:
        parts.append(_notes(view.notes, layout.width, layout.style))
    if others:
        parts.append(_facts(others, layout.width))
    tables = with_columns(view.tables.values(), layout.columns)
    parts += [_table(table, layout) for table in tables if table.why_empty is None]
    parts += _without_rows(tables, layout.width, layout.style)
    return "\n".join(parts)


def _notes(notes: Sequence[Note], width: int, style: Style) -> str:
    """Findings by number, worst first, then what limits the numbers."""
    texts = []
    for number, note in enumerate(in_reading_order(notes), start=1):
        is_warning = note.severity == "warning"
        title = title_text(note)
        mark = f"{number}." if title is not None else "!" if is_warning else "-"
        before = style.warning if is_warning else style.strong
        body = note_text(note)
        if title is None:
            texts.append(_marked(mark, body, width))
            continue
        texts.append(style.paint(before, _marked(mark, title, width)))
        texts.append(_marked("", body, width, len(mark)))
        texts += [
            style.paint(style.aside, _marked("", text, width, len(mark)))
            for text in (measured_text(note), *same_time_texts(note), documentation_text(note))
            if text is not None
        ]
    return "".join(texts)


def _marked(mark: str, text: str, width: int, least: int = 1) -> str:
    """``text`` in lines of at most ``width`` cells, all but the mark indented."""
    indent = max(len(mark), least) + 1
    lines = textwrap.wrap(
        visible(text), width - indent, break_long_words=True, break_on_hyphens=False
    )
    starts = [mark.ljust(indent), *[" " * indent] * (len(lines) - 1)]
    return "".join(f"{start}{line}\n" for start, line in zip(starts, lines, strict=True))


def _without_rows(tables: Iterable[Table], width: int, style: Style) -> list[str]:
    """Which tables are left out, and why."""
    lines = [
        line
        for table in tables
        if table.why_empty is not None
        for line in textwrap.wrap(f"{table.spec.title}: no rows. {table.why_empty}", width)
    ]
    return ["".join(style.paint(style.aside, f"{line}\n") for line in lines)] if lines else []


def _facts(facts: Sequence[Fact], width: int) -> str:
    names = [
        visible(f"{fact.title} ({fact.scope})" if _adds_scope(fact) else fact.title)
        for fact in facts
    ]
    name_width = min(max(map(display_width, names)), width // 2)
    lines = []
    for name, fact in zip(names, facts, strict=True):
        left = _padded(shortened(name, name_width), name_width, right=False)
        room = width - name_width - GAP
        text = visible(fact_text(fact))
        # A reason is a sentence: without its middle it would say nothing.
        rows = textwrap.wrap(text, room) if fact.value is None else [text]
        for at, row in enumerate(rows):
            start = " " * name_width if at else left
            lines.append(f"{start}{' ' * GAP}{shortened(row, room)}\n")
    return "".join(lines)


def _adds_scope(fact: Fact) -> bool:
    return fact.scope is not None and fact.scope not in fact.title


def _table(table: Table, layout: TextLayout) -> str:
    rows, total = table.frame.height, table.row_count
    total = rows if total is None else total
    count = f"{rows:,} of {total:,} rows" if rows < total else f"{total:,} rows"
    count = "1 row" if total == 1 else count
    style, width = layout.style, layout.width
    title = style.paint(style.strong, shortened(f"{table.spec.title} ({count})", width))
    if rows == 0:
        return f"{title}\n"
    every = indented(table, display_columns(table, layout.names, layout.time_unit))
    candidates = [_visible_cells(column, width) for column in chosen(every, layout.columns)]
    filled = [column for column in candidates if column.has_values]
    order = layout.sort or table.spec.sort
    ordered_by = {key.strip().removeprefix("-") for key in order.split(",")}
    shown, widths = _fitted(filled, width, ordered_by)
    lines = [title, *_header(shown, widths), "  ".join("-" * cells for cells in widths)]
    lines += [_row([column.cells[row] for column in shown], shown, widths) for row in range(rows)]
    aside = _left_out(candidates, filled, shown, width)
    lines += [style.paint(style.aside, line) for line in aside]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _visible_cells(column: DisplayColumn, width: int) -> DisplayColumn:
    """The column with texts that fit a line: what is longer is not measured again and again."""
    if column.is_number:
        return column
    return replace(column, cells=tuple(shortened(visible(cell), width) for cell in column.cells))


def _fitted(
    columns: Sequence[DisplayColumn], width: int, keep: set[str]
) -> tuple[list[DisplayColumn], list[int]]:
    """The columns that fit, with the width of each."""
    shown = list(columns)
    while True:
        natural = [_natural_width(column) for column in shown]
        least = [
            cells if column.is_number else min(cells, MIN_TEXT_WIDTH if at else MIN_FIRST_WIDTH)
            for at, (column, cells) in enumerate(zip(shown, natural, strict=True))
        ]
        room = width - GAP * (len(shown) - 1)
        droppable = [column for column in shown[1:] if column.key not in keep] or shown[1:]
        if sum(least) <= room or not droppable:
            return shown, _shared_out(natural, least, max(room, sum(least)) if droppable else room)
        shown.remove(droppable[-1])


def _shared_out(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths between ``least`` and ``natural`` that add up to ``room`` at most."""
    widths = [min(cells, room) for cells in least]
    spare = room - sum(widths)
    wanting = [at for at, cells in enumerate(natural) if cells > widths[at]]
    while spare > 0 and wanting:
        share = max(1, spare // len(wanting))
        for at in list(wanting):
            extra = min(share, natural[at] - widths[at], spare)
            widths[at] += extra
            spare -= extra
            if widths[at] == natural[at]:
                wanting.remove(at)
    return widths


def _natural_width(column: DisplayColumn) -> int:
    words = [*column.title.split(), column.unit and f"[{column.unit}]"]
    return max(*map(display_width, words), *map(display_width, column.cells))


def _header(columns: Sequence[DisplayColumn], widths: Sequence[int]) -> list[str]:
    """The titles wrapped into their columns, standing on the rule, the unit last."""
    stacks = []
    for column, width in zip(columns, widths, strict=True):
        lines = textwrap.wrap(column.title, width, break_on_hyphens=False) or [""]
        stacks.append([*lines, f"[{column.unit}]"] if column.unit else lines)
    height = max(map(len, stacks))
    padded = [[""] * (height - len(stack)) + stack for stack in stacks]
    return [_row([stack[line] for stack in padded], columns, widths) for line in range(height)]


def _row(cells: Sequence[str], columns: Sequence[DisplayColumn], widths: Sequence[int]) -> str:
    return (" " * GAP).join(
        _padded(shortened(cell, width), width, right=column.is_number)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def _left_out(
    candidates: Sequence[DisplayColumn],
    filled: Sequence[DisplayColumn],
    shown: Sequence[DisplayColumn],
    width: int,
) -> list[str]:
    empty = [column.key for column in candidates if column not in filled]
    narrow = [column.key for column in filled if column not in shown]
    lines = []
    if narrow:
        lines.append(f"Too wide to show: {_listed(narrow)} (see --columns, --format csv)")
    if empty:
        lines.append(f"Without values: {_listed(empty)}")
    return [part for line in lines for part in textwrap.wrap(line, width)]


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MAX_LISTED} more" if len(keys) > MAX_LISTED else ""
    return ", ".join(keys[:MAX_LISTED]) + more
