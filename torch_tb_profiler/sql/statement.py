"""What a query refers to, from the tree that DuckDB's parser makes of it.

The tree decides what a query may do before anything runs: one SELECT, tables of the traces and of
the query itself, and no function that reaches outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from torch_tb_profiler.knowledge.sql import sql_rules
from torch_tb_profiler.requests.errors import Problem

TablePath = tuple[str, ...]
"""The parts of a table's name in a query, in lower case: ``("raw", "slices")``."""

SYNTAX = "sql_syntax"
REFUSED = "sql_refused"
ONLY_SELECT = "Only one SELECT is possible: traces are read, never changed."
OTHER_TABLES = "See 'torch-tb-profiler sql PATH --tables' for the tables there are."
_EMPTY = Problem("sql_text", "The query is empty.", "For example: select * from kernels")
"""Of a text without a statement: of spaces and comments alone."""

MAX_SHOWN = 60


class Statement(Struct, frozen=True):
    """The references of a query.

    Attributes:
        tables: Names of tables.
        defined: Names that the query defines itself (``with``), in lower case.
        columns: Names of columns and aliases, in lower case.
        needs_all_columns: Whether columns may be used that are not in ``columns``: ``*``, rows as
            values.
    """

    tables: tuple[TablePath, ...]
    defined: frozenset[str]
    columns: frozenset[str]
    needs_all_columns: bool

    def uses(self, column: str) -> bool:
        """Whether the query may use a column of this name."""
        return self.needs_all_columns or column.lower() in self.columns


def query_tree(connection: Any, text: str) -> dict[str, Any] | Problem:
    """The root of the tree of the only statement in ``text``, or why it is refused."""
    try:
        (serialized,) = connection.execute("select json_serialize_sql(?)", [text]).fetchone()
        parsed = msgspec.json.decode(serialized)
    except RecursionError:
        return Problem(SYNTAX, "The query is nested too deeply.", "Split it with WITH.")
    if parsed["error"]:
        return _parse_problem(text, parsed)
    statements = parsed["statements"]
    if not statements:
        return _EMPTY
    if len(statements) != 1:
        message = f"There are {len(statements)} statements. {ONLY_SELECT}"
        return Problem(REFUSED, message, "Join them with WITH or UNION ALL, or run them in turn.")
    root: dict[str, Any] = statements[0]["node"]
    return root


def read_references(text: str, root: dict[str, Any]) -> Statement | Problem:
    """The references in a tree, or the first one that is refused."""
    rules = sql_rules()
    tables: dict[TablePath, None] = {}
    defined: set[str] = set()
    columns: set[str] = set()
    alone: set[str] = set()
    aliases: set[str] = set()
    needs_all = False
    for node in _nodes(root):
        kind, family = node.get("type"), node.get("class")
        if kind == "BASE_TABLE":
            tables[table_path(node)] = None
            aliases |= {node["table_name"].lower(), (node.get("alias") or "").lower()}
            columns |= {each.lower() for each in node.get("column_name_alias") or ()}
        elif kind == "TABLE_FUNCTION":
            function = node.get("function") or {}
            name = str(function.get("function_name", "")).lower()
            if name not in rules.table_functions:
                return _no_function(text, node, f"the table function {name[:MAX_SHOWN]!r}")
        elif kind == "SHOW_REF":
            if not node.get("query"):
                return Problem(REFUSED, ONLY_SELECT, OTHER_TABLES)
            needs_all = True
        elif family == "COLUMN_REF":
            names = [each.lower() for each in node["column_names"]]
            columns |= set(names)
            alone |= set(names[:1]) if len(names) == 1 else set()
        elif family in ("STAR", "POSITIONAL_REFERENCE") or kind == "PIVOT":
            needs_all = True
        elif family == "FUNCTION" and str(node.get("function_name", "")).lower() in (
            rules.refused_functions
        ):
            return _no_function(text, node, f"the function {node['function_name'].lower()!r}")
        elif kind == "JOIN":
            needs_all = needs_all or node.get("ref_type") == "NATURAL"
            columns |= {each.lower() for each in node.get("using_columns") or ()}
        if family is None and node.get("alias"):
            aliases.add(node["alias"].lower())
        defined |= set(_defined(node))
    needs_all = needs_all or bool(alone & aliases)
    return Statement(tuple(tables), frozenset(defined), frozenset(columns), needs_all)


def table_path(node: dict[str, Any]) -> TablePath:
    """The name of a table in the tree."""
    parts = (node.get("catalog_name"), node.get("schema_name"), node["table_name"])
    return tuple(part.lower() for part in parts if part)


def position_text(text: str, position: int) -> str:
    """Where something is in a query: line, column and the words there."""
    before = text.encode()[:position].decode(errors="ignore")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    rest = text[len(before) :].split("\n", 1)[0].strip()
    if not rest:
        return f"line {line}, column {column}, at its end"
    return f"line {line}, column {column}, at {rest[:30]!r}"


def _nodes(root: object) -> Iterator[dict[str, Any]]:
    """Every object of a tree, without recursion."""
    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)


def _defined(node: dict[str, Any]) -> Iterator[str]:
    definitions = node.get("cte_map")
    if isinstance(definitions, dict):
        for each in definitions.get("map") or ():
            yield str(each["key"]).lower()


def _parse_problem(text: str, parsed: dict[str, Any]) -> Problem:
    message = " ".join(str(parsed.get("error_message", "")).split())
    if parsed.get("error_type") == "not implemented":
        return Problem(REFUSED, ONLY_SELECT, "Write a query that begins with SELECT, WITH or FROM.")
    if "expression depth" in message:
        return Problem(SYNTAX, "The query is nested too deeply.", "Split it with WITH.")
    where = ""
    if str(parsed.get("position", "")).isdigit():
        where = f" ({position_text(text, int(parsed['position']))})"
    return Problem(SYNTAX, f"{message[:400]}{where}.", "The dialect is DuckDB's: docs/sql.md.")


def _no_function(text: str, node: dict[str, Any], what: str) -> Problem:
    position = node.get("query_location")
    where = ""
    if isinstance(position, int) and position <= len(text.encode()):
        where = f" ({position_text(text, position)})"
    message = f"A query cannot use {what}{where}: it reads tables of traces only."
    return Problem(REFUSED, message, OTHER_TABLES)
