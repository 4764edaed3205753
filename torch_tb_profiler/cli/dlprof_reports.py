"""``report --reports``: the reports of DLProf as files (``docs/dlprof.md``)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

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
    MODEL_DATA,
    NEEDS,
    OVERVIEW,
    REPORTS,
)
from torch_tb_profiler.reports.dlprof.summary import PROFILE_NAME
from torch_tb_profiler.reports.dlprof.table import Report
from torch_tb_profiler.reports.dlprof.writing import WRITERS
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError, unknown
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.views.parameters import SELECTION_TEXTS
from torch_tb_profiler.views.schema import View

ALL_REPORTS = "all"
UNKNOWN_KEY_NODE = "unknown_key_node"
"""Code of the error for a key node that a recording does not have."""
_ITERATIONS = ("iterations_first", "iterations_last", "iterations_selected")
_COMPANIONS = (
    f"Span {WHOLE_RUN!r} is left out: it holds step times without operators and kernels. "
    f"--span {WHOLE_RUN!r} writes its reports."
)
_RANGES = "ranges"
"""The grouping for a domain of ranges."""


class _File(Struct, frozen=True):
    """A file to write: report, domain (None: all), name without suffix, and formats."""

    report: str
    domain: str | None
    stem: str
    formats: Sequence[str]


class _Options(Struct, frozen=True):
    """What is written: reports and formats in the order of the guide, domains of ranges."""

    reports: Sequence[str]
    formats: Sequence[str]
    domains: Sequence[str]


def check_options(arguments: Namespace) -> None:
    """Check what needs no recording.

    Raises:
        RequestError: an option is malformed, or names no report or format, or a file that one
            recording has as its own exists, or the folder cannot be written.
    """
    options = _options(arguments)
    output = Output(arguments.output or ".", may_replace=arguments.force)
    output.refuse_existing(_file_names(_files(arguments.base_name, options)))
    output.refuse_unwritable()


def _options(arguments: Namespace) -> _Options:
    wants_model_data = arguments.dump_model_data
    reports = []
    if arguments.reports or not wants_model_data:
        reports = _chosen(arguments.reports or "", REPORTS, "report")
    if wants_model_data:
        reports.append(MODEL_DATA)
    formats = _chosen(arguments.formats, WRITERS, "format")
    return _Options(reports, formats, _names(arguments.domains))


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
        options = _options(arguments)
        _take_iterations(arguments)
        tasks = report_tasks(arguments, [view_spec(OVERVIEW)], limit=False)
        own = _without_companions(tasks, arguments.span)
        if len(own) < len(tasks) and not errors_only:
            print_message(_COMPANIONS)
        tasks = own
        plans = [
            (task, list(_files(stem, options)))
            for task, stem in zip(tasks, _stems(tasks, arguments.base_name), strict=True)
        ]
        output.refuse_existing(name for _, files in plans for name in _file_names(files))
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
    output: Output, task: Task, files: Sequence[_File], name: str | None
) -> int | LoadingError:
    """The exit code of :func:`_written`, or why there is none."""
    try:
        return _written(output, task, files, name)
    except LoadingError as error:
        return error


def _written(output: Output, task: Task, files: Sequence[_File], name: str | None) -> int:
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


def _reports(task: Task, files: Sequence[_File]) -> Iterator[tuple[_File, Report]]:
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
            report = kind.make(views)
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


def _take_iterations(arguments: Namespace) -> None:
    """Translate DLProf's selection options into those of ``report``.

    Raises:
        RequestError: both are given.
    """
    first, last = arguments.iter_start, arguments.iter_stop
    for theirs, ours in (("key_node", "iterations_by"), ("iter_start", "steps")):
        if getattr(arguments, theirs) is not None and getattr(arguments, ours) is not None:
            options = " and ".join(f"--{name.replace('_', '-')}" for name in (theirs, ours))
            raise RequestError("bad_parameter", f"{options} mean the same; use one of them.")
    if arguments.key_node is not None:
        arguments.iterations_by = f"name:{arguments.key_node}"
    if first is not None or last is not None:
        arguments.steps = f"{first or ''}:{last or ''}"


def _chosen(text: str, known: Mapping[str, object], kind: str) -> list[str]:
    """The names in ``text``, in the order of ``known``.

    Raises:
        UnknownError: a name is not in ``known``.
        RequestError: there is no name.
    """
    names = _names(text)
    if not names:
        raise RequestError("bad_parameter", f"--{kind}s is empty. Known: {', '.join(known)}.")
    if names == [ALL_REPORTS]:
        return list(known)
    for name in names:
        if name not in known:
            raise unknown(kind, name, [*known, ALL_REPORTS])
    return [name for name in known if name in names]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


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


def _files(stem: str, options: _Options) -> Iterator[_File]:
    for report in options.reports:
        formats = ["json"] if report == MODEL_DATA else options.formats
        yield _File(report, None, f"{stem}_{report}", formats)
        if KINDS[report].of_domain:
            for domain in options.domains:
                (safe,) = file_stems([AnswerName("", "", "", "", domain)], several_traces=False)
                yield _File(report, domain, f"{stem}_{report}_{safe}", formats)


def _file_names(files: Iterable[_File]) -> Iterator[str]:
    return (f"{file.stem}.{suffix}" for file in files for suffix in file.formats)
