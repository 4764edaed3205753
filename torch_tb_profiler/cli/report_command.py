"""``torch-tb-profiler report``: prints views of traces."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from msgspec.structs import astuple, replace

from torch_tb_profiler.cli.brief_sink import BriefSink, wants_brief
from torch_tb_profiler.cli.exits import (
    DONE,
    print_warning,
)
from torch_tb_profiler.cli.file_names import AnswerName, file_stems
from torch_tb_profiler.cli.output import output_for, writing_errors
from torch_tb_profiler.cli.prefetching import Prefetcher
from torch_tb_profiler.cli.sinks import Sink, make_sink, split_names
from torch_tb_profiler.cli.summary_options import refuse_without_effect
from torch_tb_profiler.cli.tasks import (
    Task,
    chosen_views,
    perform,
    print_failure,
    report_tasks,
    tables_of,
)
from torch_tb_profiler.requests.errors import LoadingError, OpenError, unknown
from torch_tb_profiler.views.registry import DEFAULT_VIEW, view_named
from torch_tb_profiler.views.spec import ViewSpec


def run(arguments: Namespace) -> int:
    """Print all requested views; one that fails does not affect the others.

    Returns:
        The largest exit code of all answers.
    """
    if arguments.reports is not None or arguments.dump_model_data:
        from torch_tb_profiler.cli import dlprof_reports  # noqa: PLC0415 - start-up

        return dlprof_reports.run(arguments)
    for_people = arguments.format in ("table", "md")
    try:
        requested = chosen_views(arguments.view or DEFAULT_VIEW)
        _check_names(arguments, requested)
        is_overview = arguments.format == "html"
        specs = [view_named(DEFAULT_VIEW)] if is_overview else requested
        tasks = report_tasks(arguments, specs, limit=not for_people)
        stems = _file_stems(tasks)
        sink = _sink(arguments, tasks, stems)
    except LoadingError as error:
        return print_failure(error)
    code = DONE
    with writing_errors(arguments.output) as written:
        code = answer_tasks(tasks, stems, sink)
    return max(code, written.code)


def _sink(arguments: Namespace, tasks: Sequence[Task], stems: Sequence[str]) -> Sink:
    if arguments.format == "html":
        from torch_tb_profiler.cli.html_sink import HtmlSink  # noqa: PLC0415 - start-up

        return HtmlSink(arguments, dict(zip(stems, tasks, strict=True)))
    if arguments.format == "xlsx":
        from torch_tb_profiler.cli.xlsx_sink import XlsxSink  # noqa: PLC0415 - start-up

        return XlsxSink(arguments, stems)
    if wants_brief(arguments):
        return BriefSink(arguments, stems)
    is_joined = output_for(arguments.output, arguments.format, arguments.force).is_joined
    return make_sink(
        arguments,
        [
            (stem, _table_names(task, arguments, is_joined=is_joined))
            for task, stem in zip(tasks, stems, strict=True)
        ],
    )


def _table_names(task: Task, arguments: Namespace, *, is_joined: bool) -> list[str]:
    """The tables of an answer; on stdout and in one file without summary tables."""
    if task.spec is None:
        return []
    shown = set(tables_of(task.spec, arguments))
    return [
        table.name
        for table in task.spec.tables
        if table.name in shown and not (is_joined and table.is_summary)
    ]


def _file_stems(tasks: Sequence[Task]) -> list[str]:
    """File name without suffix for the answer of each task."""
    names = [_answer_name(task) for task in tasks]
    traces = {
        (id(task.catalog), *astuple(task.request.subject)[:3]) for task in tasks if task.request
    }
    return file_stems(names, several_traces=len(traces) > 1)


def _answer_name(task: Task) -> AnswerName:
    if task.spec is None or task.request is None or task.catalog is None:
        return AnswerName("", "", "", "", "")
    about = task.request.subject
    worker = "all" if task.spec.scope == "run" else about.worker or ""
    location = task.catalog.roots[0].shown_url
    return AnswerName(location, about.run or "", worker, about.span or "", task.spec.name)


def answer_tasks(tasks: Sequence[Task], stems: Sequence[str], sink: Sink) -> int:
    """Perform ``tasks`` in order; errors go to stderr and to the sink.

    Args:
        tasks: The tasks.
        stems: File name without suffix of each task.
        sink: Receives the answers.

    Returns:
        The largest exit code.
    """
    code, answered = DONE, 0
    shown_notes: set[str] = set()
    shown_failures: dict[str, int] = {}
    prefetcher = Prefetcher(tasks)
    for number, task in enumerate(tasks):
        prefetcher.advance(number)
        for note in task.catalog.contents().notes if task.catalog else ():
            if note not in shown_notes:
                shown_notes.add(note)
                print_warning(note)
        try:
            result = perform(task)
        except LoadingError as error:
            # What is wrong with a file is wrong for each of its views.
            if error.problem.message not in shown_failures:
                shown_failures[error.problem.message] = print_failure(error)
            code = max(code, shown_failures[error.problem.message])
            sink.add_error(error)
        else:
            if result is not None:
                sink.add(result, stems[number])
                answered += 1
    if code == DONE and not answered:
        nothing = _nothing_to_show(tasks[:1])
        code = print_failure(nothing)
        sink.add_error(nothing)
    try:
        sink.close()
    except LoadingError as error:
        code = max(code, print_failure(error))
    return code


def _nothing_to_show(first: Sequence[Task]) -> OpenError:
    """The error where no view has data, with the reason of the first one: what was read."""
    try:
        for task in first:
            perform(replace(task, skips_missing=False))
    except LoadingError as error:
        reason = f" {error.problem.message}"
    else:
        reason = ""
    return OpenError("view_unavailable", f"No view has data for what was read.{reason}")


def _check_names(arguments: Namespace, specs: Sequence[ViewSpec]) -> None:
    """Reject options and names of tables and columns that no requested view has, before anything is
    parsed."""
    refuse_without_effect(specs, arguments)
    tables = {table.name for spec in specs for table in spec.tables}
    for name in filter(None, [arguments.table, *(split_names(arguments.tables) or [])]):
        if name not in tables:
            raise unknown("table", name, sorted(tables))
    keys = {column.key for spec in specs for table in spec.tables for column in table.columns}
    for key in split_names(arguments.columns) or ():
        if key not in keys:
            raise unknown("column", key, sorted(keys))
