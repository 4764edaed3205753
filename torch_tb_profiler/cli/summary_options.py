"""The options of Paddle's ``Profiler.summary``: order of tables, threads merged or apart, operators
with their parts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import QueryError, query
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.spec import ViewSpec

_THREAD, _PARTS = "thread", "parts"
"""Keys that ``--threads`` and ``--operator-parts`` add to a grouping."""


_RANK = "rank"
"""Key of the column that breaks ties."""


def with_summary_options(
    spec: ViewSpec, arguments: Namespace, typed: dict[str, str]
) -> dict[str, str]:
    """``typed`` with the options as parameters of the view: as a grouping if the view has one, and
    without an order that applies to all tables.

    Raises:
        RequestError: the grouping is given twice.
    """
    given = dict(typed)
    parts = [_THREAD] * (arguments.threads == "apart") + [_PARTS] * arguments.operator_parts
    if (arguments.threads is not None or parts) and _groups_by_parts(spec):
        if "group_by" in given:
            raise RequestError(
                "bad_parameter", "Use either --group-by or --threads and --operator-parts."
            )
        given["group_by"] = "+".join(["name", *parts])
    if "sort" in given:
        given["sort"] = _sort_of(spec, given["sort"])
        if spec.sorts_every_table and "table" not in given:
            del given["sort"]
    return given


def refuse_without_effect(specs: Sequence[ViewSpec], arguments: Namespace) -> None:
    """Check that a requested view has operators per thread or with parts, where that is asked.

    Raises:
        RequestError: none has.
    """
    given = {
        "--threads": arguments.threads is not None,
        "--operator-parts": arguments.operator_parts,
    }
    if any(given.values()) and not any(map(_groups_by_parts, specs)):
        options = " and ".join(name for name, is_given in given.items() if is_given)
        raise RequestError(
            "bad_parameter", f"{options}: only for the view summary.", "Add --view summary."
        )


def _groups_by_parts(spec: ViewSpec) -> bool:
    return any({_THREAD, _PARTS} <= set(group_by.split("+")) for group_by in spec.group_bys)


def _sort_of(spec: ViewSpec, sort: str) -> str:
    return spec.sort_names.get(sort, sort)


def order_for_all(spec: ViewSpec, arguments: Namespace) -> str | None:
    """The order for all tables of the view that have its columns; None for the default."""
    if not spec.sorts_every_table or arguments.sort is None or arguments.table is not None:
        return None
    return _sort_of(spec, arguments.sort)


def in_order(result: ViewResult, sort: str) -> ViewResult:
    """Sort all tables that have the columns of ``sort``, keeping parts below their row; tables with
    a fixed order (the phases of a step) are unchanged.

    Raises:
        RequestError: no table has these columns.
    """
    keys = {key.strip().removeprefix("-") for key in sort.split(",")}
    tables = dict(result.view.tables)
    ordered = [
        name
        for name, table in tables.items()
        if table.spec.sort and keys <= set(table.frame.columns)
    ]
    if not ordered:
        names = result.spec.sort_names
        given = next((name for name, text in names.items() if text == sort), sort)
        raise RequestError(
            "bad_parameter",
            f"sort: no table to print has {given[:80]!r}.",
            f"Orders are {', '.join(names)}, or columns like -cpu_total_us,name.",
        )
    try:
        for name in ordered:
            tables[name] = _ordered(tables[name], sort)
    except QueryError as error:
        raise RequestError("bad_parameter", str(error)) from error
    return replace(result, view=replace(result.view, tables=tables))


def _ordered(table: Table, sort: str) -> Table:
    """Sort a table within its threads; rows below another one stay below it in their order."""
    tree = table.spec.tree
    frame = table.frame.with_row_index("position")
    is_root = pl.col("position") >= 0 if tree is None else pl.col(tree[1]).is_null()
    frame = frame.with_columns(root=is_root.cum_sum())
    keys = f"{sort},{_RANK}" if _RANK in frame.columns else sort
    roots = query(replace(table, frame=frame.filter(is_root)), sort=keys).frame
    if _THREAD in frame.columns:
        roots = roots.sort(pl.col("position").min().over(_THREAD), maintain_order=True)
    ranks = roots.select("root").with_row_index("sorted_position")
    frame = frame.join(ranks, on="root").sort("sorted_position", "position")
    return replace(table, frame=frame.select(table.frame.columns))
