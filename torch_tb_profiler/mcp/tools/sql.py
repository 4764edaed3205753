"""``sql``: a query over the tables of all views and the raw ones, or what one can be made of."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.findings import quality_lines
from torch_tb_profiler.mcp.rows import TablePage, add_table
from torch_tb_profiler.mcp.tool import MAX_CHARS, McpTool
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import files_named
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.sql import SqlTablePayload
from torch_tb_profiler.sql.answer import ANSWER
from torch_tb_profiler.sql.limits import MAX_TEXT, SqlLimits
from torch_tb_profiler.sql.listing import tables_answer
from torch_tb_profiler.sql.query import prepare_query
from torch_tb_profiler.sql.statement import OTHER_TABLES
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.answering import counted

MAX_ROWS = 10_000
_HINTS = {
    OTHER_TABLES: "sql without query lists the tables there are.",
    ", or raise --memory-limit": "",
    ", or raise --time-limit": ", or give trace",
}
"""Options of the command line in hints → what to do here."""
MAX_NOTES = 2
EXAMPLES = "examples"
TABLES = "tables"


def sql(context: ToolContext, arguments: dict[str, Any]) -> str:
    """The answer of the query; without one, tables, columns or examples."""
    answer = AnswerText(arguments["max_chars"])
    describe = arguments["describe"].strip()
    if describe or not arguments["query"].strip():
        return _described(answer, describe or TABLES)
    try:
        return _answered(context, arguments, answer)
    except LoadingError as error:
        raise _without_options(error) from error


def _answered(context: ToolContext, arguments: dict[str, Any], answer: AnswerText) -> str:
    limits = SqlLimits(rows=arguments["max_rows"])
    query = prepare_query(arguments["query"], limits, context.is_cancelled)
    files = files_named(context, arguments["trace"])
    subject = _subject(files)
    result = context.when_ready(
        lambda wait_s: query.result(context.catalog, files, subject, wait_s=wait_s)
    )
    table = result.view.tables[ANSWER]
    answer.add(f"{counted(table.frame.height, 'row')} from {_source(files)}.")
    lines = quality_lines(result.view.notes)
    for line in lines[:MAX_NOTES]:
        answer.add(line, "notes about recordings without data")
    if len(lines) > MAX_NOTES:
        answer.add(f"- and {len(lines) - MAX_NOTES} more notes like these; give trace.")
    add_table(answer, context, TablePage("answer", table))
    return answer.text()


def _without_options(error: LoadingError) -> LoadingError:
    """The error with hints about arguments in place of options of the command line."""
    problem = error.problem
    hint = problem.hint
    for option, argument in _HINTS.items():
        hint = None if hint is None else hint.replace(option, argument)
    return type(error)(problem.code, problem.message, hint)


def _source(files: list[SpanFile]) -> str:
    if len(files) == 1:
        return f"1 recording ({quoted(files[0].run or '.')})"
    runs = len({file.run for file in files})
    return f"{len(files)} recordings of {counted(runs, 'run')} (columns run, worker, span)"


def _subject(files: list[SpanFile]) -> Subject:
    """What the recordings are called together."""
    first = files[0]
    workers = {file.worker for file in files}
    return Subject(first.run, first.worker if len(workers) == 1 else None, first.span)


def _described(answer: AnswerText, name: str) -> str:
    listed = tables_answer(None if name in (TABLES, EXAMPLES) else name)
    if listed.missing_reason is not None:
        raise RequestError("missing_package", listed.missing_reason, listed.missing_hint)
    if name == EXAMPLES:
        for example in listed.examples:
            text = f"-- {example.title}: {example.help}\n{example.query.strip()}"
            answer.add(text, "further examples")
        return answer.text()
    if name != TABLES:
        _add_columns(answer, listed.tables[0])
        return answer.text()
    answer.add(
        f'{len(listed.tables)} tables; describe="TABLE" lists the columns of one, '
        'describe="examples" queries to start from. Every table has run, worker and span.'
    )
    raw = [each for each in listed.tables if each.name.startswith("raw.")]
    answer.add_lines(["raw table\tone row is"], [f"{t.name}\t{_first(t.help)}" for t in raw])
    by_view: dict[str, list[str]] = {}
    for each in listed.tables:
        if each not in raw:
            view, _, short = each.name.partition(".")
            by_view.setdefault(view, []).append(short)
    lines = [f"{view}\t{', '.join(names)}" for view, names in by_view.items()]
    answer.add_lines(["view\ttables (write view.table)"], lines)
    return answer.text()


def _add_columns(answer: AnswerText, table: SqlTablePayload) -> None:
    short = f" (or {table.short_name})" if table.short_name else ""
    answer.add(f"{table.name}{short}: {table.help}")
    lines = [f"{each.key}\t{each.type}\t{each.unit or ''}\t{each.help}" for each in table.columns]
    if answer.add_lines(["column\ttype\tunit\tmeaning"], lines) < len(lines):
        names = ", ".join(each.key for each in table.columns)
        answer.note_cut(f"meanings of columns (all: {names})")


def _first(text: str) -> str:
    first, stop, _ = text.partition(". ")
    return first + stop.rstrip()


TOOL = McpTool(
    "sql",
    "Query the tables in SQL",
    "Answers one SELECT in DuckDB's dialect over the tables of all views (operators, kernels, "
    "idle.gaps …) and the raw ones (raw.slices, raw.device_work, raw.operators, raw.collectives, "
    'raw.memory, raw.steps …). Read-only, no files, 30 s and 1 GB. trace="" queries all '
    "recordings of all runs at once, as the command line does: give trace, or filter by run and "
    'worker. Without query it lists the tables; describe="raw.slices" lists the columns of a '
    'table with unit and meaning, describe="examples" queries to start from. Prefer table for '
    "plain reading.",
    (
        ToolArgument(
            "query",
            "select name, calls, total_us from kernels order by total_us desc limit 5",
            max_length=MAX_TEXT,
        ),
        ToolArgument(
            "trace", 'Which recordings: RUN, RUN/WORKER or RUN/WORKER/SPAN; "" is all of them.'
        ),
        ToolArgument("max_rows", "Rows at most.", "integer", 50, minimum=1, maximum=MAX_ROWS),
        ToolArgument("describe", 'A table whose columns are wanted, "tables" or "examples".'),
        MAX_CHARS,
    ),
    sql,
)
