"""The types of every JSON answer, declared once; the pages' TypeScript types are made from them.

Shapes: ``docs/architecture.md``, "HTTP". ``tools/generate_schema.py`` writes the first line of
each docstring beside the type in ``fe/src/generated/schema.ts``.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from torch_tb_profiler.views.schema import (
    ColumnType,
    NoteKind,
    Scalar,
    SeriesKind,
    Severity,
    Unit,
)

SpanState = Literal["queued", "parsing", "ready", "failed"]
Face = Literal["tensorboard", "standalone"]
Scope = Literal["trace", "run", "pair"]


class ErrorPayload(TypedDict):
    """What went wrong, for programs and for people."""

    code: str
    message: str
    hint: str | None


class ErrorAnswer(TypedDict):
    """The answer beside every status code from 400 on."""

    schema_version: int
    error: ErrorPayload


class AboutAnswer(TypedDict):
    """``/about``: who is speaking."""

    schema_version: int
    version: str
    logdir: str
    face: Face


class SpanPayload(TypedDict):
    """One trace file; ``format`` is null until known, ``retry_s`` where trying again is no use."""

    name: str
    file: str
    format: str | None
    size_bytes: int
    state: SpanState
    progress: float
    mb_per_s: float | None
    eta_s: float | None
    error: ErrorPayload | None
    retry_s: float | None


class WorkerPayload(TypedDict):
    """The files of one worker."""

    name: str
    spans: list[SpanPayload]


class RunPayload(TypedDict):
    """The workers of one run."""

    name: str
    workers: list[WorkerPayload]


class SilentPlacePayload(TypedDict):
    """A place that does not answer: for how long, and when it is asked again (0: now).

    The runs listed of it are those that it had when it last answered. Seconds from now, because
    the clock of whoever looks is another.
    """

    place: str
    silent_s: float
    next_try_s: float
    error: ErrorPayload


class RunsAnswer(TypedDict):
    """``/runs``: everything found so far, what was left out, and why there is nothing at all."""

    schema_version: int
    discovering: bool
    runs: list[RunPayload]
    notes: list[str]
    problem: ErrorPayload | None
    silent_places: list[SilentPlacePayload]


class PendingAnswer(TypedDict):
    """Status 202: the trace is still being read; for a run view all its workers in one."""

    schema_version: int
    span: SpanPayload


class ViewEntryPayload(TypedDict):
    """One view, and why a trace does not have it."""

    name: str
    title: str
    help: str
    scope: Scope
    available: bool
    reason: str | None
    group_bys: list[str]


class ViewsAnswer(TypedDict):
    """``/views``: the views of a trace."""

    schema_version: int
    views: list[ViewEntryPayload]


class ColumnPayload(TypedDict):
    """The declaration of one column."""

    key: str
    title: str
    type: ColumnType
    unit: Unit | None
    help: str
    estimated: bool


class TreePayload(TypedDict):
    """Which columns make the rows of a table a tree."""

    id: str
    parent: str


class TablePayload(TypedDict):
    """One table: rows are arrays in the order of the columns."""

    title: str
    help: str
    columns: list[ColumnPayload]
    rows: list[tuple[Scalar, ...]]
    row_count: int
    null_reasons: dict[str, str]
    sort: str
    tree: TreePayload | None


class LinePayload(TypedDict):
    """One line of a series; a null ``y`` breaks it."""

    name: str
    x: list[float]
    y: list[float | None]


class SeriesPayload(TypedDict):
    """The data of one chart."""

    title: str
    kind: SeriesKind
    x_title: str
    x_unit: Unit | None
    y_title: str
    y_unit: Unit | None
    lines: list[LinePayload]


class FactPayload(TypedDict):
    """One number with its meaning."""

    key: str
    title: str
    value: Scalar
    unit: Unit | None
    scope: str | None
    help: str
    reason: str | None


class NotePayload(TypedDict):
    """Advice, or a limit of the quality of the numbers."""

    kind: NoteKind
    code: str
    severity: Severity
    text: str
    evidence: dict[str, object]


class SelectionPayload(TypedDict):
    """What part of the trace was looked at."""

    steps: str | None
    start_us: float | None
    end_us: float | None
    group_by: str | None


class BaselineRef(TypedDict):
    """Which trace a pair view compares with."""

    run: str
    worker: str
    span: str
    selection: SelectionPayload


class _TraceRefRequired(TypedDict):
    run: str
    worker: str | None
    span: str


class TraceRef(_TraceRefRequired, total=False):
    """Which trace was looked at; ``worker`` is null in views of a whole run."""

    baseline: BaselineRef


class ViewAnswer(TypedDict):
    """``/view/<name>``: a view."""

    schema_version: int
    view: str
    title: str
    group_bys: list[str]
    trace: TraceRef
    selection: SelectionPayload
    tables: dict[str, TablePayload]
    series: dict[str, SeriesPayload]
    facts: list[FactPayload]
    notes: list[NotePayload]
