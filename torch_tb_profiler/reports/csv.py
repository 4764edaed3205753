"""A table as CSV (RFC 4180): keys as header, exact values, null as nothing.

A text that a spreadsheet would run as a formula is quoted with a leading apostrophe, as OWASP
advises (https://owasp.org/www-community/attacks/CSV_Injection): names come from the trace, and
a kernel may be called ``=HYPERLINK(…)``. Numbers are never touched.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.cells import finite
from torch_tb_profiler.views.schema import Table

_FORMULA_START = r"^[=+\-@\t\r\n＝＋－＠]"
"""What starts a formula, the full-width forms included (some spreadsheets fold them)."""


def dumps(table: Table) -> bytes:
    """The table in UTF-8, lines ended by CR LF.

    A null is an empty field, an empty text is ``""``, booleans are ``true`` and ``false``.
    """
    return frame_csv(table.frame)


def frame_csv(frame: pl.DataFrame) -> bytes:
    """As :func:`dumps`, of a frame whose columns have names for people."""
    text = pl.col(pl.String)
    guarded = pl.when(text.str.contains(_FORMULA_START)).then("'" + text).otherwise(text)
    rows = finite(frame).with_columns(guarded.name.keep())
    return rows.write_csv(line_terminator="\r\n").encode()
