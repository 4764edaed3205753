"""``torch-tb-profiler sql``: a query over the tables of traces."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from msgspec.structs import replace

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, print_error
from torch_tb_profiler.cli.output import writing_errors
from torch_tb_profiler.cli.sinks import Sink, make_sink
from torch_tb_profiler.cli.sql_listing import print_listing
from torch_tb_profiler.cli.tasks import cache_of, chosen_files, print_failure, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.sql.limits import MAX_TEXT, SqlLimits
from torch_tb_profiler.sql.query import PreparedQuery, prepare_query
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.parameters import SELECTION

STDIN = "-"
STEM = "sql"


def run(arguments: Namespace) -> int:
    """Print the answer.

    Returns:
        0 if it is printed, 2 for a query that is refused, fails or reaches a limit, 3 if no trace
        can be read or none has data for a table.
    """
    try:
        _check_one(arguments)
        if arguments.tables or arguments.examples or arguments.columns_of is not None:
            print_listing(arguments)
            return DONE
        sink = _sink(arguments)
        result = _answer(arguments, prepare_query(_query(arguments), _limits(arguments)))
    except LoadingError as error:
        return print_failure(error)
    except UnicodeDecodeError:
        print_error("The query is no text in UTF-8.", "Save its file as UTF-8.")
        return BAD_USAGE
    except OSError as error:
        if arguments.file is None:
            raise
        print_error(f"{arguments.file} cannot be read: {error.strerror}.")
        return BAD_USAGE
    with writing_errors(arguments.output) as written:
        sink.add(result, STEM)
        sink.close()
    return max(DONE, written.code)


def _sink(arguments: Namespace) -> Sink:
    if arguments.format == "xlsx":
        from torch_tb_profiler.cli.xlsx_sink import XlsxSink  # noqa: PLC0415 - start-up

        return XlsxSink(arguments, [STEM])
    return make_sink(arguments, [(STEM, ["answer"])])


def _check_one(arguments: Namespace) -> None:
    wanted = [
        arguments.tables,
        arguments.examples,
        arguments.columns_of is not None,
        arguments.query is not None,
        arguments.file is not None,
    ]
    if sum(wanted) != 1:
        raise RequestError(
            "bad_parameter",
            "Give one query, or one of --file, --tables, --columns and --examples.",
            "For example: torch-tb-profiler sql logs 'select * from kernels limit 5'",
        )


def _query(arguments: Namespace) -> str:
    if arguments.file is not None:
        with Path(arguments.file).open("rb") as file:
            return file.read(4 * MAX_TEXT + 4).decode("utf-8-sig")
    if arguments.query == STDIN:
        return sys.stdin.buffer.read(4 * MAX_TEXT + 4).decode("utf-8-sig")
    return str(arguments.query)


def _limits(arguments: Namespace) -> SqlLimits:
    memory_bytes = int(arguments.memory_limit * 1e9)
    return SqlLimits(arguments.time_limit, memory_bytes, arguments.max_rows)


def _answer(arguments: Namespace, query: PreparedQuery) -> ViewResult:
    cache, rules = cache_of(arguments), checked_rules(arguments.rules)
    store = TraceStore(cache=cache, parser=Parser(arguments.workers), rules=rules)
    root = TraceRoot(
        arguments.path, options=read_options(arguments), follows_links=arguments.follow_links
    )
    catalog = Catalog([root], cache=cache, store=store)
    progress = Progress()
    try:
        files = chosen_files(catalog, arguments)
        subject = _subject(files, arguments)
        return when_ready(
            lambda wait_s: query.result(catalog, files, subject, wait_s=wait_s), progress.show
        )
    finally:
        progress.wipe()
        store.close()


def _subject(files: list[SpanFile], arguments: Namespace) -> Subject:
    """What the recordings are called together, and what of them views are about."""
    names = (*(each.key for each in SELECTION), "group_by")
    given = {name: getattr(arguments, name) for name in names}
    part = parameters.subject({name: text for name, text in given.items() if text})
    runs, workers, spans = (
        sorted({getattr(file, name) for file in files}) for name in ("run", "worker", "span")
    )
    return replace(
        part,
        run=runs[0] if len(runs) == 1 else f"{len(runs)} runs",
        worker=workers[0] if len(workers) == 1 else None,
        span=spans[0] if len(spans) == 1 else "all",
    )
