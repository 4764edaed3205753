"""The answer about what queries in SQL can use."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.views.schema import ColumnPayload


class SqlTablePayload(msgspec.Struct, frozen=True):
    """One table; ``short_name`` is its name without schema where that means this table."""

    name: str
    short_name: str | None
    title: str
    help: str
    columns: list[ColumnPayload]


class SqlExamplePayload(msgspec.Struct, frozen=True):
    """A query to start from."""

    title: str
    help: str
    query: str


class SqlTablesAnswer(Answer, kw_only=True):
    """``/sql/tables``: tables, examples, and limits of queries; why there is no SQL, or null."""

    tables: list[SqlTablePayload]
    examples: list[SqlExamplePayload]
    max_text: int
    max_rows: int
    time_limit_s: float
    missing_reason: str | None
    missing_hint: str | None
