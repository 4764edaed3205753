"""Names of tables: every one can be written, and a short one means what docs/sql.md says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import torch_tb_profiler
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.engine import check_statement, read_statement
from torch_tb_profiler.sql.engine_values import TableShape
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import Statement
from torch_tb_profiler.sql.tables import all_tables, resolve_table, short_name
from torch_tb_profiler.views.registry import all_views

PACKAGE = Path(torch_tb_profiler.__file__).parent


def test_every_table_of_every_view_is_there() -> None:
    tables = all_tables()
    for view in all_views().values():
        for table in view.tables:
            assert (f"{view.name}.{table.name}" in tables) == (view.scope != "pair")
    raw = {name for name in tables if name.startswith("raw.")}
    assert {
        "raw.slices", "raw.device_work", "raw.operators", "raw.flows", "raw.counters",
        "raw.samples", "raw.collectives", "raw.memory", "raw.steps",
    } <= raw  # fmt: skip


def test_every_name_is_written_without_quotes() -> None:
    names = list(all_tables())
    query = " union all ".join(f"select 1 from {name}" for name in names)
    statement = read_statement(query)
    assert isinstance(statement, Statement)
    assert {".".join(path) for path in statement.tables} == set(names)


def test_every_table_has_identity_and_help() -> None:
    for table in all_tables().values():
        keys = [column.key for column in table.spec.columns]
        assert {"run", "worker", "span"} <= set(keys), table.name
        assert len({key.lower() for key in keys}) == len(keys), table.name
        for column in table.spec.columns:
            assert column.help.endswith("."), (table.name, column.key)
            if column.key.endswith(("_ns", "_us", "_bytes", "_pct")):
                assert column.unit is not None, (table.name, column.key)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("operators", "operators.operators"),
        ("kernels", "kernels.kernels"),
        ("steps", "raw.steps"),
        ("collectives", "raw.collectives"),
        ("gpus", "overview.gpus"),
    ],
)
def test_short_names(name: str, expected: str) -> None:
    table = resolve_table((name,))
    assert table.name == expected
    assert short_name(table) == name


def test_every_declared_table_fits_the_engine() -> None:
    for table in all_tables().values():
        path = tuple(table.name.split("."))
        shape = TableShape(path, tuple((each.key, each.type) for each in table.spec.columns))
        answer = check_statement(f"select * from {table.name}", [shape], [], SqlLimits())
        assert not isinstance(answer, Problem)
        assert list(answer.names) == [column.key for column in table.spec.columns]
        assert list(answer.sources) == [(path, column.key) for column in table.spec.columns]


def test_only_the_process_of_a_query_imports_duckdb() -> None:
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(each.name == "duckdb" for each in node.names)
    }
    assert importing == {"sql/engine.py"}
