"""Answers of queries against sqlite3, and sums of samples by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.knowledge.sql import sql_rules
from torch_tb_profiler.requests.errors import RequestError, UnknownError


@pytest.fixture(scope="module")
def bert(samples: Path) -> Iterator[OpenedTrace]:
    with open_trace(samples / "h100_bert_small", cache=False) as trace:
        yield trace


@pytest.fixture(scope="module")
def sqlite(bert: OpenedTrace) -> sqlite3.Connection:
    """The slices of the sample in SQLite, from the tables of the trace and not through SQL."""
    trace = bert.trace
    connection = sqlite3.connect(":memory:")
    connection.execute("create table slices (id, name, track, start_ns, dur_ns, parent)")
    rows = trace.slices.select("id", "name_code", "track", "start_ns", "dur_ns", "parent").rows()
    texts = [(row[0], trace.text(row[1]), *row[2:]) for row in rows]
    connection.executemany("insert into slices values (?, ?, ?, ?, ?, ?)", texts)
    return connection


@pytest.mark.parametrize(
    "query",
    [
        "select count(*), sum(dur_ns), min(start_ns), max(dur_ns) from {}slices",
        "select name, count(*) as n, sum(dur_ns) from {}slices group by name order by n desc, name",
        "select id, name from {}slices where name like '%gemm%' order by id",
        "select p.name, count(*), sum(c.dur_ns) from {0}slices c join {0}slices p"
        " on c.parent = p.id group by p.name order by 2 desc, 1 limit 20",
        "select name, dur_ns, row_number() over (partition by track order by dur_ns desc, id) as r"
        " from {}slices order by r, dur_ns desc, id limit 30",
        "with recursive up(id, parent, depth) as ("
        " select id, parent, 0 from {0}slices where parent is null"
        " union all select s.id, s.parent, u.depth + 1 from {0}slices s"
        " join up u on s.parent = u.id)"
        " select depth, count(*) from up group by depth order by depth",
        "select count(*) from {}slices where parent is null",
        "select id from {0}slices a where exists"
        " (select 1 from {0}slices b where b.parent = a.id and b.dur_ns * 2 > a.dur_ns)"
        " order by id",
        "select name from {}slices where dur_ns > 1000000 union select 'x' order by 1",
    ],
)
def test_answers_are_those_of_sqlite(
    bert: OpenedTrace, sqlite: sqlite3.Connection, query: str
) -> None:
    expected = sqlite.execute(query.format("")).fetchall()
    assert expected
    assert bert.sql(query.format("raw.")).frame.rows() == expected


def test_a_table_of_a_view_is_that_of_the_view(bert: OpenedTrace) -> None:
    kernels = bert.kernels().frame
    answer = bert.sql("select * exclude (run, worker, span) from kernels.kernels").frame
    assert answer.columns == kernels.columns
    assert answer.rows() == kernels.rows()
    short = bert.sql("select run, worker, span, sum(calls) from kernels group by all").frame
    assert short.rows() == [("h100_bert_small", "rank0", "default", kernels["calls"].sum())]


def test_a_raw_table_and_that_of_a_view_are_both_there(bert: OpenedTrace) -> None:
    raw = bert.sql("select count(*) from raw.operators").frame.item()
    view = bert.sql("select count(*) from operators").frame.item()
    assert raw == bert.trace.operators.height
    assert view == bert.operators().frame.height
    joined = bert.sql(
        "select count(*) from raw.operators o join raw.slices s on s.id = o.slice"
        " where s.name <> o.name or s.start_ns <> o.start_ns"
    )
    assert joined.frame.item() == 0


def test_workers_are_one_table(samples: Path) -> None:
    with open_trace(samples / "dlrm_8_ranks", cache=False) as trace:
        query = (
            "select worker, count(*), sum(dur_ns) from raw.slices group by worker order by worker"
        )
        answer = trace.sql(query, all_workers=True).frame
        expected = []
        for worker in sorted(trace.workers):
            with open_trace(samples / "dlrm_8_ranks", worker=worker, cache=False) as other:
                slices = other.trace.slices
                expected.append((worker, slices.height, slices["dur_ns"].sum()))
        assert answer.rows() == expected
        (alone,) = trace.sql(query).frame.rows()
        assert alone == expected[0]
        of_run = trace.sql("select distinct worker from distributed.overlap", all_workers=True)
        assert set(of_run.frame["worker"]) - {"all"} <= set(trace.workers)


@pytest.mark.parametrize("table", ["raw.steps", "raw.slices", "kernels.kernels"])
def test_rows_are_counted_also_where_only_names_are_used(bert: OpenedTrace, table: str) -> None:
    expected = bert.sql(f"select count(*) from (select * from {table})").frame.item()
    counted = bert.sql(f"select run, worker, span, count(*) from {table} group by all").frame
    assert counted.rows() == [("h100_bert_small", "rank0", "default", expected)]
    assert expected > 0


def test_units_follow_columns(bert: OpenedTrace) -> None:
    query = (
        "with t as (select name as kernel, total_us, calls from kernels)"
        " select kernel, total_us, max(total_us) as longest, sum(calls) as calls,"
        " total_us / calls as quotient from t group by all"
    )
    columns = bert.sql(query).to_dict()["tables"]["answer"]["columns"]
    assert [(each["key"], each["unit"]) for each in columns] == [
        ("kernel", None), ("total_us", "us"), ("longest", "us"), ("calls", "count"),
        ("quotient", None),
    ]  # fmt: skip
    assert columns[1]["title"] == "Total"
    joined = bert.sql(
        "select * from raw.steps join (select step, count(*) as n, sum(dur_ns) as busy_ns"
        " from raw.device_work group by step) w on w.step = raw.steps.id"
    )
    units = {each["key"]: each["unit"] for each in joined.to_dict()["tables"]["answer"]["columns"]}
    assert (units["host_start_ns"], units["busy_ns"], units["n"]) == ("ns", "ns", None)


def test_types_and_nulls(bert: OpenedTrace) -> None:
    answer = bert.sql(
        "select 1 as a, null as b, 1.5::decimal(9, 2) as c, 18446744073709551615::ubigint as d,"
        " date '2024-01-02' as e, [1, 2] as f, true as g, 'x' as h, 9223372036854775807 as i,"
        " sum(9223372036854775807) as j, 'nan'::double as k, 1 as a"
    )
    (row,) = answer.frame.rows()
    assert row[:5] == (1, None, 1.5, float(2**64 - 1), "2024-01-02")
    assert row[5:10] == ("[1, 2]", True, "x", 2**63 - 1, 2**63 - 1)
    assert answer.frame.columns[-1] == "a_2"
    assert answer.to_dict()["tables"]["answer"]["rows"][0][10] is None
    largest = (2**127 - 1, 1 - 2**127)
    numbers = ", ".join(f"({number})::hugeint" for number in largest)
    assert bert.sql(f"select {numbers}").frame.rows() == [tuple(map(float, largest))]
    empty = bert.sql("select avg(parent), count(parent) from raw.slices where id < 0")
    assert empty.frame.rows() == [(None, 0)]


def test_rows_beyond_the_limit_are_counted_as_missing(bert: OpenedTrace) -> None:
    answer = bert.sql("select id from raw.slices order by id desc", max_rows=3)
    most = bert.trace.slices.height - 1
    assert answer.frame["id"].to_list() == [most, most - 1, most - 2]
    assert [note.code for note in answer.notes] == ["rows_cut"]
    assert "more than 3 rows" in answer.notes[0].text
    assert bert.sql("select id from raw.slices limit 3", max_rows=3).notes == ()


def test_a_query_may_define_a_name_that_a_table_has(bert: OpenedTrace) -> None:
    own = bert.sql("with kernels as (select 7 as x) select x from kernels")
    assert own.frame.rows() == [(7,)]
    of_both = bert.sql("with kernels as (select calls from kernels) select sum(calls) from kernels")
    assert of_both.frame.item() == bert.kernels().frame["calls"].sum()


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ("select nam from raw.slices", "sql_column", ("nam", "column 8", "name")),
        ("select\n  sum(durns)\nfrom raw.slices", "sql_column", ("line 2, column 7", "dur_ns")),
        ("select 1 frm x y z", "sql_syntax", ("column", "docs/sql.md")),
        ("select sum(name) from raw.slices", "sql_failed", ("sum(VARCHAR)", "column 8")),
        ("select name::int from raw.slices", "sql_failed", ("TRY_CAST",)),
        ("", "sql_text", ("empty",)),
        (
            "select computation_us from distributed.overlap",
            "view_unavailable",
            ("overlap", "holds no"),
        ),
    ],
)
def test_errors_say_what_is_wrong_and_where(
    bert: OpenedTrace, query: str, code: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(RequestError) as caught:
        bert.sql(query)
    problem = caught.value.problem
    assert problem.code == code
    for word in words:
        assert word in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("query", "hint"),
    [("select * from slics", "slices"), ("select * from raw.slics", "raw.slices"),
     ("select * from kernel.kernels", "kernels.kernels")],
)  # fmt: skip
def test_unknown_tables_name_the_nearest(bert: OpenedTrace, query: str, hint: str) -> None:
    with pytest.raises(UnknownError) as caught:
        bert.sql(query)
    assert hint in (caught.value.problem.hint or "")


def test_a_name_of_several_views_is_ambiguous(bert: OpenedTrace) -> None:
    with pytest.raises(RequestError) as caught:
        bert.sql("select * from memory_peaks")
    assert caught.value.problem.code == "sql_ambiguous"
    assert "memory.memory_peaks or summary.memory_peaks" in (caught.value.problem.hint or "")


@pytest.mark.parametrize("example", sql_rules().example, ids=lambda each: each.title)
def test_the_examples_run(bert: OpenedTrace, example: object) -> None:
    query = getattr(example, "query")  # noqa: B009
    answer = bert.sql(query).frame
    has_rows = {"raw.collectives", "raw.samples", "raw.memory"}
    assert answer.height > 0 or any(name in query for name in has_rows)


def test_a_closed_trace_answers_nothing(samples: Path) -> None:
    trace = open_trace(samples / "h100_bert_small", cache=False)
    trace.close()
    with pytest.raises(RequestError, match="closed"):
        trace.sql("select 1")
