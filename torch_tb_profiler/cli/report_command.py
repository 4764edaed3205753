"""``torch-tb-profiler report``: print views of every trace found."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from torch_tb_profiler.cli.exits import (
    DONE,
    tell_error,
    tell_warning,
)
from torch_tb_profiler.cli.sinks import Sink, columns_of, make_sink, writing_errors
from torch_tb_profiler.cli.tasks import (
    Task,
    begin,
    chosen_views,
    exit_code_of,
    perform,
    report_tasks,
)
from torch_tb_profiler.loading.errors import LoadingError, unknown
from torch_tb_profiler.views.spec import ViewSpec


def run(arguments: Namespace) -> int:
    """Give every answer asked for; one that fails does not keep the others back.

    Returns:
        The largest exit code of all answers.
    """
    for_people = arguments.format in ("table", "md")
    try:
        specs = chosen_views(arguments.view)
        _check_names(arguments, specs)
        tasks = report_tasks(arguments, specs, limit=not for_people)
        subjects = {(id(task.catalog), task.request.subject) for task in tasks if task.request}
        sink = make_sink(
            arguments,
            [table.name for spec in specs for table in spec.tables],
            several_answers=len(tasks) > 1,
            several_traces=len(subjects) > 1,
        )
    except LoadingError as error:
        tell_error(error.problem.message, error.problem.hint)
        return exit_code_of(error)
    code = DONE
    with writing_errors(arguments.output) as written:
        code = give(tasks, sink)
    return max(code, written.code)


def give(tasks: Sequence[Task], sink: Sink) -> int:
    """Perform ``tasks`` in order; errors are told on stderr and to the sink.

    Returns:
        The largest exit code.
    """
    code = DONE
    told_notes: set[str] = set()
    for number, task in enumerate(tasks):
        begin(tasks[number:])
        for note in task.catalog.contents().notes if task.catalog else ():
            if note not in told_notes:
                told_notes.add(note)
                tell_warning(note)
        try:
            answer = perform(task)
        except LoadingError as error:
            tell_error(error.problem.message, error.problem.hint)
            sink.add_error(error)
            code = max(code, exit_code_of(error))
        else:
            if answer is not None:
                sink.add(answer)
    sink.close()
    return code


def _check_names(arguments: Namespace, specs: Sequence[ViewSpec]) -> None:
    """Refuse names of tables and columns that no view asked for has, before anything is parsed."""
    if arguments.table is not None:
        tables = {table.name for spec in specs for table in spec.tables}
        if arguments.table not in tables:
            raise unknown("table", arguments.table, sorted(tables))
    keys = {column.key for spec in specs for table in spec.tables for column in table.columns}
    for key in columns_of(arguments.columns) or ():
        if key not in keys:
            raise unknown("column", key, sorted(keys))
