"""Notes on how a recording was split into iterations other than its recorded steps."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from torch_tb_profiler.analysis.steps.iterations.split import IterationSplit, split_of
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

_SHOWN = 80


def cut_notes(trace: Trace) -> tuple[Note, ...]:
    """How ``trace`` was cut; nothing where its steps are its own."""
    how = split_of(trace)
    if how.calls is None:
        return ()
    count = trace.steps.height
    if how.by.kind not in ("name", "start"):
        text = f"No iterations detected. {how.reason or ''}".strip()
    else:
        edge = "start" if how.by.kind == "start" else "end"
        text = (
            f"Iterations split at each {edge} of {how.by.name[:_SHOWN]!r}, called {_times(how)}: "
            f"{count} iterations, including the part before the first and after the last."
        )
        if how.is_default:
            text = f"The recording names no steps. {text} Chosen because {how.reason}."
        elif how.reason is not None:
            text += f" Chosen as the best candidate: {how.reason}."
    evidence: dict[str, object] = {
        "iterations_by": f"{how.by.kind}:{how.by.name}" if how.by.name else how.by.kind,
        "calls": how.calls,
        "iterations": count,
        "is_default": how.is_default,
    }
    return (Note("quality", "iterations_cut", "info", text, evidence),)


def cut_notes_of_ranks(traces: Mapping[str, Trace]) -> tuple[Note, ...]:
    """How the recordings of a run were cut, in one note."""
    notes = {worker: cut_notes(trace) for worker, trace in traces.items()}
    calls = {worker: split_of(trace).calls or 0 for worker, trace in traces.items()}
    first_notes = next((note for note in notes.values() if note), ())
    if (
        not first_notes
        or len(traces) < 2
        or split_of(next(iter(traces.values()))).by.kind == "auto"
    ):
        return first_notes
    by = split_of(next(iter(traces.values()))).by
    edge = "start" if by.kind == "start" else "end"
    if len({count for count in calls.values() if count}) == 1:
        text = (
            f"Iterations split where the last rank reached each {edge} of {by.name[:_SHOWN]!r}, "
            f"with clocks aligned: {max(calls.values())} calls on each rank that has it."
        )
    else:
        text = (
            f"The ranks call {by.name[:_SHOWN]!r} {min(calls.values())} to {max(calls.values())} "
            f"times: each {edge} on any rank splits all ranks, with clocks aligned."
        )
    return (
        Note(
            "quality", "iterations_cut", "info", text, {**first_notes[0].evidence, "calls": calls}
        ),
    )


def cut_notes_of_sides(baseline: Trace, candidate: Trace) -> tuple[Note, ...]:
    """How the two recordings of a comparison were cut, each in its note."""
    return tuple(
        replace(note, text=f"{side}: {note.text}")
        for side, trace in (("Baseline", baseline), ("Candidate", candidate))
        for note in cut_notes(trace)
    )


def _times(how: IterationSplit) -> str:
    return "once" if how.calls == 1 else f"{how.calls} times"
