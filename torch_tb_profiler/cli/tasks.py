"""The requests of a command: its traces times its views, and how they are performed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from msgspec import Struct

from torch_tb_profiler.cli.arguments import ALL_ROWS
from torch_tb_profiler.cli.exits import BAD_USAGE, INPUT_UNREADABLE, print_error
from torch_tb_profiler.cli.summary_options import (
    in_order,
    order_for_all,
    with_summary_options,
)
from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.views import view_result, view_spec
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError
from torch_tb_profiler.requests.questions import ViewRequest
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.views.parameters import SELECTION
from torch_tb_profiler.views.registry import all_parameters, all_views
from torch_tb_profiler.views.spec import ViewSpec

ALL_VIEWS = "all"
_FOR_ONE_TABLE = ("table", "sort", "filter", "offset", "limit")


class Task(Struct, frozen=True):
    """One request to a catalog, or the problem that prevents it.

    Attributes:
        spec: The view; None if the path cannot be read.
        request: The request.
        catalog: The catalog that answers it.
        skips_missing: Whether a trace without data for the view is skipped silently.
        problem: Why the path cannot be read.
        order: Sort order for all tables that have its columns; None: according to the request.
    """

    spec: ViewSpec | None = None
    request: ViewRequest | None = None
    catalog: Catalog | None = None
    skips_missing: bool = False
    problem: LoadingError | None = None
    order: str | None = None


def chosen_views(names: str) -> list[ViewSpec]:
    """The views in a comma-separated list; ``all``: every view of a single trace.

    Raises:
        UnknownError: there is no view of a name.
        RequestError: a view needs two traces.
    """
    if names.strip() == ALL_VIEWS:
        return [spec for spec in all_views().values() if spec.scope != "pair" and spec.on_pages]
    specs = [view_spec(name.strip()) for name in names.split(",") if name.strip()]
    if not specs:
        raise RequestError("bad_parameter", "--view names no view.", "See torch-tb-profiler views.")
    for spec in specs:
        if spec.scope == "pair":
            hint = "Use torch-tb-profiler compare BASELINE CANDIDATE."
            raise RequestError("bad_parameter", f"View {spec.name} needs two traces.", hint)
    return specs


def read_options(arguments: Namespace) -> ReadOptions:
    """How traces are read."""
    return ReadOptions(
        arguments.python_frames, getattr(arguments, "part", None), arguments.arguments
    )


def cache_of(arguments: Namespace) -> CacheFolder | None:
    """The cache chosen by the arguments.

    Raises:
        OpenError: its URL cannot be opened.
    """
    if arguments.no_cache:
        return None
    try:
        return open_cache(arguments.cache_dir)
    except StorageError as error:
        raise OpenError.of(error) from error


def request_parameters(arguments: Namespace, *, limit: bool) -> dict[str, str]:
    """The arguments as parameters of ``/view``, so that both have the same meaning.

    Args:
        arguments: The command line.
        limit: Whether ``--limit`` is included; otherwise the sink applies it.
    """
    rows = ("group_by", "table", "sort", "filter", "offset")
    names = (*(each.key for each in SELECTION), *all_parameters(), *rows)
    typed = {name: getattr(arguments, name) for name in names}
    if limit and arguments.limit != ALL_ROWS:
        typed["limit"] = arguments.limit
    return {name: value for name, value in typed.items() if value is not None}


def report_tasks(arguments: Namespace, specs: Sequence[ViewSpec], *, limit: bool) -> list[Task]:
    """The tasks of ``report`` in order: trace by trace, view by view.

    Raises:
        RequestError: a parameter is invalid.
    """
    cache, rules = cache_of(arguments), checked_rules(arguments.rules)
    typed = request_parameters(arguments, limit=limit)
    parameters.view_request("", typed)
    skips_missing = (arguments.view or "").strip() == ALL_VIEWS
    tasks: list[Task] = []
    parser = Parser(arguments.workers)
    for path in arguments.paths:
        store = TraceStore(cache=cache, parser=parser, rules=rules)
        root = TraceRoot(
            path, options=read_options(arguments), follows_links=arguments.follow_links
        )
        catalog = Catalog([root], cache=cache, store=store)
        try:
            files = chosen_files(catalog, arguments)
        except LoadingError as error:
            tasks.append(Task(problem=error))
            continue
        for spec, file in _pairs(specs, files):
            subject = {"run": file.run, "worker": file.worker, "span": file.span}
            own = with_summary_options(spec, arguments, _for_view(spec, typed, arguments))
            request = parameters.view_request(spec.name, {**own, **subject})
            order = order_for_all(spec, arguments)
            tasks.append(Task(spec, request, catalog, skips_missing, order=order))
    return tasks


def tables_of(spec: ViewSpec, arguments: Namespace) -> list[str]:
    """The tables of a view named by ``--tables``; all if it names none of them."""
    wanted = {name.strip() for name in (arguments.tables or "").split(",")}
    every = [table.name for table in spec.tables]
    return [name for name in every if name in wanted] or every


def _for_view(spec: ViewSpec, typed: dict[str, str], arguments: Namespace) -> dict[str, str]:
    """``typed`` without options for a table of another view."""
    if arguments.tables is not None:
        typed = {**typed, "only": ",".join(tables_of(spec, arguments))}
    table = typed.get("table")
    if table is None or any(table == own.name for own in spec.tables):
        return typed
    return {name: value for name, value in typed.items() if name not in _FOR_ONE_TABLE}


def chosen_files(catalog: Catalog, arguments: Namespace) -> list[SpanFile]:
    """The recordings that ``--run``, ``--worker`` and ``--span`` name.

    Raises:
        UnknownError: there is none.
        OpenError: the path holds no trace.
    """
    wanted = (arguments.run, arguments.worker, arguments.span)
    files = [
        file
        for file in catalog.contents().files()
        if all(
            name is None or name == own
            for name, own in zip(wanted, (file.run, file.worker, file.span), strict=True)
        )
    ]
    # If nothing matches, requesting it by name raises an error that lists the known names.
    return files or [catalog.file(*wanted)]


def _pairs(specs: Sequence[ViewSpec], files: Sequence[SpanFile]) -> list[tuple[ViewSpec, SpanFile]]:
    """Views × files; a view of a whole run only once per run and span."""
    pairs: list[tuple[ViewSpec, SpanFile]] = []
    seen: set[tuple[str, str, str]] = set()
    for file in files:
        for spec in specs:
            if spec.scope == "run":
                key = (spec.name, file.run, file.span)
                if key in seen:
                    continue
                seen.add(key)
            pairs.append((spec, file))
    return pairs


def perform(task: Task) -> ViewResult | None:
    """Perform a task, with a progress bar on the terminal while the trace is parsed.

    Returns:
        The answer; None if the trace has no data for the view and the task skips such views.

    Raises:
        LoadingError: there is no answer; the error says why.
    """
    catalog, request = task.catalog, task.request
    if catalog is None or request is None:
        raise task.problem or OpenError("unreadable", "There is nothing to read.")
    progress = Progress()
    try:
        result = when_ready(
            lambda wait_s: view_result(catalog, request, wait_s=wait_s), progress.show
        )
        return result if task.order is None else in_order(result, task.order)
    except RequestError as error:
        if error.problem.code != "view_unavailable":
            raise
        if task.skips_missing:
            return None
        about = request.subject
        subject = f"{about.run}, {about.worker}, span {about.span}"
        raise RequestError(
            error.problem.code, f"{subject}: {error.problem.message}", error.problem.hint
        ) from error
    finally:
        progress.wipe()


def print_failure(error: LoadingError) -> int:
    """Print why there is no answer.

    Returns:
        The exit code: 2 for a wrong request, 3 for a trace that cannot be read or has no data for
        the view.
    """
    print_error(error.problem.message, error.problem.hint)
    if isinstance(error, OpenError) or error.problem.code == "view_unavailable":
        return INPUT_UNREADABLE
    return BAD_USAGE
