"""Which columns of tables the columns of an answer are, so that they have the same unit.

A column of the answer has a source where it is a plain column of a table, also through ``with`` and
subqueries, or a function of one that has its unit (``sum``, ``max``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from torch_tb_profiler.knowledge.sql import sql_rules
from torch_tb_profiler.sql.statement import TablePath, table_path

Source = tuple[TablePath, str]
"""A table, and the key of one of its columns."""


class OutputColumn(Struct, frozen=True):
    """A column of a query or of a relation in it: its name in lower case, and its source."""

    name: str
    source: Source | None = None
    is_merged: bool = False


OutputColumns = list[OutputColumn]
Relation = tuple[str, OutputColumns]
"""The alias of a relation in lower case, and its columns."""


class UnknownColumnsError(Exception):
    """The columns of a part of the query do not follow from its text."""


def output_sources(
    root: dict[str, Any], tables: Mapping[TablePath, Sequence[str]]
) -> list[Source | None] | None:
    """The source of every column of the answer; None where they do not follow from the text.

    Args:
        root: The tree of the query.
        tables: The columns of the tables, by their names in the query.
    """
    try:
        return [each.source for each in _outputs(root, tables, {})]
    except (UnknownColumnsError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _outputs(
    node: dict[str, Any],
    tables: Mapping[TablePath, Sequence[str]],
    outer: Mapping[str, OutputColumns],
) -> OutputColumns:
    if node["type"] != "SELECT_NODE":
        raise UnknownColumnsError
    scope = dict(outer)
    for each in node["cte_map"]["map"]:
        try:
            columns = _outputs(_query_of(each["value"]), tables, scope)
        except UnknownColumnsError:
            columns = []
        names = each["value"]["aliases"]
        scope[each["key"].lower()] = [
            OutputColumn(names[at].lower() if at < len(names) else column.name, column.source)
            for at, column in enumerate(columns)
        ]
    relations = _relations(node["from_table"], tables, scope)
    return [column for item in node["select_list"] for column in _selected(item, relations)]


def _query_of(value: dict[str, Any]) -> dict[str, Any]:
    """The query of a definition, in the trees of DuckDB 1 and 2."""
    node: dict[str, Any] = value.get("query_node") or value["query"]["node"]
    return node


def _relations(
    table: dict[str, Any],
    tables: Mapping[TablePath, Sequence[str]],
    scope: Mapping[str, OutputColumns],
) -> list[Relation]:
    kind, alias = table["type"], (table["alias"] or "").lower()
    if kind == "EMPTY":
        return []
    if table.get("column_name_alias"):
        raise UnknownColumnsError
    if kind == "BASE_TABLE":
        path = table_path(table)
        name = path[-1]
        if len(path) == 1 and name in scope:
            if not scope[name]:
                raise UnknownColumnsError
            return [(alias or name, scope[name])]
        return [(alias or name, [OutputColumn(key, (path, key)) for key in tables[path]])]
    if kind == "SUBQUERY":
        return [(alias, _outputs(table["subquery"]["node"], tables, scope))]
    if kind == "JOIN":
        return _joined(table, tables, scope)
    raise UnknownColumnsError


def _joined(
    join: dict[str, Any],
    tables: Mapping[TablePath, Sequence[str]],
    scope: Mapping[str, OutputColumns],
) -> list[Relation]:
    left = _relations(join["left"], tables, scope)
    if join["join_type"] in ("SEMI", "ANTI"):
        return left
    right = _relations(join["right"], tables, scope)
    shared = {each.lower() for each in join.get("using_columns") or ()}
    if join["ref_type"] == "NATURAL":
        shared = {column.name for _, columns in left for column in columns}
    return left + [
        (alias, [OutputColumn(each.name, each.source, each.name in shared) for each in columns])
        for alias, columns in right
    ]


def _selected(item: dict[str, Any], relations: list[Relation]) -> OutputColumns:
    if item["class"] == "STAR":
        changes = ("exclude_list", "replace_list", "rename_list", "qualified_exclude_list")
        if item.get("columns") or item.get("expr") or any(item.get(key) for key in changes):
            raise UnknownColumnsError
        wanted = item["relation_name"].lower()
        if wanted:
            return [each for alias, columns in relations if alias == wanted for each in columns]
        return [each for _, columns in relations for each in columns if not each.is_merged]
    name = (item["alias"] or "").lower()
    if item["class"] == "COLUMN_REF":
        name = name or item["column_names"][-1].lower()
    return [OutputColumn(name, _source(item, relations))]


def _source(item: dict[str, Any], relations: list[Relation]) -> Source | None:
    if item["class"] == "COLUMN_REF":
        names = [each.lower() for each in item["column_names"]]
        matches = [
            column.source
            for alias, columns in relations
            for column in columns
            if column.name == names[-1] and not column.is_merged and names[-2:-1] in ([], [alias])
        ]
        return matches[0] if len(matches) == 1 else None
    has_unit = item.get("function_name") in sql_rules().unit_functions
    if item["class"] in ("FUNCTION", "WINDOW") and has_unit:
        arguments = item.get("children") or item.get("arguments") or []
        first = arguments[0] if arguments else {}
        return _source(first.get("expression", first), relations) if first else None
    return None
