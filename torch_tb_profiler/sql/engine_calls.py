"""What the process of a query is asked to do. Nothing here imports DuckDB before it is called, so
that the process that asks never does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import cast

from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.engine_values import AnswerRows, AnswerShape, TableFiles, TableShape
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import Statement


def read_statement(text: str) -> Statement | Problem:
    """As :func:`torch_tb_profiler.sql.engine.read_statement`."""
    _hide_pyarrow()
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.read_statement(text)


def check_statement(
    text: str, shapes: Sequence[TableShape], hidden: Sequence[TableShape], limits: SqlLimits
) -> AnswerShape | Problem:
    """As :func:`torch_tb_profiler.sql.engine.check_statement`."""
    _hide_pyarrow()
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.check_statement(text, shapes, hidden, limits)


def compute_answer(
    text: str, tables: Sequence[TableFiles], limits: SqlLimits
) -> AnswerRows | Problem:
    """As :func:`torch_tb_profiler.sql.engine.compute_answer`."""
    _hide_pyarrow()
    from torch_tb_profiler.sql import engine  # noqa: PLC0415 - DuckDB

    return engine.compute_answer(text, tables, limits)


def _hide_pyarrow() -> None:
    """Where pyarrow is installed, DuckDB 1.5 has it filter the rows of tables, which it cannot do
    with texts as polars has them. Only in the process of a query."""
    sys.modules.setdefault("pyarrow", cast(ModuleType, None))
