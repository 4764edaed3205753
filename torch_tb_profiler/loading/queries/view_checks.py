"""What is checked and noted of every view before it is computed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import check_phase
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.schema import Note, View
from torch_tb_profiler.views.spec import ViewSpec

PHASE_IGNORED = "phase_not_narrowing"
"""Code of the note that a view covers whole steps, whatever phase is selected."""


def drop_unsupported_phase(
    spec: ViewSpec, selection: Selection
) -> tuple[Selection, tuple[Note, ...]]:
    """The selection for ``spec``, and a note if its phase does not apply: a view of stretches of
    time (steps, memory, ranks) covers whole steps.

    Raises:
        SelectionError: there is no such phase.
    """
    if selection.phase is None:
        return selection, ()
    check_phase(selection)
    if spec.by_phase:
        return selection, ()
    text = (
        f"{spec.title} covers whole steps: the phase {selection.phase} does not apply to it. It "
        "applies to operators and kernels."
    )
    note = Note("quality", PHASE_IGNORED, "info", text, {"phase": selection.phase})
    return replace(selection, phase=None), (note,)


def with_leading_notes(view: View, phase_notes: tuple[Note, ...]) -> View:
    """``view`` with these notes first."""
    return replace(view, notes=phase_notes + view.notes) if phase_notes else view


def check_group_by(spec: ViewSpec, selection: Selection) -> None:
    """Refuse a grouping that a view does not have.

    Raises:
        RequestError: it has no such grouping.
    """
    chosen = selection.group_by
    if chosen and spec.group_bys and chosen not in spec.group_bys:
        raise RequestError(
            "bad_parameter",
            f"group_by: {spec.name} cannot be grouped by {chosen[:80]!r}.",
            f"Known are {', '.join(spec.group_bys)}.",
        )


def check_available(spec: ViewSpec, reasons: Iterable[str | None]) -> None:
    """Raise an error if every one of ``reasons`` states that the view has no data; those after the
    first that does not are not looked at."""
    stated: list[str] = []
    for reason in reasons:
        if reason is None:
            return
        stated.append(reason)
    raise RequestError("view_unavailable", f"{spec.title}: {stated[0]}")


def with_names(subject: Subject, file: SpanFile) -> Subject:
    """``subject`` with the names of ``file``."""
    return replace(subject, run=file.run, worker=file.worker, span=file.span)
