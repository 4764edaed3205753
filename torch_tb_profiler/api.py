"""The Python API: open a trace, ask for views, get polars or pandas tables.

>>> import torch_tb_profiler
>>> with torch_tb_profiler.open_trace("logs/worker0.pt.trace.json.gz") as trace:  # doctest: +SKIP
...     trace.operators(steps=range(5, 8)).frame.head(3)
...     trace.kernels(filter="name~gemm").to_pandas()
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.arguments import argument_frame
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api_report import HtmlReport
from torch_tb_profiler.api_result import Result, verdict_html
from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.argument_names import argument_names_answer
from torch_tb_profiler.loading.queries.coverage import recording_coverage
from torch_tb_profiler.loading.queries.report import report_contents
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.queries.views import pair_result, view_result, view_spec
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests.argument_names import ArgumentPayload
from torch_tb_profiler.requests.coverage import RecordingCoverage
from torch_tb_profiler.requests.errors import (
    LoadingError,
    OpenError,
    RequestError,
    UnknownError,
)
from torch_tb_profiler.requests.python_values import (
    Steps,
    Time,
    names_from_values,
    option_texts,
    part_from_values,
    selection_of,
)
from torch_tb_profiler.requests.questions import Subject, TableQuery, ViewRequest
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.query import prepare_query
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.device_words import missing_reason_of
from torch_tb_profiler.views.registry import REPORT_VIEWS, all_parameters, all_views

__all__ = [
    "HtmlReport",
    "LoadingError",
    "OpenError",
    "OpenedTrace",
    "RequestError",
    "Result",
    "UnknownError",
    "open_trace",
]

T = TypeVar("T")


def open_trace(
    path: str | os.PathLike[str],
    *,
    run: str | None = None,
    worker: str | None = None,
    span: str | None = None,
    cache: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    python_frames: bool = True,
    only_us: str | None = None,
    only_steps: int | range | str | None = None,
    arguments: Iterable[str] = (),
    follow_links: bool = False,
    rules: str | os.PathLike[str] | None = None,
) -> OpenedTrace:
    """Open one trace: a file of any name, or one out of a folder of traces, local or remote.

    Args:
        path: A trace file, a folder or a URL (``s3://…`` needs the extra ``[s3]``).
        run: Which run of a folder; None for the first.
        worker: Which worker of the run; None for the first.
        span: Which span of the worker; None for the first.
        cache: Whether a parsed trace is kept, so that the next opening need not parse.
        cache_dir: Where, a folder or a URL; None for the user's cache folder.
        python_frames: Whether python frames and modules are read. Without them a trace takes less
            time and memory, and has no modules and no stacks of frames.
        only_us: Read only a part of the recording, ``"START:END"`` in µs since its first event.
        only_steps: Read only these steps of it: ``5``, ``range(5, 9)`` or ``"5:8"``.
        arguments: Names of arguments of events that are read besides those that columns model:
            columns of operators and kernels, and :attr:`OpenedTrace.arguments`.
        follow_links: Whether links that lead out of a folder are followed.
        rules: TOML file that says what your own kernels are (``docs/settings.md``).

    Raises:
        OpenError: it does not exist, cannot be read or holds no trace; or the rules have mistakes.
        UnknownError: there is no run, worker or span of that name.
        RequestError: the part or an argument is malformed.
    """
    options = ReadOptions(
        python_frames, part_from_values(only_us, only_steps), names_from_values(arguments)
    )
    try:
        folder = open_cache(cache_dir) if cache else None
    except StorageError as error:
        raise OpenError.of(error) from error
    root = TraceRoot(os.fspath(path), None, options, follow_links)
    store = TraceStore(cache=folder, rules=checked_rules(rules))
    catalog = Catalog([root], cache=folder, store=store, rescan_s=math.inf)
    return OpenedTrace(catalog, Subject(run, worker, span))


class OpenedTrace:
    """One trace, and the run it belongs to. Made by :func:`open_trace`.

    A context manager: at its end, at :meth:`close`, or when nobody holds it any more, the trace
    is let go and what reads it ends.

    Attributes:
        run, worker, span: Names of what was opened.
        workers: Names of all workers that have this span; views of a whole run look at them all.
    """

    def __init__(self, catalog: Catalog, subject: Subject) -> None:
        """Parse the trace that ``subject`` names, unless the cache has it."""
        self._catalog = catalog
        self._is_closed = False
        file = catalog.file(subject.run, subject.worker, subject.span)
        self.run, self.worker, self.span = file.run, file.worker, file.span
        self.workers = tuple(catalog.workers(file.run, file.span))
        self._file = file
        self._when_ready(lambda wait_s: open_traces(catalog, [file], wait_s))

    def __enter__(self) -> OpenedTrace:
        self._check_open()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the trace go. Results stay as they are; closing again does nothing."""
        self._is_closed = True
        self._catalog.store.close()

    def __repr__(self) -> str:
        return f"<OpenedTrace run={self.run!r} worker={self.worker!r} span={self.span!r}>"

    def _repr_html_(self) -> str:
        return verdict_html(self.overview)

    @property
    def trace(self) -> Trace:
        """The columns behind the views (:mod:`torch_tb_profiler.trace.model`).

        Raises:
            RequestError: it is closed.
        """
        return self._when_ready(lambda wait_s: open_traces(self._catalog, [self._file], wait_s))[0]

    @property
    def arguments(self) -> pl.DataFrame:
        """Arguments of slices that no column models, one per row, with the slice; those that were
        requested, and counters of formats that have no other place for them.

        Raises:
            RequestError: it is closed.
        """
        return argument_frame(self.trace)

    def argument_names(self) -> list[ArgumentPayload]:
        """The arguments that the file has, the most frequent first, from a sample of its events.

        Raises:
            RequestError: it is closed.
        """
        about = Subject(self.run, self.worker, self.span)
        return self._when_ready(
            lambda wait_s: argument_names_answer(self._catalog, about, wait_s=wait_s)
        ).arguments

    def overview(self, *, steps: Steps | None = None, **options: Any) -> Result:
        """Where the time of a step went. Options as in :meth:`view`."""
        return self.view("overview", steps=steps, **options)

    def operators(
        self, group_by: str = "name", *, steps: Steps | None = None, **options: Any
    ) -> Result:
        """What each operator cost on host and device. Options as in :meth:`view`."""
        return self.view("operators", group_by=group_by, steps=steps, **options)

    def kernels(
        self, group_by: str = "name", *, steps: Steps | None = None, **options: Any
    ) -> Result:
        """What each kernel cost. Options as in :meth:`view`."""
        return self.view("kernels", group_by=group_by, steps=steps, **options)

    def view(
        self,
        name: str,
        *,
        group_by: str | None = None,
        steps: Steps | None = None,
        start_us: Time | None = None,
        end_us: Time | None = None,
        table: str | None = None,
        sort: str | None = None,
        filter: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        baseline: OpenedTrace | None = None,
        baseline_steps: Steps | None = None,
        baseline_start_us: Time | None = None,
        baseline_end_us: Time | None = None,
        baseline_iterations_by: str | None = None,
        iterations_by: str | None = None,
        **parameters: str | None,
    ) -> Result:
        """Any view by name (:meth:`views` lists those of one trace; ``compare`` needs a baseline).

        Args:
            name: Name of the view.
            group_by: How rows are grouped; None for the view's default.
            steps: ``5``, ``range(5, 9)``, or text as on the command line (``"3,5:8"``).
            start_us: Start of a time range, µs of trace time. Text, whole numbers and decimals
                are exact; a float since the epoch holds quarters of a µs.
            end_us: Its end, not included.
            table: Table that the following are for; None for the first.
            sort: ``"-device_self_us,name"``.
            filter: ``"name~gemm;calls>=10"``.
            offset: Rows to skip.
            limit: Rows to keep at most; None for all.
            baseline: What ``compare`` compares this trace with, maybe of another place.
            baseline_steps, baseline_start_us, baseline_end_us: What part of the baseline.
            baseline_iterations_by: As the next, of the baseline; None is as this trace.
            iterations_by: What splits the recording into steps: ``"steps"``, ``"auto"``,
                ``"name:aten::embedding"`` (the end of each call cuts), ``"start:…"``.
            parameters: ``phase``, ``forward_start``, ``backward_end``, and what views declare
                (``docs/columns.md``), as on the command line.

        Raises:
            TypeError: an option nobody knows.
            UnknownError: there is no such view or table.
            RequestError: a parameter makes no sense, the trace has nothing for this view, or is
                closed.
        """
        rows = TableQuery(table, sort, filter, offset, limit)
        texts = option_texts({"iterations_by": iterations_by, **parameters})
        own = _subject(self, selection_of(steps, start_us, end_us, group_by, texts), texts)
        if baseline is None:
            return self._answer(name, own, rows)
        of_baseline = texts | {"iterations_by": baseline_iterations_by or iterations_by}
        part = selection_of(
            baseline_steps, baseline_start_us, baseline_end_us, group_by, of_baseline
        )
        spec = view_spec(name)
        if spec.scope != "pair":
            raise RequestError("bad_parameter", f"View {spec.name} knows no baseline.")
        other = _subject(baseline, part, of_baseline)
        sides = (other, baseline.trace), (own, self.trace)
        return Result(pair_result(spec, *sides, rows))

    def compare(self, baseline: OpenedTrace, **options: Any) -> Result:
        """What differs from ``baseline``, and how sure that is. Options as in :meth:`view`."""
        return self.view("compare", baseline=baseline, **options)

    def report(
        self,
        views: Iterable[str] = REPORT_VIEWS,
        *,
        tables: Iterable[str] = (),
        steps: Steps | None = None,
        start_us: Time | None = None,
        end_us: Time | None = None,
        **parameters: str | None,
    ) -> HtmlReport:
        """The HTML report, as ``report --format html`` writes it: a notebook shows it inline.

        Args:
            views: Names of the views, in order; the overview is always the first.
            tables: Names of the only tables of the views that are shown; empty for all.
            steps, start_us, end_us, parameters: As in :meth:`view`.

        Raises:
            UnknownError: there is no such view.
            RequestError: as in :meth:`view`.
        """
        texts = option_texts(parameters)
        about = _subject(self, selection_of(steps, start_us, end_us, None, texts), texts)
        names = (views,) if isinstance(views, str) else tuple(views)
        shown = (tables,) if isinstance(tables, str) else tuple(tables)
        return HtmlReport(
            self._when_ready(
                lambda wait_s: report_contents(self._catalog, about, names, shown, wait_s=wait_s)
            )
        )

    def sql(
        self,
        query: str,
        *,
        all_workers: bool = False,
        group_by: str | None = None,
        steps: Steps | None = None,
        start_us: Time | None = None,
        end_us: Time | None = None,
        max_rows: int = 10_000,
        time_limit_s: float = 30.0,
        memory_limit_gb: float = 1.0,
        **parameters: str | None,
    ) -> Result:
        """The answer to a query over the tables of all views and the raw tables (``docs/sql.md``);
        its table is ``answer``. Needs the extra ``[sql]``.

        Args:
            query: One SELECT in DuckDB's dialect.
            all_workers: Whether the tables hold all workers of the run instead of this trace alone.
            group_by: How rows of the named views are grouped, where they have this grouping.
            steps, start_us, end_us: What part of the trace these views are about, as in
                :meth:`view`; raw tables have every step.
            max_rows: Rows of the answer at most; a note says that there are more.
            time_limit_s: Seconds that it may take.
            memory_limit_gb: Memory that it may use, in 10⁹ bytes.
            parameters: ``iterations_by`` and what views declare, as in :meth:`view`.

        Raises:
            TypeError: an option nobody knows.
            RequestError: the query is refused, fails, reaches a limit, or names a table for which
                the trace has nothing; a parameter makes no sense; DuckDB is not installed; or the
                trace is closed.
            UnknownError: there is no such table.
        """
        self._check_open()
        limits = SqlLimits(time_limit_s, int(memory_limit_gb * 1e9), max_rows)
        prepared = prepare_query(query, limits)
        files = [self._file]
        if all_workers:
            files = list(self._catalog.workers(self.run, self.span).values())
        texts = option_texts(parameters, "sql")
        part = _subject(self, selection_of(steps, start_us, end_us, group_by, texts), texts)
        subject = replace(part, worker=None) if all_workers else part
        return Result(
            self._when_ready(
                lambda wait_s: prepared.result(self._catalog, files, subject, wait_s=wait_s)
            )
        )

    def views(self) -> dict[str, str | None]:
        """View → why this trace has nothing for it, or None when it has."""
        trace = self.trace
        return {
            spec.name: missing_reason_of(spec, trace)
            for spec in all_views().values()
            if spec.scope != "pair"
        }

    def doctor(self) -> RecordingCoverage:
        """Which questions the recording answers, why not others, and how to record them."""
        about = Subject(self.run, self.worker, self.span)
        return self._when_ready(lambda wait_s: recording_coverage(self._catalog, about, wait_s))

    def _answer(self, name: str, subject: Subject, rows: TableQuery) -> Result:
        request = ViewRequest(name, subject, rows=rows)
        return Result(
            self._when_ready(lambda wait_s: view_result(self._catalog, request, wait_s=wait_s))
        )

    def _when_ready(self, ask: Callable[[float], T]) -> T:
        self._check_open()
        progress = Progress()
        try:
            return when_ready(ask, progress.show)
        finally:
            progress.wipe()

    def _check_open(self) -> None:
        if self._is_closed:
            message = f"The trace {self.run}, {self.worker}, span {self.span} is closed."
            raise RequestError("closed", message, "Open it again with open_trace().")


def _subject(trace: OpenedTrace, selection: Selection, texts: Mapping[str, str | None]) -> Subject:
    given = {key: texts.get(key) for key in all_parameters()}
    parameters = {key: text for key, text in given.items() if text is not None}
    return Subject(trace.run, trace.worker, trace.span, selection, parameters)
