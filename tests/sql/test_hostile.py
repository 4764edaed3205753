"""Queries that try to read, write, wait or take everything: each is refused, or ends in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from torch_tb_profiler.api import LoadingError, OpenedTrace, open_trace

SECRET = "hunter2"


@pytest.fixture(scope="module")
def trace(samples: Path) -> Iterator[OpenedTrace]:
    with open_trace(samples / "h100_bert_small", cache=False) as opened:
        yield opened


def refusal(trace: OpenedTrace, query: str, **limits: float) -> str:
    with pytest.raises(LoadingError) as caught:
        trace.sql(query, **limits)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value.problem)
    return caught.value.problem.code


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{file}')",
        "select * from read_csv_auto('{file}')",
        "select * from read_text('{file}')",
        "select * from read_blob('{file}')",
        "select * from read_parquet('{file}')",
        "select * from parquet_metadata('{file}')",
        "select * from read_json('{file}')",
        "select * from sniff_csv('{file}')",
        "select * from glob('{folder}/*')",
        "select * from '{file}'",
        "select * from '{folder}/*.csv'",
        "select * from 'https://example.com/x.csv'",
        "select * from read_csv('s3://bucket/x.csv')",
        "with t as (select * from read_csv('{file}')) select * from t",
        "select (select max(content) from read_text('{file}'))",
        "select 1 where exists (from read_text('{file}'))",
        "select * from query('select 1')",
        "select * from query_table('duckdb_settings')",
        "select * from duckdb_settings()",
        "select * from duckdb_secrets()",
        "select * from duckdb_tables()",
        "select * from pragma_database_size()",
        "select * from information_schema.tables",
        "select * from pg_catalog.pg_class",
        "select * from sqlite_master",
        "select * from temp.rows_0",
        "select getenv('HOME')",
        "select current_setting('memory_limit')",
        "select pg_sleep(60)",
        "select sleep_ms(60000)",
        "select nextval('x')",
        "attach '{folder}/x.db' as x",
        "copy (select 1) to '{folder}/x.csv'",
        "copy raw.slices to '{folder}/x.parquet'",
        "export database '{folder}'",
        "import database '{folder}'",
        "install httpfs",
        "load httpfs",
        "pragma version",
        "pragma database_list",
        "set memory_limit = '100GB'",
        "set enable_external_access = true",
        "reset all",
        "create table x as select 1",
        "create view x as select 1",
        "create macro m() as 1",
        "drop schema raw cascade",
        "delete from raw.slices",
        "update raw.slices set name = 'x'",
        "insert into raw.slices select * from raw.slices",
        "alter table raw.slices drop column name",
        "explain select 1",
        "explain analyze select 1",
        "call pragma_version()",
        "prepare q as select 1",
        "use temp",
        "begin",
        "checkpoint",
        "vacuum",
        "show tables",
        "show all tables",
        "select 1; select 2",
        "select 1; copy (select 1) to '{folder}/x.csv'",
        "select 1) t, (select * from read_csv('{file}')",
        "pivot raw.slices on name using count(*)",
        "select 'a\0b'",
        "select \ud800",
        "-- only a comment",
    ],
)
def test_nothing_outside_the_tables_is_reached(
    trace: OpenedTrace, tmp_path: Path, query: str
) -> None:
    file = tmp_path / "x.csv"
    file.write_text(f"password\n{SECRET}\n")
    code = refusal(trace, query.replace("{file}", str(file)).replace("{folder}", str(tmp_path)))
    assert code in ("sql_refused", "sql_syntax", "sql_text", "unknown_table"), query
    assert [each.name for each in tmp_path.iterdir()] == ["x.csv"]


def test_variables_of_python_are_no_tables(trace: OpenedTrace) -> None:
    secret = pl.DataFrame({"password": [SECRET]})
    assert refusal(trace, "select * from secret") == "unknown_table"
    assert secret.height == 1


@pytest.mark.parametrize(
    "query",
    [
        "select repeat('x', 1000000000)",
        "select max(length(repeat(range::varchar, 10000000))) from range(100000)",
        "select lpad('x', 2000000000, 'y')",
        "select format('{:>1000000000}', 'x')",
        "select array_to_string(range(30000000), repeat('x', 1000))",
        "select list(range) from range(1000000000)",
        "select len(range(1000000000))",
        "select string_agg(repeat('x', 1000), ',') from range(10000000)",
        "select count(*) from range(1000000000) a, range(1000000000) b",
        "select count(*) from raw.slices a, raw.slices b, raw.slices c, raw.slices d"
        " where a.id * b.id * c.id * d.id % 7 = 3",
        "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
        "with recursive r(n) as (select 1 union all select n from r) select max(n) from r",
        "select a.range from range(100000) a, range(100000) b order by a.range * b.range limit 3",
    ],
)
def test_time_and_memory_are_limited(trace: OpenedTrace, query: str) -> None:
    start_s = time.monotonic()
    code = refusal(trace, query, time_limit_s=3.0, memory_limit_gb=0.5)
    assert code in ("sql_time", "sql_memory")
    assert time.monotonic() - start_s < 20
    assert trace.sql("select count(*) from raw.steps").frame.item() == 1


def test_constants_are_limited_before_the_query_runs(trace: OpenedTrace) -> None:
    query = "select length(repeat('x', 3000000000))"
    assert refusal(trace, query, time_limit_s=3.0, memory_limit_gb=0.5) == "sql_memory"


@pytest.mark.parametrize(
    "query",
    [
        "select " + "x" * 1_000_000,
        "select " + "(" * 9_000 + "1" + ")" * 9_000,
        "select " + "not " * 4_000 + "true",
        "select " + "[" * 9_000 + "1" + "]" * 9_000,
        "select " + "+".join(["1"] * 9_000),
        "select " + "(select " * 2_000 + "1" + ")" * 2_000,
        "select * from " + "(select * from " * 1_200 + "raw.steps" + ")" * 1_200,
        "select " + ",".join(["1"] * 5_000),
        "select " + "case when true then " * 900 + "1" + " end" * 900,
    ],
    ids=["text", "parentheses", "not", "lists", "sum", "subqueries", "tables", "columns", "case"],
)
def test_large_queries_are_refused(trace: OpenedTrace, query: str) -> None:
    start_s = time.monotonic()
    code = refusal(trace, query, time_limit_s=15.0)
    assert code in ("sql_text", "sql_syntax", "sql_columns", "sql_failed", "sql_time", "sql_memory")
    assert time.monotonic() - start_s < 30


def test_an_answer_is_not_larger_than_its_limit(trace: OpenedTrace) -> None:
    query = "select repeat('x', 100000) from range(4000)"
    assert refusal(trace, query, memory_limit_gb=2.0) == "sql_answer"


def test_an_endless_answer_is_cut(trace: OpenedTrace) -> None:
    query = "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r"
    answer = trace.sql(query, max_rows=5)
    assert answer.frame["n"].to_list() == [1, 2, 3, 4, 5]
    assert [note.code for note in answer.notes] == ["rows_cut"]
