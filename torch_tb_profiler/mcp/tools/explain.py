"""``explain``: what a column, view, finding, parameter, reason or term means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.knowledge.advice import AdviceEntry, entries
from torch_tb_profiler.knowledge.documentation import column_address, finding_address, finding_pages
from torch_tb_profiler.knowledge.glossary import GlossaryTerm, glossary
from torch_tb_profiler.knowledge.idle import IdleCauseText, idle_file
from torch_tb_profiler.knowledge.recorders import recorders
from torch_tb_profiler.loading.queries.traces import subject_trace
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.tool import MAX_CHARS, McpTool
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import file_named
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.requests.questions import ViewRequest
from torch_tb_profiler.sql.tables import RAW, RAW_TABLES
from torch_tb_profiler.views.device_words import missing_reason_of
from torch_tb_profiler.views.parameters import SELECTION, Parameter
from torch_tb_profiler.views.registry import all_parameters, all_views
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.spec import ViewSpec

MAX_COLUMNS = 8
"""Columns of one key that are explained; more tables may have it."""
MAX_MATCHES = 10
LEAST_SEARCH = 3
"""Characters of a text that is searched for in meanings."""

_PLACEHOLDER = re.compile(r"\{[^}]*\}")

_ColumnOf = tuple[str, TableSpec, Column]
"""Name of the view (or ``raw``), the table and the column."""


def explain(context: ToolContext, arguments: dict[str, Any]) -> str:
    """Everything of that name: column, table, view, finding, parameter, term; else texts with it.

    Raises:
        UnknownError: nothing has that name or mentions it.
    """
    name = arguments["name"].strip()
    answer = AnswerText(arguments["max_chars"])
    blocks = list(_exact(name))
    columns = _columns_named(name)
    blocks += [_column_text(*each) for each in columns[:MAX_COLUMNS]]
    if len(columns) > MAX_COLUMNS:
        others = ", ".join(f"{view}.{table.name}" for view, table, _ in columns[MAX_COLUMNS:])
        blocks.append(f"{len(columns) - MAX_COLUMNS} more tables have the column: {others}.")
    if arguments["trace"]:
        columns = columns or _columns_titled(name)[:MAX_COLUMNS]
        blocks += _in_trace(context, arguments["trace"], name, columns)
    blocks = blocks or list(_mentioning(name))
    if not blocks:
        raise unknown("name", name, _names())
    for block in blocks:
        answer.add(block, f"further meanings of {quoted(name)!r}")
    return answer.text()


def _exact(name: str) -> Iterator[str]:
    low = name.lower()
    for view in all_views().values():
        if low in (view.name, view.title.lower()):
            yield _view_text(view)
    for view_name, table in _tables():
        is_view_table = low == table.name and view_name != RAW
        if is_view_table or low == f"{view_name}.{table.name}":
            yield _table_text(view_name, table)
    yield from _of_knowledge(low)


def _of_knowledge(low: str) -> Iterator[str]:
    """Findings, parameters, causes and terms of a name in lower case."""
    for entry in entries().values():
        if low in (entry.code, entry.title.lower()):
            yield _finding_text(entry)
    if low not in entries() and low in finding_pages():
        yield f"Note {low}: {finding_address(low)} describes it; its text says what it is about."
    for parameter in _parameters():
        if low == parameter.key:
            yield f"Parameter {parameter.key} ({parameter.type}): {parameter.help}."
    for cause in idle_file().causes:
        if low in (cause.key, cause.title.lower()):
            yield _cause_text(cause)
    for term in glossary():
        if low in (term.term.lower(), *(other.lower() for other in term.other_names)):
            yield _term_text(term)


def _view_text(view: ViewSpec) -> str:
    tables = "\n".join(f"  {table.name}: {_first(table.help)}" for table in view.tables)
    groups = f"\n  group_by: {', '.join(view.group_bys)}" if view.group_bys else ""
    return f"View {view.name} ({view.title}): {view.help} Tables:\n{tables}{groups}"


def _table_text(view: str, table: TableSpec) -> str:
    keys = ", ".join(column.key for column in table.columns)
    return f"Table {view}.{table.name} ({table.title}): {table.help} Columns: {keys}."


def _column_text(view: str, table: TableSpec, column: Column) -> str:
    unit = f", {column.unit}" if column.unit else ""
    estimate = " An estimate." if column.estimated else ""
    address = "" if view == RAW else f" ({column_address(view, table.name, column.key)})"
    reason = ""
    if isinstance(column.null_reason, str):
        reason = f" Null: {column.null_reason}"
    return (
        f"Column {view}.{table.name}.{column.key} ({column.title}; {column.type}{unit}): "
        f"{column.help}{estimate}{reason}{address}"
    )


def _finding_text(entry: AdviceEntry) -> str:
    kind = "published" if entry.published else "a rule of thumb"
    needs = f" Needs: {', '.join(entry.needs)}." if entry.needs else ""
    links = [*entry.links, *entry.recording_links]
    described = finding_address(entry.code)
    links += [described] if described is not None else []
    see = f" See {', '.join(links)}." if links else ""
    return (
        f"Finding {entry.code} ({entry.title}): threshold {entry.threshold:g} {entry.unit}, "
        f"{kind}.{needs} It says: {_PLACEHOLDER.sub('…', entry.texts['default'])}{see}"
    )


def _cause_text(cause: IdleCauseText) -> str:
    return f"Idle cause {cause.key} ({cause.title}): {cause.meaning} {cause.remedy}"


def _term_text(term: GlossaryTerm) -> str:
    return f"{term.term}: {term.meaning} (docs/{term.docs})"


def _columns_named(name: str) -> list[_ColumnOf]:
    """Columns of a key, or of ``view.column``, ``table.column`` or ``view.table.column``."""
    *before, key = name.lower().split(".")
    matches = []
    for view, table in _tables():
        wanted = not before or before in ([view], [table.name], [view, table.name])
        if wanted:
            matches += [(view, table, column) for column in table.columns if column.key == key]
    return matches


def _columns_titled(name: str) -> list[_ColumnOf]:
    """Columns of views whose titles contain a term."""
    low = name.lower()
    return [
        (view, table, column)
        for view, table in _tables()
        for column in table.columns
        if view != RAW and low in column.title.lower()
    ]


def _tables() -> Iterator[tuple[str, TableSpec]]:
    for view in all_views().values():
        for table in view.tables:
            yield view.name, table
    for raw in RAW_TABLES:
        yield RAW, raw.spec


def _parameters() -> list[Parameter]:
    return [*SELECTION, *all_parameters().values()]


def _in_trace(
    context: ToolContext, trace_name: str, name: str, columns: list[_ColumnOf]
) -> Iterator[str]:
    """What a recording has of it: why the view is missing, why values of the column are null, the
    figure of that key."""
    file = file_named(context, trace_name)
    subject = parameters.subject({"run": file.run, "worker": file.worker, "span": file.span})
    trace = context.when_ready(lambda wait_s: subject_trace(context.catalog, subject, wait_s))[1]
    views = all_views()
    named = {view for view, _, _ in columns} | {name.lower().partition(".")[0]}
    for view in sorted(named & views.keys()):
        spec = views[view]
        if spec.scope == "pair":
            continue
        reason = missing_reason_of(spec, trace)
        if reason is not None and spec.scope == "trace":
            yield f"This recording has no view {view}: {reason}"
            continue
        if len(named) > MAX_COLUMNS:
            continue
        yield from _nulls(context, spec, ViewRequest(view, subject), columns)


def _nulls(
    context: ToolContext, spec: ViewSpec, request: ViewRequest, columns: list[_ColumnOf]
) -> Iterator[str]:
    try:
        result = context.when_ready(
            lambda wait_s: view_result(context.catalog, request, wait_s=wait_s)
        )
    except RequestError as error:
        if error.problem.code != "view_unavailable":
            raise
        yield f"This recording has no view {spec.name}: {error.problem.message}"
        return
    for view, table, column in columns:
        filled = result.view.tables.get(table.name)
        if view != spec.name or filled is None:
            continue
        nulls, rows = filled.frame[column.key].null_count(), filled.frame.height
        label = f"In this recording {view}.{table.name}.{column.key}"
        if not rows:
            yield f"{label} has no rows: {filled.why_empty}"
        elif nulls:
            reason = filled.null_reasons.get(column.key, "it does not apply to these rows.")
            yield f"{label} is null in {nulls} of {rows} rows: {reason}"
        else:
            yield f"{label} has a value in all {rows} rows."


def _mentioning(name: str) -> Iterator[str]:
    """Terms, findings, views and columns whose texts contain the name."""
    low = name.lower()
    if len(low) < LEAST_SEARCH:
        return
    matches = [_term_text(term) for term in glossary() if low in _term_text(term).lower()]
    matches += [
        _finding_text(entry)
        for entry in entries().values()
        if low in f"{entry.code} {entry.title} {entry.texts['default']}".lower()
    ]
    for recorder in recorders().values():
        for capability, phrase in recorder.records.items():
            if low in f"{capability} {phrase}".lower() or phrase.lower() in low:
                matches.append(f"Of {recorder.name}: {capability}: {phrase}.")
    matches += [_view_text(view) for view in all_views().values() if low in view.help.lower()]
    matches += [
        _column_text(view, table, column)
        for view, table in _tables()
        for column in table.columns
        if low in f"{column.title} {column.help}".lower()
    ]
    if matches:
        count = len(matches)
        yield f"Nothing is called {quoted(name)!r}; {count} texts mention it:"
        yield from matches[:MAX_MATCHES]
        if count > MAX_MATCHES:
            yield f"{count - MAX_MATCHES} more."


def _names() -> list[str]:
    names = [term.term for term in glossary()] + list(entries()) + list(all_views())
    names += [parameter.key for parameter in _parameters()]
    for view, table in _tables():
        names += [f"{view}.{table.name}", *(f"{view}.{each.key}" for each in table.columns)]
    return list(dict.fromkeys(names))


def _first(text: str) -> str:
    first, stop, _ = text.partition(". ")
    return first + stop.rstrip()


TOOL = McpTool(
    "explain",
    "Say what a name means",
    "Explains a column (kernels.total_us, or its key alone), a table, a view, a finding (its code, "
    "as launch_bound), a parameter, an idle cause, a term (exposed communication, MFU, self time) "
    "or the text of a reason. With trace it also says why a column is null, or a view missing, in "
    "that recording.",
    (
        ToolArgument(
            "name", "What is to be explained: operators.device_self_us.", is_required=True
        ),
        ToolArgument("trace", 'Recording whose nulls are to be explained; "" for none.'),
        MAX_CHARS,
    ),
    explain,
)
