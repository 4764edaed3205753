"""The arguments of the command ``sql``."""

from __future__ import annotations

import argparse

from torch_tb_profiler.cli.argument_types import bounded_number, row_count
from torch_tb_profiler.cli.reading_arguments import (
    add_cache,
    add_links,
    add_reading,
    add_workers,
)
from torch_tb_profiler.sql.limits import MAX_MEMORY_GB, MAX_TIME_S, SqlLimits
from torch_tb_profiler.views.parameters import SELECTION

SQL_FORMATS = ("table", "json", "csv", "md", "xlsx")


def add_sql(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``sql``."""
    sql = commands.add_parser(
        "sql",
        help="query the tables of all views and the raw tables",
        description="Query the tables of all views and the raw tables of traces (slices, device "
        "work, …) in SQL. Traces are only read. Several traces are one table, with the columns "
        "run, worker and span.",
    )
    sql.add_argument("path", metavar="PATH", help="a trace, a folder or a URL")
    sql.add_argument(
        "query", metavar="QUERY", nargs="?", help="a SELECT in DuckDB's dialect; - for stdin"
    )
    sql.add_argument("--file", metavar="FILE", help="read the query from FILE")
    sql.add_argument("--tables", action="store_true", help="list the tables")
    sql.add_argument(
        "--columns",
        dest="columns_of",
        metavar="TABLE",
        help="list the columns of TABLE with unit and meaning",
    )
    sql.add_argument("--examples", action="store_true", help="list queries to start from")
    _add_output(sql)
    _add_limits(sql)
    group = sql.add_argument_group("selection")
    group.add_argument("--run", metavar="NAME", help="run (default: all)")
    group.add_argument("--worker", metavar="NAME", help="worker (default: all)")
    group.add_argument("--span", metavar="NAME", help="span (default: all)")
    for each in SELECTION:
        text = each.help.replace("%", "%%")
        group.add_argument(f"--{each.option}", metavar=each.metavar, help=f"of views: {text}")
    group.add_argument(
        "--group-by", metavar="HOW", help="of views: grouping of rows: name+input_shape"
    )
    sql.set_defaults(table=None, columns=None, sort=None, names="recorded")
    add_cache(sql)
    add_reading(sql)
    add_links(sql)
    add_workers(sql)


def _add_output(sql: argparse.ArgumentParser) -> None:
    sql.add_argument(
        "--format", choices=SQL_FORMATS, default="table", help="output format (default: table)"
    )
    sql.add_argument(
        "--output",
        metavar="PATH",
        help="write one file, if PATH ends as files of the format do (.csv, .md, ...), else a file "
        "into the folder PATH",
    )
    sql.add_argument("--force", action="store_true", help="overwrite the file (default: refuse)")
    sql.add_argument(
        "--limit",
        metavar="N",
        help="rows printed by table and md, or 'all' (default: 20; json and csv have all)",
    )
    sql.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colors of table on stdout (default: auto: on a terminal, unless NO_COLOR is set)",
    )


def _add_limits(sql: argparse.ArgumentParser) -> None:
    default = SqlLimits()
    group = sql.add_argument_group("limits")
    group.add_argument(
        "--max-rows",
        type=row_count,
        default=default.rows,
        metavar="N",
        help=f"rows of the answer (default: {default.rows})",
    )
    group.add_argument(
        "--time-limit",
        type=bounded_number(MAX_TIME_S),
        default=default.time_s,
        metavar="S",
        help=f"seconds that the query may take (default: {default.time_s:g})",
    )
    group.add_argument(
        "--memory-limit",
        type=bounded_number(MAX_MEMORY_GB),
        default=default.memory_bytes / 1e9,
        metavar="GB",
        help=f"memory that the query may use (default: {default.memory_bytes / 1e9:g})",
    )
