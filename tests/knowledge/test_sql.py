"""What queries may call: DuckDB has the functions, and refuses nothing that a name here allows."""

from __future__ import annotations

import duckdb

from torch_tb_profiler.knowledge.sql import sql_rules


def test_lists_do_not_contradict_each_other() -> None:
    rules = sql_rules()
    lists = [rules.table_functions, rules.refused_functions, rules.unit_functions]
    assert all(name == name.lower() for names in lists for name in names)
    assert sum(map(len, lists)) == len(frozenset().union(*lists))
    titles = [example.title for example in rules.example]
    assert len(titles) == len(set(titles)) >= 10


def test_functions_with_a_unit_are_functions_of_the_engine() -> None:
    rows = duckdb.connect().execute("select distinct function_name from duckdb_functions()")
    known = {name for (name,) in rows.fetchall()}
    assert sql_rules().unit_functions <= known
    assert sql_rules().table_functions - {"unnest"} <= known


def test_a_function_with_a_unit_gives_one_of_its_values_or_between() -> None:
    one_value = "select {}(v) from (values (4.0), (8.0), (6.0)) t(v)"
    of_two = {"arg_max": "v, -v", "arg_min": "v, -v", "quantile_cont": "v, 0.5"}
    of_two["quantile_disc"] = "v, 0.5"
    for name in sql_rules().unit_functions - {"abs", "round", "sum"}:
        query = one_value.replace("(v) from", f"({of_two.get(name, 'v')}) from").format(name)
        (value,) = duckdb.connect().execute(query).fetchone() or (None,)
        assert 4 <= value <= 8, name
