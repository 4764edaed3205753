"""Answer requests for the known runs, and open skipped files."""

from __future__ import annotations

import time
from collections.abc import Iterable

from torch_tb_profiler.importers import RecordingPart
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.roots import Outage
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.runs import (
    LeftOutPayload,
    OpenAnswer,
    RunsAnswer,
    SilentPlacePayload,
    runs_of,
)


def runs_answer(catalog: Catalog, *, wait_s: float | None = 0.0) -> RunsAnswer:
    """Every run with its workers and the current status of their spans.

    Args:
        catalog: The catalog of the runs.
        wait_s: How long to wait for the first scans; None for as long as they take.
    """
    contents = catalog.contents(wait_s)
    return RunsAnswer(
        discovering=catalog.discovering,
        runs=runs_of(catalog.statuses()),
        notes=contents.notes,
        problem=None if contents.problem is None else Problem.of(contents.problem),
        silent_places=_outages(catalog.outages),
        left_out=[
            LeftOutPayload(skipped.name, skipped.reason, skipped.text, skipped.can_open)
            for skipped in contents.skipped
        ],
        left_out_counts=dict(contents.skipped_counts),
    )


def open_answer(catalog: Catalog, name: str, *, wait_s: float | None = 0.0) -> OpenAnswer:
    """The span of a skipped file, which counts as a trace from now on.

    Args:
        catalog: The catalog of the file.
        name: Its path, as listed by ``/runs``.
        wait_s: How long to wait for a scan; None for as long as it takes.

    Raises:
        UnknownError: no skipped file has that name.
        NotReadyError: the scan is not complete in time.
    """
    file = catalog.open_skipped(name, wait_s)
    return OpenAnswer(run=file.run, worker=file.worker, span=file.span)


def part_answer(
    catalog: Catalog,
    subject: Subject,
    part: RecordingPart | None,
    *,
    wait_s: float | None = 0.0,
) -> OpenAnswer:
    """The span of a file of which only a part is read from now on.

    Args:
        catalog: The catalog of the file.
        subject: Its run, worker and span.
        part: The part; None for all of it.
        wait_s: How long to wait for a scan; None for as long as it takes.

    Raises:
        UnknownError: there is no such span.
        NotReadyError: the scan is not complete in time.
    """
    file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
    file = catalog.read_part(file, part)
    return OpenAnswer(run=file.run, worker=file.worker, span=file.span)


def _outages(outages: Iterable[Outage]) -> list[SilentPlacePayload]:
    """The roots that do not respond, with times relative to now."""
    now_s = time.monotonic()
    return [
        SilentPlacePayload(
            place=outage.root.shown_url,
            silent_s=round(now_s - outage.since_s, 1),
            next_try_s=round(max(0.0, outage.next_try_s - now_s), 1),
            error=Problem.of(outage.problem),
        )
        for outage in outages
    ]
