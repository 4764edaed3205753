"""What views of a whole run say where its folder holds recordings of several programs.

Rules: ``docs/views-ranks.md#several-programs``.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.quality_notes import listed
from torch_tb_profiler.views.schema import Note, View

SEVERAL_PROGRAMS = "several_programs"
UNASSIGNED = "program_unknown"
SEVERAL_SIZES = "The programs of this folder have different world sizes."
_NOT_COMPARED = "They are not compared with each other."
_MAX_PROGRAMS = 6
"""Of more programs the first are named."""


def program_notes(traces: Mapping[str, Trace], shown: Mapping[str, Trace]) -> tuple[Note, ...]:
    """That the recordings are of several programs, and which workers may be of any.

    Args:
        traces: All recordings of the run.
        shown: Those that the view is about: all, or those of one program.
    """
    known = programs(traces)
    sure = [names for names in known.workers if names[0] not in known.unassigned]
    notes = []
    if len(sure) > 1:
        parts = [
            f"program {number}: {_program_text(names, traces)}"
            for number, names in enumerate(sure[:_MAX_PROGRAMS], 1)
        ]
        more = f"; and {len(sure) - len(parts)} more" if len(sure) > len(parts) else ""
        text = (
            f"This folder holds recordings of {len(sure)} different programs ({'; '.join(parts)}"
            f"{more}). {_NOT_COMPARED}{_shown_text(traces, shown, sure)}"
        )
        evidence: dict[str, object] = {"programs": sure}
        notes.append(Note("quality", SEVERAL_PROGRAMS, "warning", text, evidence))
    if known.unassigned:
        text = (
            f"Nothing recorded says which program {listed(known.unassigned)} "
            f"{'is' if len(known.unassigned) == 1 else 'are'} of, as ranks appear several times: "
            "compared with no other."
        )
        evidence = {"workers": known.unassigned}
        notes.append(Note("quality", UNASSIGNED, "warning", text, evidence))
    return tuple(notes)


def _shown_text(
    traces: Mapping[str, Trace], shown: Mapping[str, Trace], sure: list[list[str]]
) -> str:
    if len(shown) == len(traces):
        return ""
    number = next((row for row, names in enumerate(sure, 1) if names[0] in shown), None)
    which = f"program {number}" if number is not None else listed(list(shown))
    return f" Shown is {which}; a folder for each program shows them all."


def _program_text(names: list[str], traces: Mapping[str, Trace]) -> str:
    sizes = {size for name in names if (size := world_size(traces[name])) is not None}
    ranks = f" ({len(names)} of {max(sizes)} ranks)" if sizes and max(sizes) > 1 else ""
    return f"{listed(names)}{ranks}"


def program_of(traces: Mapping[str, Trace]) -> dict[str, int]:
    """Per worker the number of its program as notes have it; empty where there is one."""
    known = programs(traces)
    sure = [names for names in known.workers if names[0] not in known.unassigned]
    if len(sure) < 2:
        return {}
    return {name: number for number, names in enumerate(sure, 1) for name in names}


def largest_program(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """The recordings of the program of most workers, the first of several such: of views that
    describe one job."""
    return max(programs(traces).parts(traces), key=len)


def job_ranks(traces: Mapping[str, Trace]) -> tuple[int | None, str | None]:
    """The number of ranks of the job as recorded, or why there is none."""
    sizes = [size for trace in traces.values() if (size := world_size(trace)) is not None]
    if len(set(sizes)) > 1 and program_of(traces):
        return None, SEVERAL_SIZES
    ranks = max(sizes, default=None)
    return ranks, None if ranks is not None else "The world size was not recorded."


def programs_sentence(view: View) -> str | None:
    """That the recordings are of several programs, for an answer; None where they are of one."""
    note = next((each for each in view.notes if each.code == SEVERAL_PROGRAMS), None)
    parts = note.evidence["programs"] if note is not None else None
    if not isinstance(parts, list):
        return None
    return f"This folder holds {len(parts)} different programs. {_NOT_COMPARED}"
