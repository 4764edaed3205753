"""What the process of a query is asked to do. Nothing here imports DuckDB before it is called, so
that the process that asks never does."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.engine_values import AnswerRows, AnswerShape, TableFiles, TableShape
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import Statement


def read_statement(text: str) -> Statement | Problem:
    """As :func:`torch_tb_profiler.sql.engine.read_statement`."""
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.read_statement(text)


def check_statement(
    text: str, shapes: Sequence[TableShape], hidden: Sequence[TableShape]
) -> AnswerShape | Problem:
    """As :func:`torch_tb_profiler.sql.engine.check_statement`."""
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.check_statement(text, shapes, hidden)


def compute_answer(
    text: str, tables: Sequence[TableFiles], limits: SqlLimits
) -> AnswerRows | Problem:
    """As :func:`torch_tb_profiler.sql.engine.compute_answer`."""
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.compute_answer(text, tables, limits)
