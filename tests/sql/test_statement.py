"""References of queries, and the columns that their answers come from."""

from __future__ import annotations

import pytest

from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.engine import check_statement, read_statement
from torch_tb_profiler.sql.engine_values import TableShape
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import Statement

A = TableShape(("raw", "a"), (("id", "integer"), ("name", "string"), ("dur_ns", "integer")))
B = TableShape(("b",), (("id", "integer"), ("size_bytes", "integer")))


@pytest.mark.parametrize(
    ("query", "used", "unused"),
    [
        ("select name from raw.a", {"name"}, {"id", "dur_ns"}),
        ("select x.NAME, sum(x.dur_ns) from raw.a x where x.id > 1 group by 1",
         {"name", "dur_ns", "id"}, {"other"}),
        ("select count(*) from raw.a", set(), {"id", "name"}),
        ("select * from raw.a", {"id", "name", "other"}, set()),
        ("select x from raw.a x", {"id", "name", "dur_ns"}, set()),
        ("select a from raw.a", {"id", "name", "dur_ns"}, set()),
        ("select columns('d.*') from raw.a", {"dur_ns"}, set()),
        ("select 1 from raw.a natural join b", {"id"}, set()),
        ("select 1 from raw.a join b using (id)", {"id"}, {"name"}),
        ("select max(name) filter (where dur_ns > 1) over (order by id) from raw.a",
         {"name", "dur_ns", "id"}, {"other"}),
        ("select #2 from raw.a", {"id", "name"}, set()),
        ("summarize raw.a", {"id", "name", "dur_ns"}, set()),
    ],
)  # fmt: skip
def test_no_column_that_is_used_is_left_out(query: str, used: set[str], unused: set[str]) -> None:
    statement = read_statement(query)
    assert isinstance(statement, Statement)
    assert {key for key in used if statement.uses(key)} == used
    assert not {key for key in unused if statement.uses(key)}


@pytest.mark.parametrize("text", ["", " \n", "-- nothing", "/* nothing */ ;"])
def test_a_text_without_a_statement_is_empty(text: str) -> None:
    problem = read_statement(text)
    assert isinstance(problem, Problem)
    assert problem.message == "The query is empty."


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ("select id, x.dur_ns d, id + 1 from raw.a x", ["a.id", "a.dur_ns", None]),
        ("select * from raw.a join b using (id)", ["a.id", "a.name", "a.dur_ns", "b.size_bytes"]),
        ("select * from raw.a natural join b", ["a.id", "a.name", "a.dur_ns", "b.size_bytes"]),
        ("select b.*, a.name from raw.a join b on a.id = b.id",
         ["b.id", "b.size_bytes", "a.name"]),
        ("with t(x, y) as (select dur_ns, count(*) from raw.a group by 1) select x, y from t",
         ["a.dur_ns", None]),
        ("select z.m from (select max(dur_ns) m from raw.a) z", ["a.dur_ns"]),
        ("select sum(dur_ns), stddev(dur_ns), count(dur_ns) from raw.a", ["a.dur_ns", None, None]),
        ("select * from raw.a semi join b using (id)", ["a.id", "a.name", "a.dur_ns"]),
        ("select * exclude (name) from raw.a", [None, None]),
        ("select id from raw.a union all select size_bytes from b", [None]),
        ("select range from range(3)", [None]),
        ("with recursive r as (select id from raw.a union select id + 1 from r where id < 3)"
         " select id from r", [None]),
    ],
)  # fmt: skip
def test_sources_of_answers(query: str, sources: list[str | None]) -> None:
    answer = check_statement(query, [A, B], [], SqlLimits())
    assert not isinstance(answer, Problem), answer
    shown = [None if each is None else f"{each[0][-1]}.{each[1]}" for each in answer.sources]
    assert shown == sources


def test_positions_count_characters_and_lines() -> None:
    answer = check_statement("select 'üü' as u,\n  nothing\nfrom raw.a", [A], [], SqlLimits())
    assert isinstance(answer, Problem)
    assert "(line 2, column 3, at 'nothing')" in answer.message
