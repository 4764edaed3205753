"""A report as CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from torch_tb_profiler.reports.csv import frame_csv
from torch_tb_profiler.reports.dlprof.table import Report

LINE_END = b"\r\n"


def csv_of(report: Report) -> bytes:
    """The tables one below the other, each after its title and before an empty line; a report of
    one table is that table."""
    parts = []
    for table in report.tables:
        title = b"" if table.title is None else table.title.encode() + LINE_END
        parts.append(title + frame_csv(table.frame))
    return LINE_END.join(parts)


def json_of(report: Report) -> bytes:
    """The rows as objects whose keys are the titles of the columns, under the name of the report;
    of several tables under their titles."""
    rows = {table.title: table.frame.to_dicts() for table in report.tables}
    whole = rows.get(None, rows)
    return msgspec.json.format(msgspec.json.encode({report.name: whole}), indent=2) + b"\n"


WRITERS: dict[str, Callable[[Report], bytes]] = {"csv": csv_of, "json": json_of}
"""By format, which is the suffix of the file too."""
