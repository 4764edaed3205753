"""``torch-tb-profiler compare``: what changed between two traces, and gates for CI."""

from __future__ import annotations

from argparse import Namespace

from msgspec.structs import replace

from torch_tb_profiler.cli.baseline_mark import mark_baseline, marked_baseline
from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    DONE,
    GATE_FAILED,
    print_error,
    print_message,
    print_warning,
)
from torch_tb_profiler.cli.output import writing_errors
from torch_tb_profiler.cli.sinks import Sink, make_sink
from torch_tb_profiler.cli.tasks import (
    Task,
    cache_of,
    perform,
    print_failure,
    read_options,
    request_parameters,
)
from torch_tb_profiler.knowledge.surroundings import kinds_of_times
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.views import with_rows
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError, unknown
from torch_tb_profiler.requests.side_names import LABELS
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.views.compare.gate import GateError, check_gate, evaluate
from torch_tb_profiler.views.compare.view import SPEC
from torch_tb_profiler.views.parameters import SELECTION
from torch_tb_profiler.views.querying import QueryError
from torch_tb_profiler.views.schema import Table, View

ALL_TABLES = "all"
BASELINE, CANDIDATE, THIRD = LABELS
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
        result = perform(_task(arguments))
    except LoadingError as error:
        return print_failure(error)
    if result is None:
        return DONE
    code = _check_gates(result.view, arguments.fail_on, arguments.allow_different)
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
    return max(code, written.code)


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
    known = kinds_of_times()
    for kind in arguments.allow_different:
        if kind not in known:
            raise unknown("kind of difference", kind, known)
    try:
        for expression in arguments.fail_on:
            check_gate(SPEC.tables, expression)
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


def _task(arguments: Namespace) -> Task:
    """The request, with a catalog of both sides.

    Raises:
        LoadingError: a side has no trace, or none of the requested names.
    """
    options = read_options(arguments)
    cache, rules = cache_of(arguments), checked_rules(arguments.rules)
    roots = [
        TraceRoot(path, label, options, arguments.follow_links)
        for path, label in zip(_paths(arguments, cache), LABELS, strict=False)
    ]
    store = TraceStore(cache=cache, parser=Parser(arguments.workers), rules=rules)
    catalog = Catalog(roots, cache=cache, store=store)
    query: dict[str, str] = {}
    for root in roots:
        prefix = "" if root.label == CANDIDATE else f"{root.label}_"
        file = _file_of(catalog, root, arguments, prefix)
        names = {"run": file.run, "worker": file.worker, "span": file.span}
        selection = {
            each.key: getattr(arguments, f"{prefix}{each.key}", None)
            for each in SELECTION
            if each.has_baseline_option
        }
        given = {key: value for key, value in {**names, **selection}.items() if value is not None}
        query.update({f"{prefix}{key}": value for key, value in given.items()})
    if arguments.group_by is not None:
        query["group_by"] = arguments.group_by
    return Task(SPEC, parameters.view_request(SPEC.name, query), catalog)


def _paths(arguments: Namespace, cache: CacheFolder | None) -> list[str]:
    """The paths of the sides: with one alone, that of the marked baseline comes before it.

    Raises:
        RequestError: no baseline is marked, or it cannot be.
    """
    paths: list[str] = [arguments.baseline, *filter(None, (arguments.candidate, arguments.third))]
    if arguments.mark_baseline:
        folder = mark_baseline(cache, paths[0])
        print_message(f"{paths[0]} is the baseline of {folder}.")
    if len(paths) == 1:
        paths.insert(0, marked_baseline(cache, paths[0]))
        print_message(f"Baseline: {paths[0]}")
    return paths


def _file_of(catalog: Catalog, root: TraceRoot, arguments: Namespace, prefix: str) -> SpanFile:
    """The trace of one side: the named one, else the first, with a warning about the others."""
    run, worker, span = (
        getattr(arguments, prefix + key, None) for key in ("run", "worker", "span")
    )
    own = [file for file in catalog.contents().files() if file.run.startswith(f"{root.label}/")]
    if not own:
        problem = catalog.problem_of(root) or StorageError("no_traces", "There is no trace.")
        raise OpenError.of(problem)
    chosen = catalog.file(f"{root.label}/{run}" if run else own[0].run, worker, span)
    if len(own) > 1 and run is worker is span is None:
        option = prefix.replace("_", "-")
        how = f"Choose with --{option}run, --{option}worker, --{option}span."
        how = "Name its file to choose another." if root.label == THIRD else how
        print_warning(
            f"{root.shown_url} holds {len(own)} traces; using {chosen.location.name}. {how}"
        )
    return chosen


def _times_first(table: Table) -> Table:
    """``table`` with its counts last, so that times remain visible on a narrow terminal."""
    columns = tuple(sorted(table.spec.columns, key=lambda column: "calls" in column.key))
    frame = table.frame.select(column.key for column in columns)
    return replace(table, spec=replace(table.spec, columns=columns), frame=frame)


def _check_gates(view: View, expressions: list[str], allowed: list[str]) -> int:
    codes = [_check_gate(view, expression, allowed) for expression in expressions]
    return max(codes, default=DONE)


def _check_gate(view: View, expression: str, allowed: list[str]) -> int:
    try:
        result = evaluate(view, expression, allowed)
    except GateError as error:
        print_error(f"{error}.")
        return BAD_USAGE
    print_message(result.text)
    return GATE_FAILED if result.failed else DONE
