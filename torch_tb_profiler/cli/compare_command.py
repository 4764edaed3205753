"""``torch-tb-profiler compare``: what changed between two programs, and gates for CI."""

from __future__ import annotations

from argparse import Namespace

from msgspec.structs import replace

from torch_tb_profiler.cli.baseline_mark import mark_baseline
from torch_tb_profiler.cli.compared_sides import compared_sides
from torch_tb_profiler.cli.comparison_summary import append_summary
from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    DONE,
    print_error,
    print_message,
)
from torch_tb_profiler.cli.gate_checks import GateChecks
from torch_tb_profiler.cli.output import writing_errors
from torch_tb_profiler.cli.sinks import Sink, make_sink
from torch_tb_profiler.cli.tasks import (
    cache_of,
    perform,
    print_failure,
    request_parameters,
)
from torch_tb_profiler.knowledge.surroundings import kinds_of_times
from torch_tb_profiler.loading.queries.views import with_rows
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, RequestError, unknown
from torch_tb_profiler.views.compare.gate import GateError, check_gate
from torch_tb_profiler.views.compare.repeated_gate import Repeats
from torch_tb_profiler.views.compare.view import SPEC
from torch_tb_profiler.views.querying import QueryError
from torch_tb_profiler.views.schema import Table, View

ALL_TABLES = "all"
TIMED_TABLE = "throughput"
MAIN_TABLE = "average_step"
"""The table that --sort, --filter and --limit apply to, unless --table names another."""

GATE_HINT = (
    "A gate is table[filter].measure, one of > >= < <=, a number with its unit, and optionally "
    "@confidence: average_step.total_us>+5%@95, operators[name=aten::mm].calls>+0."
)


def run(arguments: Namespace) -> int:
    """Print the comparison and check the gates. Usage errors are reported before any trace is
    opened.

    Returns:
        1 if a gate failed, 2 for bad usage and for a gate that cannot be evaluated, 3 if one of the
        traces cannot be read.
    """
    try:
        _refuse_bad_gates(arguments)
        tables = _chosen_tables(arguments)
        typed = request_parameters(arguments, limit=arguments.format in ("json", "csv"))
        ordered = MAIN_TABLE if MAIN_TABLE in tables else tables[0]
        rows = parameters.view_request(SPEC.name, {"table": ordered, **typed}).rows
        sink = _sink(arguments, tables)
        if arguments.mark_baseline and arguments.candidate is None:
            return _mark_only(arguments)
        sides = compared_sides(arguments, cache_of(arguments))
        results = [perform(sides.task(*pair)) for pair in sides.pairs]
    except LoadingError as error:
        return print_failure(error)
    result = results[0]
    if result is None:
        return DONE
    gates = GateChecks(arguments.fail_on, arguments.allow_different)
    if arguments.repeats:
        views = [each.view for each in results if each is not None]
        gates.check_repeated(Repeats(views, len(sides.baselines), len(sides.candidates)))
    else:
        gates.check(result.view)
    try:
        shown = with_rows(result.view, rows)
    except (QueryError, LoadingError) as error:
        print_error(str(error))
        return BAD_USAGE
    chosen = {name: shown.tables[name] for name in tables if _is_shown(name, tables, shown)}
    if arguments.format == "table":
        chosen = {name: _times_first(table) for name, table in chosen.items()}
    shown = replace(shown, tables=chosen)
    with writing_errors(arguments.output) as written:
        sink.add(replace(result, view=shown), SPEC.name)
        sink.close()
        if arguments.summary is not None:
            append_summary(arguments.summary, result, gates)
    return max(gates.code, written.code)


def _sink(arguments: Namespace, tables: list[str]) -> Sink:
    if arguments.format == "html":
        from torch_tb_profiler.cli.html_sink import HtmlComparisonSink  # noqa: PLC0415 - start-up

        return HtmlComparisonSink(arguments)
    if arguments.format == "xlsx":
        from torch_tb_profiler.cli.xlsx_sink import XlsxSink  # noqa: PLC0415 - start-up

        return XlsxSink(arguments, [SPEC.name])
    return make_sink(arguments, [(SPEC.name, tables)])


def _mark_only(arguments: Namespace) -> int:
    folder = mark_baseline(cache_of(arguments), arguments.baseline)
    print_message(f"{arguments.baseline} is the baseline of {folder}.")
    return DONE


def _refuse_bad_gates(arguments: Namespace) -> None:
    """Check gates and kinds of differences.

    Raises:
        RequestError: one is invalid.
    """
    if arguments.repeats and arguments.third is not None:
        raise RequestError("bad_parameter", "--repeats compares two sides, not three.")
    known = kinds_of_times()
    for kind in arguments.allow_different:
        if kind not in known:
            raise unknown("kind of difference", kind, known)
    try:
        for expression in arguments.fail_on:
            check_gate(SPEC.tables, expression, of_steps=not arguments.repeats)
    except GateError as error:
        raise RequestError("bad_parameter", f"{error}.", GATE_HINT) from error


def _chosen_tables(arguments: Namespace) -> list[str]:
    known = [table.name for table in SPEC.tables]
    if arguments.view == ALL_TABLES:
        return known
    names = [name.strip() for name in arguments.view.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise unknown("table", name, known)
    if not names:
        raise RequestError("bad_parameter", "--view names no table.", f"Known: {', '.join(known)}.")
    if arguments.table is not None and arguments.table not in names:
        raise unknown("table", arguments.table, names)
    return names


def _is_shown(name: str, tables: list[str], view: View) -> bool:
    """Whether a table is printed: an empty table of timed steps is only printed if requested alone,
    because few recordings have them."""
    return name != TIMED_TABLE or len(tables) == 1 or view.tables[name].frame.height > 0


def _times_first(table: Table) -> Table:
    """``table`` with its counts last, so that times remain visible on a narrow terminal."""
    columns = tuple(sorted(table.spec.columns, key=lambda column: "calls" in column.key))
    frame = table.frame.select(column.key for column in columns)
    return replace(table, spec=replace(table.spec, columns=columns), frame=frame)
