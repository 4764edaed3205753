"""What is wrong with a recording itself, from the notes of its views."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.split import has_recorded_steps
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.knowledge.questions import question_file
from torch_tb_profiler.requests.coverage import RecordingProblem
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note
from torch_tb_profiler.views.without_times import no_timeline

FEW_STEPS = "few_steps"


def recording_problems(trace: Trace, notes: Iterable[Note]) -> tuple[RecordingProblem, ...]:
    """Quality notes that are warnings or concern how was recorded, findings about the recording,
    and few steps; each once, warnings first.

    Args:
        trace: The recording.
        notes: The notes of all of its views, and of those of its run.
    """
    chosen: dict[str, RecordingProblem] = {}
    for note in filter(_is_problem, notes):
        count = note.evidence.get("count")
        chosen.setdefault(
            note.code,
            RecordingProblem(
                note.code, note.severity, note.text, count if isinstance(count, int) else None
            ),
        )
    problems = [*chosen.values(), *_few_steps(trace)]
    return tuple(sorted(problems, key=lambda each: each.severity != "warning"))


def _is_problem(note: Note) -> bool:
    if note.kind == "advice":
        entry = entries().get(note.code)
        return entry is not None and entry.concerns_recording
    return note.severity == "warning" or note.code in question_file().issues


def _few_steps(trace: Trace) -> list[RecordingProblem]:
    """Of a recording that names steps, of which too few are whole."""
    file = question_file()
    if not has_recorded_steps(trace) or no_timeline(trace) is not None:
        return []
    windows = step_windows(trace, Selection())
    steps = int(np.count_nonzero(windows.whole))
    if steps >= file.least_steps:
        return []
    text = file.few_steps.format(steps=steps, noun="step" if steps == 1 else "steps")
    return [RecordingProblem(FEW_STEPS, "info", text, steps)]
