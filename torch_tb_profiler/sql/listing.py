"""The tables, their columns and examples: what an editor of queries needs to know."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.knowledge.sql import sql_rules
from torch_tb_profiler.requests.sql import SqlExamplePayload, SqlTablePayload, SqlTablesAnswer
from torch_tb_profiler.sql.limits import MAX_TEXT, SqlLimits
from torch_tb_profiler.sql.query import missing_package
from torch_tb_profiler.sql.tables import SqlTable, all_tables, short_name, table_named


def tables_answer(name: str | None = None) -> SqlTablesAnswer:
    """Tables, examples and limits.

    Args:
        name: The only table that is wanted; None for all.

    Raises:
        UnknownError, RequestError: no table, or several, have that name.
    """
    missing = missing_package()
    tables: Iterable[SqlTable] = all_tables().values() if name is None else [table_named(name)]
    return SqlTablesAnswer(
        tables=[
            SqlTablePayload(
                name=table.name,
                short_name=short_name(table),
                title=table.spec.title,
                help=table.spec.help,
                columns=[column.payload() for column in table.spec.columns],
            )
            for table in tables
        ],
        examples=[
            SqlExamplePayload(each.title, each.help, each.query) for each in sql_rules().example
        ],
        max_text=MAX_TEXT,
        max_rows=SqlLimits().rows,
        time_limit_s=SqlLimits().time_s,
        missing_reason=None if missing is None else missing.problem.message,
        missing_hint=None if missing is None else missing.problem.hint,
    )
