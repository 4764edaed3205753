"""``compare``: what differs between two recordings, by how much, and how sure that is."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.loading.queries.views import view_result, view_spec, with_rows
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.findings import quality_lines
from torch_tb_profiler.mcp.rows import TablePage, add_table, fact_line, number_text
from torch_tb_profiler.mcp.tool import (
    COLUMNS,
    FILTER,
    MAX_CHARS,
    OFFSET,
    SORT,
    McpTool,
    limit_argument,
)
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import file_named, whole_name
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.requests.questions import TableQuery, ViewRequest
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.answering import value_of
from torch_tb_profiler.views.registry import COMPARISON_VIEW

SHOWN = {
    "average_step": (
        "category,baseline_duration_us,candidate_duration_us,delta_duration_us,"
        "delta_duration_pct,confidence_duration_pct"
    ),
    "explained": (
        "name,phase,kind,baseline_time_us,candidate_time_us,delta_time_us,share_of_delta_pct,"
        "delta_of_calls_us,delta_of_time_per_call_us"
    ),
    "surroundings": "what,baseline,candidate,kind,severity",
}
"""Tables that are shown without a choice → their columns."""
DIFFERENCES = "same=no"
"""Rows of the environment that are shown without a choice."""
EXPLAINED_FACTS = ("delta_explained_us", "explained_by")
MAX_FACTS = 20


def compare(context: ToolContext, arguments: dict[str, Any]) -> str:
    """The sentence, the average step, what explains the difference; or a page of one table."""
    baseline = file_named(context, arguments["baseline"])
    candidate = file_named(context, arguments["trace"])
    name = arguments["table"]
    spec = view_spec(COMPARISON_VIEW)
    known = [each.name for each in spec.tables]
    if name and name not in known:
        raise unknown("table", name, known)
    requested = _request(baseline, candidate, arguments)
    result = context.when_ready(
        lambda wait_s: view_result(context.catalog, requested, wait_s=wait_s)
    )
    answer = AnswerText(arguments["max_chars"])
    answer.add(quoted(result.view.answer or "The recordings have nothing to compare.", 1_500))
    answer.add(
        f"Baseline: {whole_name(baseline)}. Candidate: {whole_name(candidate)}. Differences are "
        "candidate minus baseline; confidence_*_pct says how sure a difference is (95 and more is "
        "significant)."
    )
    if name:
        _add(answer, context, result, name, arguments)
        return answer.text()
    for line in quality_lines(result.view.notes):
        answer.add(line, "notes")
    facts = [fact for fact in result.view.facts if fact.value is not None]
    answer.add("\n".join(map(fact_line, facts[:MAX_FACTS])), "figures")
    for key, columns in SHOWN.items():
        if key == "explained":
            explained_us, whose = (value_of(result.view, fact) for fact in EXPLAINED_FACTS)
            if explained_us is not None:
                answer.add(
                    f"share_of_delta_pct below is of {number_text(explained_us, 'us')} µs of "
                    f"{whose} (delta_explained_us), not of the step."
                )
        _add(answer, context, result, key, {**arguments, "columns": columns})
    others = [
        f"{key} ({table.frame.height} rows)"
        for key, table in result.view.tables.items()
        if key not in SHOWN and table.frame.height
    ]
    answer.add(f"Further tables (table=…): {', '.join(others)}.", "names of further tables")
    return answer.text()


def _request(baseline: SpanFile, candidate: SpanFile, arguments: dict[str, Any]) -> ViewRequest:
    given = {
        "run": candidate.run,
        "worker": candidate.worker,
        "span": candidate.span,
        "baseline_run": baseline.run,
        "baseline_worker": baseline.worker,
        "baseline_span": baseline.span,
    }
    given |= {
        key: arguments[key] for key in ("steps", "baseline_steps", "group_by") if arguments[key]
    }
    return parameters.view_request(COMPARISON_VIEW, given)


def _add(
    answer: AnswerText,
    context: ToolContext,
    result: ViewResult,
    name: str,
    arguments: dict[str, Any],
) -> None:
    if name not in result.view.tables:
        return
    is_chosen = arguments["table"] == name
    sort, filter_text = (
        arguments[key] or None if is_chosen else None for key in ("sort", "filter")
    )
    if name == "surroundings" and not is_chosen:
        filter_text = DIFFERENCES
    offset = arguments["offset"] if is_chosen else 0
    limit = arguments["limit"]
    every = TableQuery(name, sort, filter_text, 0, 10**9)
    try:
        shown = with_rows(result.view, TableQuery(name, sort, filter_text, offset, limit))
    except ValueError as error:
        raise RequestError("bad_argument", str(error)) from error
    page = TablePage(
        f"{COMPARISON_VIEW}.{name}",
        shown.tables[name],
        offset,
        tuple(filter(None, (key.strip() for key in arguments["columns"].split(",")))),
        lambda: with_rows(result.view, every).tables[name],
    )
    add_table(answer, context, page)


TOOL = McpTool(
    "compare",
    "Compare two recordings",
    "Says what changed from a baseline to another recording in these log directories: a sentence "
    "with the change of the step and how sure it is (Welch's t-test over steps), what differs in "
    "the environment, the parts of the average step, and which operators or kernels explain the "
    "difference (more calls or longer ones). table= reads one of its tables in full: explained, "
    "operators, kernels, modules, phases, steps, surroundings, memory.",
    (
        ToolArgument(
            "baseline", "Recording before the change, named as in list_traces.", is_required=True
        ),
        ToolArgument(
            "trace", "Recording after the change, named as in list_traces.", is_required=True
        ),
        ToolArgument("table", 'Table to read in full; "" shows the most important rows of three.'),
        COLUMNS,
        FILTER,
        SORT,
        limit_argument(10),
        OFFSET,
        ToolArgument("steps", 'Steps of trace: 5:8, last 3; "" is all.'),
        ToolArgument("baseline_steps", 'Steps of the baseline, likewise; "" is all.'),
        ToolArgument("group_by", 'Values as total or per_step; "" chooses.'),
        MAX_CHARS,
    ),
    compare,
)
