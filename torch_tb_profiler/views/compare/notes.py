"""What limits a comparison: damage of either recording, steps left out, too few steps."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.quality_notes import (
    LINK_ISSUES,
    STEP_ISSUES,
    listed,
    quality_notes_of_several,
)
from torch_tb_profiler.views.recognition import communication_notes_of_several
from torch_tb_profiler.views.schema import Note

SIDES = ("Baseline", "Candidate")
_ISSUES = (LINK_ISSUES | STEP_ISSUES) - {"device_without_properties"}


def comparison_notes(
    bases: tuple[StepBasis, StepBasis], selections: tuple[Selection, Selection], *, scaled: bool
) -> tuple[Note, ...]:
    """The notes of a comparison.

    Args:
        bases: Baseline and candidate.
        selections: What was asked for of each.
        scaled: Whether values are per step because the sides differ in steps.
    """
    traces = {side: basis.trace for side, basis in zip(SIDES, bases, strict=True)}
    of_sides = (
        *quality_notes_of_several(traces, _ISSUES, "side"),
        *communication_notes_of_several(traces, "side"),
    )
    return (
        *(replace(note, evidence=_of_sides(note.evidence)) for note in of_sides),
        *_step_notes(bases, selections, scaled),
    )


def _of_sides(evidence: dict[str, object]) -> dict[str, object]:
    """The evidence with the columns of the sides it is about, and of their differences; unchanged
    where it is about none."""
    if "sides" not in evidence:
        return evidence
    sides = [side.lower() for side in cast(list[str], evidence["sides"])]
    keys = cast(list[str], evidence["columns"])
    columns = [f"{side}_{key}" for key in keys for side in (*sides, "delta")]
    return evidence | {"sides": sides, "columns": columns}


def _step_notes(
    bases: tuple[StepBasis, StepBasis], selections: tuple[Selection, Selection], scaled: bool
) -> list[Note]:
    notes: list[Note] = []
    counts = [len(basis.rows) for basis in bases]
    evidence: dict[str, object] = {"baseline_steps": counts[0], "candidate_steps": counts[1]}
    if scaled:
        text = (
            "Values are per step, because the sides have different numbers of steps or partial "
            f"ones: {counts[0]} in the baseline, {counts[1]} in the candidate."
        )
        notes.append(Note("quality", "per_step", "info", text, evidence))
    if min(basis.observations for basis in bases) < 2:
        text = "A side has fewer than two whole steps: differences are shown without confidence."
        notes.append(Note("quality", "too_few_steps", "warning", text, evidence))
    windows = {
        side: step_windows(basis.trace, selection)
        for side, basis, selection in zip(SIDES, bases, selections, strict=True)
    }
    cut = {side: of_side.cut for side, of_side in windows.items() if of_side.cut}
    if cut:
        text = (
            "These steps are only partly selected or recorded. They do not count for "
            f"confidence, and count in averages only if a side has no whole step: {_listed(cut)}."
        )
        steps = {side.lower(): names for side, names in cut.items()}
        notes.append(Note("quality", "step_cut", "info", text, {"steps": steps}))
    left_out = {
        side: names
        for side, basis, selection in zip(SIDES, bases, selections, strict=True)
        if (names := step_windows(basis.trace, selection).left_out)
    }
    if left_out:
        listed = "; ".join(f"{side}: step {', '.join(names)}" for side, names in left_out.items())
        text = f"Not in steps and averages, because the recording ended within them: {listed}."
        steps = {side.lower(): names for side, names in left_out.items()}
        notes.append(Note("quality", "step_left_out", "info", text, {"steps": steps}))
    return notes


def _listed(steps: dict[str, list[str]]) -> str:
    return "; ".join(f"{side}: step {listed(names)}" for side, names in steps.items())
