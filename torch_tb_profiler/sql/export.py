"""The tables that a query names, written as files for its process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import polars as pl

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.stored_views import view_of
from torch_tb_profiler.loading.queries.traces import as_bad_parameters
from torch_tb_profiler.loading.queries.view_checks import PHASE_IGNORED
from torch_tb_profiler.loading.queries.views import trace_view, view_result
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.sql.engine_values import TableFiles
from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.selecting import selection_for
from torch_tb_profiler.sql.statement import Statement, TablePath
from torch_tb_profiler.sql.tables import IDENTITY, SqlTable
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.schema import POLARS_TYPES, Note, View
from torch_tb_profiler.views.spec import ViewSpec

OpenedFile = tuple[SpanFile, Trace]

BAD_PARAMETER = "bad_parameter"
"""Code of the error of a recording that has no such step."""


class Exporter:
    """Writes the tables of one query.

    Args:
        catalog: The traces.
        statement: What the query uses.
        folder: Where files are written.
        subject: What part of the recordings views are about, how they are grouped, and what else
            is asked of them.
        wait_s: How long to wait for traces that views of whole runs read besides.

    Attributes:
        notes: Which recordings have no data for which table.
    """

    def __init__(
        self,
        catalog: Catalog,
        statement: Statement,
        folder: Path,
        subject: Subject,
        wait_s: float | None,
    ) -> None:
        self._catalog = catalog
        self._statement = statement
        self._folder = folder
        self._subject = subject
        self._wait_s = wait_s
        self._views: dict[tuple[str | None, ...], View | RequestError] = {}
        self.notes: list[Note] = []

    def write(
        self,
        tables: Mapping[TablePath, SqlTable],
        files: Sequence[SpanFile],
        opened: Sequence[OpenedFile],
    ) -> list[TableFiles]:
        """The files of every table.

        Args:
            tables: The tables by their names in the query.
            files: The recordings that the query is about.
            opened: Those that could be opened; empty where the query needs none.

        Raises:
            RequestError: no recording has data for a table.
            NotReadyError: a view of a whole run needs a trace that is not parsed in time.
        """
        written: dict[str, tuple[str, ...]] = {}
        for number, table in enumerate(tables.values()):
            if table.name in written:
                continue
            paths = []
            for part, frame in enumerate(self._frames(table, files, opened)):
                path = self._folder / f"{number}.{part}.arrow"
                # Of a clone: writing compacts the frame that it is called on.
                frame.clone().write_ipc(path, compression="uncompressed")
                paths.append(str(path))
            written[table.name] = tuple(paths)
        return [TableFiles(path, written[table.name]) for path, table in tables.items()]

    def _frames(
        self, table: SqlTable, files: Sequence[SpanFile], opened: Sequence[OpenedFile]
    ) -> Iterator[pl.DataFrame]:
        if isinstance(table.source, RawTable):
            for file, trace in opened:
                rows = table.source.frame(trace, self._keys(table))
                yield self._with_identity(table, rows, (file.run, file.worker, file.span))
            return
        yield from self._frames_of_view(table, table.source, files, opened)

    def _frames_of_view(
        self,
        table: SqlTable,
        spec: ViewSpec,
        files: Sequence[SpanFile],
        opened: Sequence[OpenedFile],
    ) -> Iterator[pl.DataFrame]:
        views: list[tuple[tuple[str, str | None, str], View | RequestError]]
        if spec.scope == "run":
            of_runs = dict.fromkeys((file.run, file.span) for file in files)
            views = [
                ((run, None, span), self._view_of_run(spec, self._part(spec, run, None, span)))
                for run, span in of_runs
            ]
        else:
            views = [
                ((file.run, file.worker, file.span), self._view_of_trace(spec, file, trace))
                for file, trace in opened
            ]
        reasons = []
        for names, view in views:
            self._note_phase(view)
            reason = _missing_reason(table, view)
            if reason is not None:
                reasons.append((names, reason))
                continue
            frame = complete(cast(View, view).tables[table.spec.name]).frame
            yield self._with_identity(table, self._declared(table, frame), names)
        if len(reasons) == len(views):
            for _, view in views[:1]:
                if isinstance(view, RequestError) and view.problem.code == BAD_PARAMETER:
                    raise view
            reason = reasons[0][1] if reasons else "There is no recording."
            raise RequestError("view_unavailable", f"{table.name}: {reason}")
        self.notes += [_note(table, names, reason) for names, reason in reasons]

    def _view_of_trace(self, spec: ViewSpec, file: SpanFile, trace: Trace) -> View | RequestError:
        subject = self._part(spec, file.run, file.worker, file.span)
        compute = partial(trace_view, spec, trace, subject.selection, subject.parameters)
        return self._view(spec, subject, lambda: view_of(spec, trace, subject, compute))

    def _part(self, spec: ViewSpec, run: str, worker: str | None, span: str) -> Subject:
        """What a view of one recording or run is asked."""
        selection = selection_for(spec, self._subject.selection)
        return Subject(run, worker, span, selection, self._subject.parameters)

    def _view_of_run(self, spec: ViewSpec, subject: Subject) -> View | RequestError:
        request = ViewRequest(spec.name, subject)
        return self._view(
            spec,
            subject,
            lambda: view_result(self._catalog, request, wait_s=self._wait_s).view,
        )

    def _view(
        self, spec: ViewSpec, subject: Subject, compute: Callable[[], View]
    ) -> View | RequestError:
        """A view, computed once for all its tables."""
        key = (spec.name, subject.run, subject.worker, subject.span)
        if key not in self._views:
            try:
                with as_bad_parameters():
                    self._views[key] = compute()
            except RequestError as error:
                self._views[key] = error
        return self._views[key]

    def _note_phase(self, view: View | RequestError) -> None:
        """Repeat, once, that the phase of the selection does not apply to a view."""
        notes = () if isinstance(view, RequestError) else view.notes
        own = [note for note in notes if note.code == PHASE_IGNORED and note not in self.notes]
        self.notes += own

    def _keys(self, table: SqlTable) -> list[str]:
        """The columns that are written: those that the query may use, and the last one, which says
        how many rows there are."""
        keys = [each.key for each in table.spec.columns]
        return [key for key in keys if key == keys[-1] or self._statement.uses(key)]

    def _declared(self, table: SqlTable, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns as declared that are used: views may leave some out, or have more."""
        types = table.spec.polars_schema()
        identity = {column.key for column in IDENTITY} - set(frame.columns)
        return frame.select(
            pl.col(key).cast(types[key])
            if key in frame.columns
            else pl.lit(None, types[key]).alias(key)
            for key in self._keys(table)
            if key not in identity
        )

    def _with_identity(
        self, table: SqlTable, rows: pl.DataFrame, names: tuple[str | None, ...]
    ) -> pl.DataFrame:
        """``rows`` with the columns of the recording that are used, in order of declaration."""
        keys = self._keys(table)
        text = POLARS_TYPES["string"]
        added = [
            pl.Series(column.key, [name], text).new_from_index(0, rows.height)
            for column, name in zip(IDENTITY, names, strict=True)
            if column.key in keys and column.key not in rows.columns
        ]
        return pl.DataFrame([*added, *rows.get_columns()]).select(keys)


def _missing_reason(table: SqlTable, view: View | RequestError) -> str | None:
    if isinstance(view, RequestError):
        if view.problem.code not in ("view_unavailable", BAD_PARAMETER):
            raise view
        return view.problem.message
    if table.spec.name not in view.tables:
        return "The view has no such table of this recording."
    return None


def _note(table: SqlTable, names: tuple[str, str | None, str], reason: str) -> Note:
    run, worker, span = names
    about = ", ".join(name for name in (run, worker, f"span {span}") if name)
    text = f"{table.name} has no rows of {about}: {reason}"
    evidence: dict[str, object] = {"table": table.name, "run": run, "worker": worker}
    return Note("quality", "table_unavailable", "info", text, evidence)
