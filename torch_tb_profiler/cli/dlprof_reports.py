"""``report --reports``: the reports of DLProf as files (``docs/dlprof.md``)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.cli.dlprof_options import (
    ReportFile,
    file_names,
    files_of,
    options_of,
    take_iterations,
)
from torch_tb_profiler.cli.exits import DONE, INPUT_UNREADABLE, print_message, print_warning
from torch_tb_profiler.cli.file_names import AnswerName, file_stems
from torch_tb_profiler.cli.output import Output, writing_errors
from torch_tb_profiler.cli.report_arguments import DEFAULT_BASE_NAME
from torch_tb_profiler.cli.tasks import (
    Task,
    perform,
    print_failure,
    report_tasks,
)
from torch_tb_profiler.importers.recorder import WHOLE_RUN
from torch_tb_profiler.loading.queries.views import view_spec
from torch_tb_profiler.reports.dlprof.registry import (
    GROUPS,
    KINDS,
    NEEDS,
    OVERVIEW,
)
from torch_tb_profiler.reports.dlprof.summary import PROFILE_NAME
from torch_tb_profiler.reports.dlprof.table import NoTableError, Report
from torch_tb_profiler.reports.dlprof.writing import WRITERS
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.views.parameters import SELECTION_TEXTS
from torch_tb_profiler.views.schema import View

UNKNOWN_KEY_NODE = "unknown_key_node"
"""Code of the error for a key node that a recording does not have."""
_ITERATIONS = ("iterations_first", "iterations_last", "iterations_selected")
_COMPANIONS = (
    f"Span {WHOLE_RUN!r} is left out: it holds step times without operators and kernels. "
    f"--span {WHOLE_RUN!r} writes its reports."
)
_RANGES = "ranges"
"""The grouping for a domain of ranges."""


def run(arguments: Namespace, *, errors_only: bool = False) -> int:
    """Write the reports of every trace. One that fails does not affect the others.

    Args:
        arguments: Those of ``report``.
        errors_only: Print errors and warnings only.

    Returns:
        The largest exit code.
    """
    folder, may_replace = arguments.output or ".", arguments.force
    output = Output(folder, may_replace=may_replace, names_files=not errors_only)
    try:
        options = options_of(arguments)
        take_iterations(arguments)
        tasks = report_tasks(arguments, [view_spec(OVERVIEW)], limit=False)
        own = _without_companions(tasks, arguments.span)
        if len(own) < len(tasks) and not errors_only:
            print_message(_COMPANIONS)
        tasks = own
        plans = [
            (task, list(files_of(stem, options)))
            for task, stem in zip(tasks, _stems(tasks, arguments.base_name), strict=True)
        ]
        output.refuse_existing(name for _, files in plans for name in file_names(files))
        _refuse_unknown_domains(tasks, options.domains)
    except LoadingError as error:
        return print_failure(error)
    outcomes: list[tuple[Task, int | LoadingError]] = []
    with writing_errors(folder) as written:
        name = None if arguments.base_name == DEFAULT_BASE_NAME else arguments.base_name
        for task, files in plans:
            outcomes.append((task, _attempt(output, task, files, name)))
    has_key_node = any(isinstance(outcome, int) for _, outcome in outcomes)
    code = DONE
    for task, outcome in outcomes:
        if isinstance(outcome, int):
            code = max(code, outcome)
        elif outcome.problem.code == UNKNOWN_KEY_NODE and has_key_node:
            print_warning(f"{_name_of(task)} is left out: {outcome.problem.message}")
        else:
            code = max(code, print_failure(outcome))
    return max(code, written.code)


def _without_companions(tasks: Sequence[Task], span: str | None) -> list[Task]:
    """``tasks`` without the step times of whole runs that ``record`` writes beside its windows:
    they hold no operators and kernels. With them where ``span`` names one."""
    windows = {_worker_of(task) for task in tasks if _span_of(task) != WHOLE_RUN}
    return [
        task
        for task in tasks
        if span is not None or _span_of(task) != WHOLE_RUN or _worker_of(task) not in windows
    ]


def _span_of(task: Task) -> str | None:
    return task.request.subject.span if task.request else None


def _worker_of(task: Task) -> tuple[int, str | None, str | None]:
    about = task.request.subject if task.request else Subject()
    return id(task.catalog), about.run, about.worker


def _refuse_unknown_domains(tasks: Sequence[Task], domains: Sequence[str]) -> None:
    """Ask for each domain once, before anything is written: one that no recording has is a mistake.

    Raises:
        LoadingError: no recording has a domain of that name.
    """
    for domain in domains:
        problems = [_problem_with_domain(task, domain) for task in tasks]
        if problems and problems[0] is not None and all(problems):
            raise problems[0]


def _problem_with_domain(task: Task, domain: str) -> LoadingError | None:
    try:
        _answer(task, GROUPS, domain)
    except LoadingError as error:
        return error
    return None


def _attempt(
    output: Output, task: Task, files: Sequence[ReportFile], name: str | None
) -> int | LoadingError:
    """The exit code of :func:`_written`, or why there is none."""
    try:
        return _written(output, task, files, name)
    except LoadingError as error:
        return error


def _written(output: Output, task: Task, files: Sequence[ReportFile], name: str | None) -> int:
    """Write the files of one trace. ``name`` is its profile name; None for that of the recording.

    Returns:
        The exit code: an error if the trace has no data for any of them.

    Raises:
        LoadingError: the trace cannot be read, or the request is invalid.
    """
    code = INPUT_UNREADABLE
    for file, report in _reports(task, files):
        named = _named(report, name or _name_of(task))
        for suffix in file.formats:
            output.write(f"{file.stem}.{suffix}", WRITERS[suffix](named))
        code = DONE
    return code


def _reports(task: Task, files: Sequence[ReportFile]) -> Iterator[tuple[ReportFile, Report]]:
    """The reports of one trace, one after the other, with a warning about those without data.

    Raises:
        LoadingError: the trace cannot be read, or the request is invalid.
    """
    known: dict[tuple[str, str | None], View | RequestError] = {}
    task = _of_all_iterations(task)
    for file in files:
        kind = KINDS[file.report]
        views: dict[str, View] = {}
        for name in (*kind.views, *kind.wishes):
            domain = file.domain if NEEDS[name].of_domain else None
            if (name, domain) not in known:
                known[name, domain] = _answer(task, name, domain)
            answer = known[name, domain]
            if isinstance(answer, RequestError):
                if name in kind.wishes and any(map(_has_rows, views.values())):
                    continue
                print_warning(f"Report {file.report} is left out: {answer.problem.message}")
                break
            views[name] = answer
        else:
            try:
                report = kind.make(views)
            except NoTableError as error:
                print_warning(f"Report {file.report} is left out: {error}")
                continue
            if all(table.frame.is_empty() for table in report.tables):
                print_warning(f"Report {file.report} has no rows: {_why_empty(views)}")
            yield file, report


def _why_empty(views: Mapping[str, View]) -> str:
    """Why the tables of some views have no rows, as they say it themselves."""
    tables = (table for view in views.values() for table in view.tables.values())
    reasons = (table.why_empty for table in tables if table.frame.is_empty())
    return next(filter(None, reasons), "The recording holds nothing for it.")


def _of_all_iterations(task: Task) -> Task:
    """``task`` without a range that names every iteration: the same numbers for the same range,
    also of device work whose launch, and so whose iteration, is not recorded.

    Raises:
        LoadingError: the trace cannot be read, or the request is invalid.
    """
    request = task.request
    steps = request.subject.selection.steps if request is not None else None
    if request is None or steps is None:
        return task
    selection = replace(request.subject.selection, steps=None)
    subject = replace(request.subject, selection=selection)
    whole = replace(task, request=replace(request, subject=subject))
    return whole if _iterations_of(whole) == _iterations_of(task) is not None else task


def _iterations_of(task: Task) -> tuple[object, ...] | None:
    """First, last and number of the selected iterations; None where there is no answer.

    Raises:
        LoadingError: the trace cannot be read, or the request is invalid.
    """
    answer = _answer(task, OVERVIEW, None)
    if isinstance(answer, RequestError):
        return None
    facts = {fact.key: fact.value for fact in answer.facts}
    return tuple(facts.get(key) for key in _ITERATIONS)


def _has_rows(view: View) -> bool:
    return any(table.frame.height for table in view.tables.values())


def _named(report: Report, name: str) -> Report:
    """``report`` with ``name`` where DLProf has its profile name."""
    if report.name != "summary":
        return report
    system, *others = report.tables
    is_name = pl.col("Name") == PROFILE_NAME
    rows = system.frame.with_columns(Value=pl.when(is_name).then(pl.lit(name)).otherwise("Value"))
    return replace(report, tables=(replace(system, frame=rows), *others))


def _name_of(task: Task) -> str:
    """Run, worker and span."""
    about = task.request.subject if task.request else Subject()
    return ".".join(part for part in (about.run, about.worker, about.span) if part)


def _answer(task: Task, name: str, domain: str | None) -> View | RequestError:
    """A view with all rows, or why the trace has no data for it.

    Raises:
        LoadingError: the trace cannot be read, or the request is invalid.
    """
    if task.request is None or task.catalog is None:
        raise task.problem or OpenError("unreadable", "There is nothing to read.")
    need = NEEDS[name]
    group_by = _RANGES if domain is not None else need.group_by
    query = {"table": need.table, "group_by": group_by, "domain": domain}
    given = {key: value for key, value in query.items() if value is not None}
    view = need.view or name
    request = parameters.view_request(view, {**_typed(task.request.subject), **given})
    try:
        result = perform(Task(view_spec(view), request, task.catalog))
    except RequestError as error:
        if error.problem.code != "view_unavailable":
            raise
        return error
    return result.view if result else RequestError("view_unavailable", "There is no data for it.")


def _typed(subject: Subject) -> dict[str, str]:
    """A subject as request parameters."""
    selection = subject.selection
    values = {
        "run": subject.run,
        "worker": subject.worker,
        "span": subject.span,
        **{each.key: getattr(selection, each.key) for each in SELECTION_TEXTS},
        "start_us": _us(selection.start_ns),
        "end_us": _us(selection.end_ns),
    }
    return {key: value for key, value in values.items() if value is not None}


def _us(time_ns: int | None) -> str | None:
    return None if time_ns is None else f"{time_ns}e-3"


def _stems(tasks: Sequence[Task], base_name: str) -> list[str]:
    """The start of the file names of each trace."""
    names = [
        AnswerName(
            task.catalog.roots[0].shown_url if task.catalog else "",
            about.run or "",
            about.worker or "",
            about.span or "",
            base_name,
        )
        for task in tasks
        for about in [task.request.subject if task.request else Subject()]
    ]
    return file_stems(names, several_traces=len(names) > 1)
