"""What the options do that Paddle's ``Profiler.summary`` has: which tables, in which order, in
which unit, threads merged or apart, operators with their parts."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

import polars as pl

from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import QueryError, query
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.spec import ViewSpec

_THREAD, _PARTS = "thread", "parts"
"""What ``--threads`` and ``--operator-parts`` add to a grouping."""


def with_summary_options(
    spec: ViewSpec, arguments: Namespace, typed: dict[str, str]
) -> dict[str, str]:
    """``typed`` with the options as parameters of the view: a grouping where it has such ones, and
    without an order that is for every table.

    Raises:
        RequestError: the grouping is given twice.
    """
    given = dict(typed)
    parts = [_THREAD] * (arguments.threads == "apart") + [_PARTS] * arguments.operator_parts
    if (arguments.threads is not None or parts) and _groups_by_parts(spec):
        if "group_by" in given:
            raise RequestError(
                "bad_parameter", "--group-by and --threads or --operator-parts say the same."
            )
        given["group_by"] = "+".join(["name", *parts])
    if "sort" in given:
        given["sort"] = _sort_of(spec, given["sort"])
        if spec.sorts_every_table and "table" not in given:
            del given["sort"]
    return given


def _groups_by_parts(spec: ViewSpec) -> bool:
    return any({_THREAD, _PARTS} <= set(group_by.split("+")) for group_by in spec.group_bys)


def _sort_of(spec: ViewSpec, sort: str) -> str:
    return spec.sort_names.get(sort, sort)


def order_for_all(spec: ViewSpec, arguments: Namespace) -> str | None:
    """The order of every table of the view that has its columns; None for the default."""
    if not spec.sorts_every_table or arguments.sort is None or arguments.table is not None:
        return None
    return _sort_of(spec, arguments.sort)


def in_order(result: ViewResult, sort: str) -> ViewResult:
    """The answer with every table that has the columns of ``sort`` in that order, parts of a row
    below it; tables without an order (the phases of a step) stay as they are.

    Raises:
        RequestError: no table has them.
    """
    keys = {key.strip().removeprefix("-") for key in sort.split(",")}
    tables = dict(result.view.tables)
    ordered = [
        name
        for name, table in tables.items()
        if table.spec.sort and keys <= set(table.frame.columns)
    ]
    if not ordered:
        raise RequestError(
            "bad_parameter",
            f"sort: no table shown has {sort[:80]!r}.",
            f"Orders are {', '.join(result.spec.sort_names)}, or columns like -cpu_total_us,name.",
        )
    try:
        for name in ordered:
            tables[name] = _ordered(tables[name], sort)
    except QueryError as error:
        raise RequestError("bad_parameter", str(error)) from error
    return replace(result, view=replace(result.view, tables=tables))


def _ordered(table: Table, sort: str) -> Table:
    """The table in that order; of a tree the parts of a row below it."""
    frame = query(table, sort=sort).frame
    if table.spec.tree is not None:
        own, above = table.spec.tree
        outer = frame.filter(pl.col(above).is_null()).with_row_index("place")
        place = outer.select(pl.col(own).alias(above), "place")
        inner = frame.join(place, on=above, how="inner", maintain_order="left")
        both = pl.concat([outer, inner.select(outer.columns)])
        frame = both.sort("place", maintain_order=True).drop("place")
    return replace(table, frame=frame)
