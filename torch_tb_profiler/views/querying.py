"""Sort, filter and page any table of any view: the generic parameters of ``/view`` and ``report``.

Grammar (``docs/internals.md``, "Sort and filter grammar")::

    sort=-device_self_us,name            keys, "-" for descending; nulls last
    filter=name~gemm;calls>=10;conv      clauses joined by ";", all must hold

A clause is ``key operator value`` or a text that any string column must contain that is not hidden;
``key=~/expression/`` and ``=~/expression/`` are regular expressions (``!=~/…/``: none is found). A
backslash takes ``;``, ``\\`` and the operator characters literally; elsewhere it is itself. Text
comparison ignores case. Null satisfies ``!=``, ``!~`` and ``!=~`` (it is neither equal nor
containing) and ``=-``, and no other clause, so a clause and its negation part the rows in two. A
search inside ``name`` also matches the other names of the row (``views/name_columns.py``).
"""

from __future__ import annotations

import math
import re
from functools import partial, reduce
from typing import cast

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.views.name_columns import DEMANGLED, SHORT
from torch_tb_profiler.views.regular_expressions import ExpressionError, matching
from torch_tb_profiler.views.schema import Column, ColumnSum, Table

_WHITE = r"[^\S\x1c-\x1f\x85]"
"""What is white space to browsers too."""
_CLAUSE = re.compile(
    rf"{_WHITE}*([A-Za-z_][A-Za-z0-9_]*){_WHITE}*(!~|!=|>=|<=|~|=|>|<)(.*)", re.DOTALL
)
_EXPRESSION = re.compile(rf"{_WHITE}*~/(.*)/{_WHITE}*", re.DOTALL)
"""A regular expression after ``=`` or ``!=``."""
_SEARCH = re.compile(rf"{_WHITE}*(!?=)(~/.*)", re.DOTALL)
"""A regular expression for every string column."""
_AROUND = re.compile(rf"\A{_WHITE}+|{_WHITE}+\Z")
_CLAUSES = re.compile(r"((?:\\.|[^;])*)(?:;|$)", re.DOTALL)
_ESCAPED = re.compile(r"\\([;\\~!=<>])")
_NULL = "-"
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_OPPOSITE = {"!=": "=", "!~": "~", "!=~": "=~"}
_INSIDE = ("~", "=~")
"""Operators that search inside a text."""


class QueryError(ValueError):
    """A malformed ``sort``, ``filter``, ``offset`` or ``limit``.

    Attributes:
        parameter: Which of the four.
    """

    def __init__(self, parameter: str, text: str) -> None:
        super().__init__(f"{parameter}: {text}")
        self.parameter = parameter


def query(
    table: Table,
    *,
    sort: str | None = None,
    filter: str | None = None,
    offset: int = 0,
    limit: int | None = None,
) -> Table:
    """The rows of ``table`` that satisfy ``filter``, ordered by ``sort``, from ``offset`` on.

    Args:
        table: A filled table; its order breaks ties.
        sort: Sort keys; None or empty keeps the order.
        filter: Clauses; None or empty keeps every row.
        offset: Rows to skip, after filtering and sorting.
        limit: Rows to keep at most; None for all.

    Raises:
        QueryError: a parameter is malformed or names no column of the table.
    """
    if offset < 0:
        raise QueryError("offset", f"{offset} is negative; rows are counted from 0")
    if limit is not None and limit < 0:
        raise QueryError("limit", f"{limit} is negative")
    table = complete(table)
    frame = table.frame
    if filter:
        frame = frame.filter(_filter_expression(table, filter))
    sums = column_sums(table, frame)
    if sort:
        frame = _sorted(table, frame, sort)
    height = frame.height  # polars takes no larger number
    shown = frame.slice(min(offset, height), height if limit is None else min(limit, height))
    filtered_out = height == 0 < table.frame.height
    return replace(table, frame=shown, row_count=height, filtered_out=filtered_out, sums=sums)


def complete(table: Table) -> Table:
    """``table`` with all rows, if it holds only the first ones."""
    return table if table.all_rows is None else table.all_rows()


def column_sums(table: Table, shown: pl.DataFrame) -> dict[str, ColumnSum]:
    """The sums of the columns of ``table`` whose values add up, over the rows that are ``shown``
    and over all."""
    return {
        column.key: ColumnSum(
            shown=_sum(shown[column.key]),
            all=_sum(table.frame[column.key]),
            shown_nulls=shown[column.key].null_count(),
        )
        for column in table.spec.columns
        if column.additive
    }


def _sum(values: pl.Series) -> int | float | None:
    """None where no value is known; the sum of no rows is 0."""
    known = values.drop_nulls()
    return None if known.is_empty() and len(values) > 0 else cast(int | float, known.sum())


def in_default_order(table: Table) -> Table:
    """``table`` ordered as its declaration says (:attr:`TableSpec.sort`)."""
    if not table.spec.sort:
        return table
    return replace(table, frame=_sorted(table, table.frame, table.spec.sort))


def _columns(table: Table) -> dict[str, Column]:
    return {column.key: column for column in table.spec.columns}


def _column(table: Table, key: str, parameter: str) -> Column:
    columns = _columns(table)
    if key not in columns:
        raise QueryError(
            parameter,
            f"table {table.spec.name!r} has no column {key[:80]!r}; it has {', '.join(columns)}",
        )
    return columns[key]


def _sorted(table: Table, frame: pl.DataFrame, sort: str) -> pl.DataFrame:
    keys: list[pl.Expr] = []
    descending: list[bool] = []
    for part in sort.split(","):
        text = _stripped(part)
        key = _stripped(text.removeprefix("-"))
        if not key:
            raise QueryError(
                "sort", f"{sort[:80]!r} has an empty key; write for example -calls,name"
            )
        column = _column(table, key, "sort")
        is_text = column.type == "string"
        keys.append(pl.col(key).str.to_lowercase() if is_text else pl.col(key))
        descending.append(text.startswith("-"))
    return frame.sort(keys, descending=descending, nulls_last=True, maintain_order=True)


def _filter_expression(table: Table, text: str) -> pl.Expr:
    clauses = [clause for clause in _CLAUSES.findall(text) if _stripped(clause)]
    expressions = [_clause_expression(table, clause) for clause in clauses]
    return reduce(lambda a, b: a & b, expressions, pl.lit(True))


def _clause_expression(table: Table, clause: str) -> pl.Expr:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return _search_expression(table, clause)
    key = match[1]
    operator, value = _read(match[2], match[3])
    if key not in _columns(table):
        raise QueryError(
            "filter",
            f"table {table.spec.name!r} has no column {key[:80]!r}; it has "
            f"{', '.join(_columns(table))}. To search for the text {operator!r}, put a backslash "
            "before it",
        )
    column = _columns(table)[key]
    if value == _NULL and operator in ("=", "!="):
        is_null = pl.col(key).is_null()
        return is_null if operator == "=" else ~is_null
    positive = _OPPOSITE.get(operator, operator)
    if positive in _INSIDE:
        if column.type != "string":
            raise QueryError(
                "filter", f"{key} is not a text column; compare it with = != > >= < or <="
            )
        expression = _inside(table, _names_of(table, key), positive, value)
    else:
        expression = _comparison(column, positive, value).fill_null(False)
    return ~expression if positive != operator else expression


def _stripped(text: str) -> str:
    return _AROUND.sub("", text)


def _read(operator: str, text: str) -> tuple[str, str]:
    """Operator and value of a clause, of what stands there."""
    expression = _EXPRESSION.fullmatch(text) if operator in ("=", "!=") else None
    if expression is None:
        return operator, _unescaped(text)
    return f"{operator}~", _ESCAPED.sub(r"\1", expression[1])


def _unescaped(text: str) -> str:
    return _stripped(_ESCAPED.sub(r"\1", text))


def _search_expression(table: Table, clause: str) -> pl.Expr:
    """The expression of a clause without a key: it applies to all visible string columns and to all
    names of a kernel. Matches in hidden columns would show rows without a visible reason."""
    match = _SEARCH.fullmatch(clause)
    operator, value = ("", "") if match is None else _read(match[1], match[2])
    if operator not in ("=~", "!=~"):
        operator, value = "~", _unescaped(clause)
    texts = [column for column in table.spec.columns if column.type == "string"]
    keys = [each.key for each in texts if not each.hidden or each.key in (SHORT, DEMANGLED)]
    if not texts:
        raise QueryError("filter", f"{value[:80]!r} has no key, and this table has no text column")
    positive = _OPPOSITE.get(operator, operator)
    expression = _inside(table, keys, positive, value)
    return ~expression if positive != operator else expression


def _names_of(table: Table, key: str) -> list[str]:
    """``key``, and where it holds names of kernels the columns with their other names."""
    others = (SHORT, DEMANGLED) if key == "name" else ()
    return [key, *(other for other in others if other in table.frame.columns)]


def _inside(table: Table, keys: list[str], operator: str, value: str) -> pl.Expr:
    """Whether one of the texts contains ``value`` or matches it; nulls do not."""
    predicate = _contains if operator == "~" else partial(_matches, table)
    return pl.any_horizontal(predicate(key, value).fill_null(False) for key in keys)


def _contains(key: str, text: str) -> pl.Expr:
    return pl.col(key).str.to_lowercase().str.contains(_lower(text), literal=True)


def _matches(table: Table, key: str, pattern: str) -> pl.Expr:
    # Names repeat: each is matched once.
    texts = table.frame[key].drop_nulls().unique(maintain_order=True)
    try:
        matched = matching(texts, pattern)
    except ExpressionError as error:
        raise QueryError("filter", str(error)) from error
    return pl.col(key).is_in(matched.implode())


def _lower(text: str) -> pl.Expr:
    return pl.lit(text, dtype=pl.String).str.to_lowercase()


def _comparison(column: Column, operator: str, value: str) -> pl.Expr:
    """``column operator value`` for ``=``, ``>``, ``>=``, ``<`` and ``<=``."""
    if column.type == "string":
        return _compared(pl.col(column.key).str.to_lowercase(), operator, _lower(value))
    if column.type == "boolean":
        if operator != "=" or value.lower() not in _BOOLEANS:
            raise QueryError("filter", f"{column.key} is yes or no; write {column.key}=yes")
        return pl.col(column.key) == _BOOLEANS[value.lower()]
    return _compared(pl.col(column.key), operator, pl.lit(_number(column, value)))


def _number(column: Column, value: str) -> int | float:
    text = value if value.isascii() else ""  # digits of other scripts are none to browsers
    try:
        whole = int(text)
    except ValueError:
        pass
    else:
        # Beyond int64 only the comparison with a float has an answer.
        return whole if abs(whole) < 2**63 else float(whole)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise QueryError("filter", f"{column.key} is a number; {value[:80]!r} is not")
    return number


def _compared(left: pl.Expr, operator: str, right: pl.Expr) -> pl.Expr:
    if operator == "=":
        return left == right
    if operator == ">":
        return left > right
    if operator == ">=":
        return left >= right
    if operator == "<":
        return left < right
    return left <= right
