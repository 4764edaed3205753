"""What loading knows, in the shapes that ``reports.payloads`` declares for the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

from torch_tb_profiler.loading.answering import Answer
from torch_tb_profiler.loading.places import Silence
from torch_tb_profiler.reports.json import payload, selection_payload
from torch_tb_profiler.reports.payloads import (
    BaselineRef,
    ErrorPayload,
    RunPayload,
    SilentPlacePayload,
    SpanPayload,
    TraceRef,
    ViewAnswer,
    WorkerPayload,
)
from torch_tb_profiler.requests.runs import SpanStatus


class Told(Protocol):
    """An error with its code, its text and the next step."""

    @property
    def code(self) -> str:
        """Stable name."""

    @property
    def message(self) -> str:
        """What and why."""

    @property
    def hint(self) -> str | None:
        """The next step."""


def error_payload(problem: Told) -> ErrorPayload:
    """An error as JSON."""
    return ErrorPayload(code=problem.code, message=problem.message, hint=problem.hint)


def span_payload(status: SpanStatus) -> SpanPayload:
    """The state of a span as JSON."""
    return SpanPayload(
        name=status.name,
        file=status.file,
        format=status.format,
        size_bytes=status.size_bytes,
        state=status.state,
        progress=status.progress,
        mb_per_s=status.mb_per_s,
        eta_s=status.eta_s,
        error=None if status.error is None else error_payload(status.error),
        retry_s=status.retry_s,
    )


def runs_payload(statuses: Iterable[tuple[str, str, SpanStatus]]) -> list[RunPayload]:
    """Runs with their workers and spans from (run, worker, status), in their order."""
    listed: dict[str, dict[str, list[SpanPayload]]] = {}
    for run, worker, status in statuses:
        listed.setdefault(run, {}).setdefault(worker, []).append(span_payload(status))
    return [
        RunPayload(
            name=run,
            workers=[WorkerPayload(name=name, spans=spans) for name, spans in workers.items()],
        )
        for run, workers in listed.items()
    ]


def silent_places_payload(silences: Iterable[Silence]) -> list[SilentPlacePayload]:
    """The places that do not answer, with times counted from now."""
    now_s = time.monotonic()
    return [
        SilentPlacePayload(
            place=silence.place.shown_url,
            silent_s=round(now_s - silence.since_s, 1),
            next_try_s=round(max(0.0, silence.next_try_s - now_s), 1),
            error=error_payload(silence.problem),
        )
        for silence in silences
    ]


def view_payload(answered: Answer) -> ViewAnswer:
    """A view as JSON, with the names of what it is about."""
    subject, baseline = answered.subject, answered.baseline
    ref = TraceRef(run=subject.run or "", worker=subject.worker, span=subject.span or "")
    if baseline is not None:
        ref["baseline"] = BaselineRef(
            run=baseline.run or "",
            worker=baseline.worker or "",
            span=baseline.span or "",
            selection=selection_payload(baseline.selection, answered.spec),
        )
    return payload(answered.spec, answered.view, ref, subject.selection)
