"""A table as CSV (RFC 4180): keys as header, exact values, null as nothing.

A text that a spreadsheet would run as a formula is quoted with a leading apostrophe, as OWASP
advises (https://owasp.org/www-community/attacks/CSV_Injection): names come from the trace, and
a kernel may be called ``=HYPERLINK(…)``. A spreadsheet that takes semicolons, tabs or line ends
for the ends of cells sees others than these, so what a formula would be after one of them is quoted
too. Control characters are written as ``\\x1b``, as a terminal would act on them. Numbers are never
touched. The pages write the same (``fe/src/lib/csv.ts``).
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.cells import finite
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.views.schema import Table

_FORMULA = r"[=+\-@＝＋－＠]"
"""What starts a formula; some spreadsheets take full-width forms for the others."""

_DROPPED = r"[\s\p{Cc}\p{Cf}\"]*"
"""What one spreadsheet or another drops before it."""

_AT_START = rf"^(?:{_DROPPED}{_FORMULA}|[\t\r\n])"
_INSIDE = rf"([;\t\r\n]{_DROPPED})({_FORMULA})"

_ACTING = rf"{_AT_START}|{_INSIDE}|[\x00-\x08\x0b-\x1f\x7f-\x9f]"

_CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"]
_VISIBLE = [visible(each) for each in _CONTROLS]


def dumps(table: Table) -> bytes:
    """The table in UTF-8, lines ended by CR LF.

    A null is an empty field, an empty text is ``""``, booleans are ``true`` and ``false``.
    """
    return frame_csv(table.frame)


def frame_csv(frame: pl.DataFrame) -> bytes:
    """As :func:`dumps`, of a frame whose columns have names for people."""
    rows = finite(frame)
    texts = [each for each in rows.iter_columns() if each.dtype == pl.String]
    acting = [each.name for each in texts if each.str.contains(_ACTING).any()]
    rows = rows.with_columns(_guarded(pl.col(name)) for name in acting)
    return rows.write_csv(line_terminator="\r\n").encode()


def _guarded(text: pl.Expr) -> pl.Expr:
    inside = text.str.replace_all(_INSIDE, "$1'$2").str.replace_many(_CONTROLS, _VISIBLE)
    return pl.when(text.str.contains(_AT_START)).then("'" + inside).otherwise(inside).name.keep()
