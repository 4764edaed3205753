"""What there is: runs with their workers and spans, and how far each span is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import Problem

SpanState = Literal["queued", "parsing", "ready", "failed"]


class SpanStatus(msgspec.Struct, frozen=True):
    """One trace file; ``format`` is null until known, ``retry_s`` where trying again is no use.

    Attributes:
        name: The span.
        file: Base name of its file.
        format: Input format once it is known, by its name or its content, else None.
        size_bytes: Size of the file.
        state: What happens to it.
        progress: Done part of the work, 0 to 1.
        mb_per_s: Speed of reading in 10⁶ file bytes per second; None before there is one.
        eta_s: Seconds left; None when unknown.
        error: Why it failed, else None.
        retry_s: Seconds until it is tried again when somebody asks, where the file is not to blame;
            None where only another file helps.
        version: Another text whenever the content of the file may be another one; None for the
            status of several files.
        modified_s: When the file was written last, in seconds since 1970; None where nobody says.
        recorded_s: When it was recorded by the stamp in its name, in seconds since 1970; None
            where it has none.
        path: Path of the file from the logdir, ``/`` between parts; empty for several files.
        format_label: The input format as people call it, likewise.
        read_part: The part of the recording that alone is read, as text; None for all of it.
    """

    name: str
    file: str
    format: str | None
    size_bytes: int
    state: SpanState
    progress: float = 0.0
    mb_per_s: float | None = None
    eta_s: float | None = None
    error: Problem | None = None
    retry_s: float | None = None
    version: str | None = None
    modified_s: float | None = None
    recorded_s: float | None = None
    path: str = ""
    format_label: str | None = None
    read_part: str | None = None


class WorkerPayload(msgspec.Struct, frozen=True):
    """The files of one worker."""

    name: str
    spans: list[SpanStatus]


class RunPayload(msgspec.Struct, frozen=True):
    """The workers of one run."""

    name: str
    workers: list[WorkerPayload]


class SilentPlacePayload(msgspec.Struct, frozen=True):
    """A place that does not answer: for how long, and when it is asked again (0: now).

    The runs listed of it are those that it had when it last answered. Seconds from now, because
    the clock of whoever looks is another.
    """

    place: str
    silent_s: float
    next_try_s: float
    error: Problem


class LeftOutPayload(msgspec.Struct, frozen=True):
    """Something that was seen and is no span.

    ``name`` is its path from the logdir; ``reason`` says why to programs, ``text`` to people.
    Where ``can_open``, ``/open?name=`` makes it a span.
    """

    name: str
    reason: str
    text: str
    can_open: bool


class RunsAnswer(Answer, kw_only=True):
    """``/runs``: everything found so far, what was left out, and why there is nothing at all.

    ``left_out`` is bounded, what is no trace at its end; ``left_out_counts`` counts all by reason.
    """

    discovering: bool
    runs: list[RunPayload]
    notes: tuple[str, ...]
    problem: Problem | None
    silent_places: list[SilentPlacePayload]
    left_out: list[LeftOutPayload]
    left_out_counts: dict[str, int]


class OpenAnswer(Answer, kw_only=True):
    """``/open``: the names of the span that a file left out has become."""

    run: str
    worker: str
    span: str


class PendingAnswer(Answer, kw_only=True):
    """Status 202: the trace is still being read; for a run view all its workers in one."""

    span: SpanStatus


def runs_of(statuses: Iterable[tuple[str, str, SpanStatus]]) -> list[RunPayload]:
    """Runs with their workers and spans from (run, worker, status), in their order."""
    listed: dict[str, dict[str, list[SpanStatus]]] = {}
    for run, worker, status in statuses:
        listed.setdefault(run, {}).setdefault(worker, []).append(status)
    return [
        RunPayload(run, [WorkerPayload(name, spans) for name, spans in workers.items()])
        for run, workers in listed.items()
    ]
