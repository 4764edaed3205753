"""What there is, as far as is known now."""

from __future__ import annotations

import time
from collections.abc import Iterable

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.places import Silence
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import RunsAnswer, SilentPlacePayload, runs_of


def runs_answer(catalog: Catalog, *, wait_s: float | None = 0.0) -> RunsAnswer:
    """Every run with its workers and their spans as they are now.

    Args:
        catalog: What knows them.
        wait_s: How long to wait for the first scans; None for as long as they take.
    """
    contents = catalog.contents(wait_s)
    return RunsAnswer(
        discovering=catalog.discovering,
        runs=runs_of(catalog.statuses()),
        notes=contents.notes,
        problem=None if contents.problem is None else Problem.of(contents.problem),
        silent_places=_silent_places(catalog.silences),
    )


def _silent_places(silences: Iterable[Silence]) -> list[SilentPlacePayload]:
    """The places that do not answer, with times counted from now."""
    now_s = time.monotonic()
    return [
        SilentPlacePayload(
            place=silence.place.shown_url,
            silent_s=round(now_s - silence.since_s, 1),
            next_try_s=round(max(0.0, silence.next_try_s - now_s), 1),
            error=Problem.of(silence.problem),
        )
        for silence in silences
    ]
