"""A phase that is asked for of a view that it cannot narrow."""

from __future__ import annotations

from dataclasses import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import check_phase
from torch_tb_profiler.views.schema import Note
from torch_tb_profiler.views.spec import ViewSpec


def without_phase(spec: ViewSpec, selection: Selection) -> tuple[Selection, tuple[Note, ...]]:
    """The selection that ``spec`` is asked with, and what is to be said of it: a view of stretches
    of time (steps, memory, ranks) is that of the whole steps.

    Raises:
        SelectionError: there is no such phase.
    """
    if selection.phase is None:
        return selection, ()
    check_phase(selection)
    if spec.by_phase:
        return selection, ()
    text = (
        f"{spec.title} speaks of whole steps: the phase {selection.phase} does not narrow it. It "
        "narrows operators and kernels."
    )
    note = Note("quality", "phase_not_narrowing", "info", text, {"phase": selection.phase})
    return replace(selection, phase=None), (note,)
