"""``table``: any table of any view, filtered, sorted and cut; or what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.loading.queries.view_list import views_answer
from torch_tb_profiler.loading.queries.views import view_result, view_spec, with_rows
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.calls import call_text, page_address
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.findings import quality_lines
from torch_tb_profiler.mcp.rows import TablePage, add_table, fact_line, number_text
from torch_tb_profiler.mcp.tool import (
    COLUMNS,
    FILTER,
    MAX_CHARS,
    OFFSET,
    SORT,
    STEPS,
    TRACE,
    McpTool,
    limit_argument,
)
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import file_named, whole_name
from torch_tb_profiler.reports.brief.content import is_known
from torch_tb_profiler.reports.cells import facts_in_order
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, UnknownError, unknown
from torch_tb_profiler.requests.questions import TableQuery, ViewRequest
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.parameters import SELECTION
from torch_tb_profiler.views.registry import all_parameters
from torch_tb_profiler.views.schema import Column, Fact, Note, Table, TableSpec
from torch_tb_profiler.views.spec import ViewSpec

DEFAULT_LIMIT = 20
MAX_FACTS = 1_000
SINCE_START = "start of the recording"
"""What the help of a time says that does not count in trace time."""
MAX_LEADING = 12
"""Figures that stand above the rows of the first table of a view."""

FACTS = TableSpec(
    "facts",
    "Figures",
    "One row per single figure of the view.",
    (
        Column("key", "Key", "string", None, "Stable name, with the unit."),
        Column("scope", "Of", "string", None, "What it is about; null for the whole recording."),
        Column("value", "Value", "string", None, "The value; null where it is not known."),
        Column("unit", "Unit", "string", None, "Unit of the value."),
        Column("reason", "Reason", "string", None, "Why the value is null."),
        Column("meaning", "Meaning", "string", None, "How it is counted.", hidden=True),
    ),
    when_empty="The view has no single figures.",
)
NOTES = TableSpec(
    "notes",
    "Notes",
    "One row per finding or limit of the figures.",
    (
        Column("code", "Code", "string", None, "Stable name."),
        Column("kind", "Kind", "string", None, "advice: a finding; quality: a limit."),
        Column("severity", "Severity", "string", None, "warning or info."),
        Column("text", "Text", "string", None, "The sentence."),
    ),
    when_empty="The view has no notes.",
)


def table(context: ToolContext, arguments: dict[str, Any]) -> str:
    """The rows of a table; without a view the views, without a known table those of the view."""
    file = file_named(context, arguments["trace"])
    answer = AnswerText(arguments["max_chars"])
    if not arguments["view"]:
        return _views(context, file, answer)
    spec = view_spec(arguments["view"])
    if spec.scope == "pair":
        raise RequestError("bad_argument", f"{spec.name} is about two recordings.", "Call compare.")
    name = arguments["table"]
    known = [*(each.name for each in spec.tables), FACTS.name, NOTES.name]
    if name and name not in known:
        return _tables(spec, name, known, answer)
    requested = _request(spec, file, arguments)
    result = context.when_ready(
        lambda wait_s: view_result(context.catalog, requested, wait_s=wait_s)
    )
    is_whole = not any(arguments[key] for key in ("table", "columns", "filter", "sort", "offset"))
    _add_head(answer, result, file, is_whole=is_whole)
    _add_rows(answer, context, result, whole_name(file), arguments)
    if is_whole:
        _add_others(answer, result)
    return answer.text()


def _request(spec: ViewSpec, file: SpanFile, arguments: Mapping[str, Any]) -> ViewRequest:
    """The question, in the words of ``/view``.

    Raises:
        UnknownError: no view has such a parameter.
        RequestError: a parameter is malformed.
    """
    given = {**arguments["parameters"]}
    own = {each.key for each in SELECTION} | set(all_parameters())
    for key in given:
        if key not in own:
            raise unknown("parameter", key, sorted(own))
    given |= {"run": file.run, "worker": file.worker, "span": file.span}
    for key in ("steps", "group_by"):
        if arguments[key]:
            given[key] = arguments[key]
    return parameters.view_request(spec.name, given)


def _add_head(answer: AnswerText, result: ViewResult, file: SpanFile, *, is_whole: bool) -> None:
    """Where the rows are from; of the whole view also its sentence and leading figures."""
    view = result.view
    if view.answer and is_whole:
        answer.add(quoted(view.answer, 1_000))
    about = f"View {result.spec.name} of {whole_name(file)}"
    if result.subject.worker is None:
        about = f"View {result.spec.name} of all workers of {quoted(file.run or '.')}"
    selection = result.subject.selection
    about += f", steps {quoted(selection.steps)}" if selection.steps else ""
    about += f", by {quoted(selection.group_by)}" if selection.group_by else ""
    answer.add(f"{about}. Page: {page_address(result.subject, result.spec.name)}")
    if is_whole:
        leading, others = facts_in_order(result.spec, view.facts)
        known = [fact for fact in (*leading, *others) if is_known(fact)]
        shown = known[:MAX_LEADING]
        if shown:
            answer.add("\n".join(map(fact_line, shown)), "figures; ask for table=facts")
        if len(view.facts) > len(shown):
            answer.add(f"{len(view.facts) - len(shown)} more figures: table=facts.")


def _add_rows(
    answer: AnswerText,
    context: ToolContext,
    result: ViewResult,
    trace: str,
    arguments: Mapping[str, Any],
) -> None:
    name = arguments["table"]
    view = result.view
    chosen = name or next(iter(view.tables), FACTS.name)
    if chosen == FACTS.name and chosen not in view.tables:
        view = replace(view, tables={**view.tables, chosen: _facts_table(view.facts)})
    if chosen == NOTES.name and chosen not in view.tables:
        view = replace(view, tables={**view.tables, chosen: _notes_table(view.notes)})
    if chosen not in view.tables:
        raise unknown("table", chosen, view.tables)
    offset, limit = arguments["offset"], arguments["limit"]
    if chosen == FACTS.name and limit == DEFAULT_LIMIT:
        limit = MAX_FACTS
    rows = TableQuery(chosen, arguments["sort"] or None, arguments["filter"] or None, offset, limit)
    every = TableQuery(chosen, rows.sort, rows.filter, 0, 10**9)
    try:
        shown = with_rows(view, rows).tables[chosen]
    except ValueError as error:
        raise RequestError("bad_argument", str(error)) from error
    for line in _useless_sorts(shown, arguments["sort"], result.spec):
        answer.add(line)
    page = TablePage(
        f"{result.spec.name}.{chosen}",
        shown,
        offset,
        tuple(filter(None, (key.strip() for key in arguments["columns"].split(",")))),
        lambda: with_rows(view, every).tables[chosen],
    )
    add_table(answer, context, page)
    if arguments["filter"] and shown.why_empty is not None:
        query = (
            "select category, name, count(*) as calls, sum(dur_ns) as total_ns from raw.slices "
            "where name ilike '%…%' group by all order by 4 desc nulls last"
        )
        answer.add(f"Any name of the recording: {call_text('sql', trace=trace, query=query)}")
    start = next((each for each in shown.spec.columns if each.key == "start_us"), None)
    if start is not None and SINCE_START in start.help and shown.frame.height:
        first = shown.frame["start_us"][0]
        if first is not None:
            answer.add(
                f"start_us counts from the start of the recording: timeline_excerpt takes it as "
                f'start_us="+{number_text(first, "us")}".'
            )


def _useless_sorts(shown: Table, sort: str, spec: ViewSpec) -> Iterator[str]:
    """Sentences about columns that are sorted by and have no values."""
    for key in (each.strip().lstrip("-") for each in sort.split(",")):
        if key in shown.frame.columns and shown.frame[key].null_count() == shown.frame.height > 0:
            reason = shown.null_reasons.get(key, "it does not apply to these rows.")
            groups = f" group_by may help: {', '.join(spec.group_bys)}." if spec.group_bys else ""
            yield f"Not sorted by {key}, which is null in these rows: {quoted(reason, 300)}{groups}"


def _add_others(answer: AnswerText, result: ViewResult) -> None:
    """Warnings, and what else the view has."""
    for line in quality_lines(result.view.notes, "warning"):
        answer.add(line, "warnings; ask for table=notes")
    others = [
        f"{key} ({each.frame.height if each.row_count is None else each.row_count} rows)"
        for key, each in list(result.view.tables.items())[1:]
    ]
    group_bys = f" group_by: {', '.join(result.spec.group_bys)}." if result.spec.group_bys else ""
    notes = f"notes ({len(result.view.notes)} rows)"
    listed = ", ".join([*others, f"facts ({len(result.view.facts)} rows)", notes])
    answer.add(f"Further tables of this view: {listed}.{group_bys}", "names of further tables")


def _views(context: ToolContext, file: SpanFile, answer: AnswerText) -> str:
    """Which views the recording has, and why not the others."""
    subject = parameters.subject({"run": file.run, "worker": file.worker, "span": file.span})
    listed = context.when_ready(
        lambda wait_s: views_answer(context.catalog, subject, wait_s=wait_s)
    )
    views = [each for each in listed.views if each.scope != "pair"]
    has = [each for each in views if each.available]
    missing = [each for each in views if not each.available]
    answer.add(
        f"{whole_name(file)} has {len(has)} of {len(views)} views; start with {listed.first_view}."
    )
    answer.add_lines(["view\tanswers"], [f"{each.name}\t{each.help}" for each in has])
    lines = [f"{each.name}\t{quoted(each.reason or '', 400)}" for each in missing]
    if answer.add_lines(["missing view\treason"], lines) < len(lines):
        answer.note_cut("reasons of missing views")
    answer.add(f"Next: {call_text('table', trace=whole_name(file), view=listed.first_view)}.")
    return answer.text()


def _tables(spec: ViewSpec, name: str, known: list[str], answer: AnswerText) -> str:
    """What tables and columns a view has, where another one was named.

    Raises:
        UnknownError: always; its hint lists them.
    """
    error: UnknownError = unknown("table", name, known)
    answer.add(f"View {spec.name} has these tables and columns:")
    for each in spec.tables:
        keys = ", ".join(column.key for column in each.columns)
        answer.add(f"{each.name}: {keys}", f"columns of {each.name}")
    answer.add(f"{FACTS.name}, {NOTES.name}: single figures, notes.")
    hint = f"{error.problem.hint} {answer.text()}"
    raise UnknownError(error.problem.code, error.problem.message, hint)


def _facts_table(facts: tuple[Fact, ...]) -> Table:
    texts = [fact_line(each) for each in facts]
    rows = [
        {
            "key": each.key,
            "scope": each.scope,
            "value": None
            if each.value is None
            else text.split(" = ", 1)[-1].split(" ")[0]
            if not isinstance(each.value, str)
            else each.value,
            "unit": each.unit,
            "reason": each.reason,
            "meaning": each.help,
        }
        for each, text in zip(facts, texts, strict=True)
    ]
    return Table(FACTS, pl.DataFrame(rows, schema=FACTS.polars_schema()))


def _notes_table(notes: tuple[Note, ...]) -> Table:
    rows = [(note.code, note.kind, note.severity, note.text) for note in notes]
    return Table(NOTES, pl.DataFrame(rows, schema=NOTES.polars_schema(), orient="row"))


TOOL = McpTool(
    "table",
    "Read a table of a view",
    "Reads one table of one view of a recording: operators, kernels, idle gaps, memory, ranks, "
    'collectives, iterations and everything else the tool computes, with exact values. view="" '
    'lists the views with the question each answers, and why others are missing. table="" is the '
    "first table of the view, with its sentence, figures and the names of its other tables; "
    "table=facts are all single figures, table=notes all notes; an unknown table lists tables and "
    "columns. Says how many rows there are, sums over all of them, and why values are null.",
    (
        TRACE,
        ToolArgument("view", 'View, as overview, operators, kernels, idle; "" lists them.'),
        ToolArgument("table", 'Table of the view; "" is the first one, with the figures.'),
        COLUMNS,
        FILTER,
        SORT,
        limit_argument(DEFAULT_LIMIT),
        OFFSET,
        ToolArgument(
            "group_by",
            "How rows are grouped, where the view can: name+input_shape, modules …; the answer of "
            "the view lists what it can.",
        ),
        STEPS,
        ToolArgument(
            "parameters",
            "Further parameters as texts: start_us and end_us (trace time), phase, iterations_by, "
            "operator, at_us, domain, peak, parallel …; explain says what a parameter means.",
            "object",
        ),
        MAX_CHARS,
    ),
    table,
)
