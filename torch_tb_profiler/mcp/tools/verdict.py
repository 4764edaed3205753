"""``verdict``: what is slow in a recording, why, what it costs, and what to look at next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.loading.queries.traces import subject_trace
from torch_tb_profiler.loading.queries.view_list import views_answer
from torch_tb_profiler.loading.queries.views import view_result, view_spec
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.calls import call_text, page_address
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.findings import add_findings, findings_of, quality_lines
from torch_tb_profiler.mcp.rows import fact_line
from torch_tb_profiler.mcp.tool import MAX_CHARS, STEPS, TRACE, McpTool
from torch_tb_profiler.mcp.trace_names import files_named, whole_name
from torch_tb_profiler.reports.cells import facts_in_order
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.answering import counted
from torch_tb_profiler.views.checks import CHECKED, INCONCLUSIVE, ISSUE, PASSED
from torch_tb_profiler.views.efficiency.view import SPEC as EFFICIENCY
from torch_tb_profiler.views.registry import DEFAULT_VIEW
from torch_tb_profiler.views.schema import Note, View

RUN_VIEWS = ("ranks", "distributed", "hang")
"""Views of a whole run whose sentences belong to its verdict."""
MAX_ANSWER = 1_000
AVERAGE_STEP = "average_step"
MAX_FACTS = 8


def verdict(context: ToolContext, arguments: dict[str, Any]) -> str:
    """The sentence, where the step goes, the findings, what limits the figures, next calls."""
    files = files_named(context, arguments["trace"])
    file = files[0]
    trace_name = whole_name(file)
    steps = arguments["steps"]
    subject = parameters.subject(_texts(file, steps))
    trace = context.when_ready(lambda wait_s: subject_trace(context.catalog, subject, wait_s))[1]
    result = _first_view(context, subject)
    view = result.view
    answer = AnswerText(arguments["max_chars"])
    answer.add(quoted(view.answer or "The recording has no figure to judge by.", MAX_ANSWER))
    answer.add("\n".join(_about(file, trace, result, steps, len(files))))
    answer.add("\n".join(_parts(result)), "where the average step goes; ask for view overview")
    runs = _of_run(context, subject) if _workers(context, file) > 1 else []
    of_run = [note for _, other in runs for note in other.notes]
    notes = _distinct([*view.notes, *of_run])
    for title, other in runs:
        answer.add(f"All workers, {title}: {quoted(other.answer or '', MAX_ANSWER)}")
    advice = findings_of(view.notes)
    of_workers = findings_of(_distinct(of_run))
    for label, shown in (
        ("Findings, the most valuable first:", advice),
        ("Findings over all workers:", of_workers),
    ):
        if shown:
            answer.add(label)
            add_findings(answer, shown, result.subject, trace_name, trace.meta.start_ns)
    for line in _limits(view, notes, trace_name):
        answer.add(line, "what limits the figures; ask for table=notes of view overview")
    answer.add("\n".join(_next(context, result, trace_name, [*advice, *of_workers])), "next calls")
    return answer.text()


def _texts(file: SpanFile, steps: str) -> dict[str, str]:
    names = {"run": file.run, "worker": file.worker, "span": file.span}
    return names | ({"steps": steps} if steps else {})


def _first_view(context: ToolContext, subject: Subject) -> ViewResult:
    """The overview, or the view that the recording is about (a snapshot, a hang).

    Raises:
        RequestError: the recording has nothing for it; the hint names the calls that say what it
            has.
    """
    names = context.when_ready(lambda wait_s: views_answer(context.catalog, subject, wait_s=wait_s))
    request = ViewRequest(names.first_view, subject)
    try:
        return context.when_ready(
            lambda wait_s: view_result(context.catalog, request, wait_s=wait_s)
        )
    except RequestError as error:
        problem = error.problem
        if view_spec(names.first_view).scope == "pair":
            text = "This is a saved report, which has no findings."
            hint = "Name it as baseline or trace of compare."
            raise RequestError("view_unavailable", text, hint) from error
        if problem.code != "view_unavailable":
            raise
        trace = quoted("/".join(filter(None, (subject.run, subject.worker, subject.span))))
        calls = [call_text(tool, trace=trace) for tool in ("table", "how_to_record")]
        has, record = calls
        hint = f"{problem.hint or ''} What it has: {has}; how to record: {record}."
        raise RequestError(problem.code, problem.message, hint.strip()) from error


def _of_run(context: ToolContext, subject: Subject) -> list[tuple[str, View]]:
    """Name and view of each view of the whole run that has data."""
    results = []
    for name in RUN_VIEWS:
        view = _view_of_run(context, ViewRequest(name, replace(subject, worker=None)))
        if view is not None:
            results.append((f"view {name}", view))
    return results


def _view_of_run(context: ToolContext, request: ViewRequest) -> View | None:
    try:
        return context.when_ready(
            lambda wait_s: view_result(context.catalog, request, wait_s=wait_s)
        ).view
    except RequestError as error:
        if error.problem.code != "view_unavailable":
            raise
        return None


def _workers(context: ToolContext, file: SpanFile) -> int:
    return len(context.catalog.workers(file.run, file.span))


def _distinct(notes: list[Note]) -> list[Note]:
    return list({(note.code, note.text): note for note in notes}.values())


def _about(
    file: SpanFile, trace: Trace, result: ViewResult, steps: str, count: int
) -> Iterator[str]:
    kind = label_of(trace.meta.format)
    job = trace.meta.info.job
    ranks = f", rank {job.rank} of a job of {job.world_size}" if job and job.world_size else ""
    steps_text = counted(trace.steps.height, "step")
    text = f"Recording: {whole_name(file)} ({kind}, {steps_text}{ranks}"
    yield f"{text}, selected: {quoted(steps)})." if steps else f"{text})."
    if count > 1:
        yield f"The name has {count} recordings; this is the first (list_traces names them)."
    view = result.spec.name
    yield f"Source: view {view}; page {page_address(result.subject, view)} of a server " \
        "(torch-tb-profiler serve)."  # fmt: skip


def _parts(result: ViewResult) -> Iterator[str]:
    """Where the average step goes, and the leading figures of the view."""
    table = result.view.tables.get(AVERAGE_STEP)
    if table is not None and table.frame.height:
        rows = table.frame.filter(pl.col("duration_us") > 0)
        parts = [
            f"{name} {duration_us:.3f} µs ({pct:.1f} %)"
            for name, duration_us, pct in rows.select("category", "duration_us", "pct").iter_rows()
        ]
        yield f"Average step (overview.average_step): {', '.join(parts)}."
    leading = facts_in_order(result.spec, result.view.facts)[0]
    known = [fact for fact in leading if fact.value is not None]
    yield from map(fact_line, known[:MAX_FACTS])


def _limits(view: View, notes: list[Note], trace_name: str) -> Iterator[str]:
    lines = quality_lines(notes, "warning")
    if lines:
        yield "What the figures do not cover:"
        yield from lines
    checked = view.tables.get(CHECKED.name)
    if checked is not None:
        counts = dict(checked.frame["outcome"].value_counts().iter_rows())
        numbers = [counts.get(outcome, 0) for outcome in (ISSUE, PASSED, INCONCLUSIVE)]
        yield (
            f"Checks: {numbers[0]} issues, {numbers[1]} passed, {numbers[2]} need data this "
            f"recording lacks: {call_text('how_to_record', trace=trace_name)}"
        )


def _next(
    context: ToolContext, result: ViewResult, trace_name: str, notes: list[Note]
) -> Iterator[str]:
    subject = result.subject
    calls = ["the calls of the first finding"] if notes else []
    explained = next((note.code for note in notes if note.code in entries()), None)
    if explained is not None:
        calls.append(call_text("explain", name=explained))
    else:
        listed = context.when_ready(
            lambda wait_s: views_answer(context.catalog, subject, wait_s=wait_s)
        )
        if any(each.name == EFFICIENCY.name and each.available for each in listed.views):
            steps = subject.selection.steps
            call = call_text("table", trace=trace_name, view=EFFICIENCY.name, steps=steps)
            calls.append(f"{call} says how far operators are from the peak of the device")
    calls.append(f"{call_text('table', trace=trace_name)} lists the views")
    if result.spec.name == DEFAULT_VIEW:
        calls.append(f"{call_text('timeline_excerpt', trace=trace_name)} shows a typical step")
    yield f"Next: {'; '.join(calls)}."


TOOL = McpTool(
    "verdict",
    "What is slow, and why",
    "Says in a sentence where the time of a recording goes, then lists the findings (idle GPU, "
    "launch-bound, slow data loading, waiting collectives, slow ranks, memory …) by estimated gain "
    "with measured value, threshold, first rows of evidence, what to change, the exact call that "
    "shows the rows, and its page. Of a run with several workers also what compares them. Call it "
    "before table or sql. Figures are means per step unless they say otherwise.",
    (TRACE, STEPS, MAX_CHARS),
    verdict,
)
