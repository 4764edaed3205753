"""What a query in SQL may call, and examples of queries."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class SqlExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query to start from.

    Attributes:
        title: Title for people.
        help: What it answers.
        query: Its text.
    """

    title: str
    help: str
    query: str


class SqlFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``sql.toml``.

    Attributes:
        table_functions: Functions that may stand in the place of a table.
        refused_functions: Functions that no query may call.
        unit_functions: Functions whose result has the unit of their first argument.
        example: Queries to start from.
    """

    table_functions: frozenset[str]
    refused_functions: frozenset[str]
    unit_functions: frozenset[str]
    example: tuple[SqlExample, ...]


@once
def sql_rules() -> SqlFile:
    """The contents of ``sql.toml``."""
    return load("sql.toml", SqlFile)
