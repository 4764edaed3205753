"""The view ``phases``: what the steps were for, the step trace, and summaries by type of event.

Definitions: ``docs/views-phases.md``.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.selection import SHOWN_CHARACTERS, Selection
from torch_tb_profiler.analysis.steps.masks import boundaries
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases
from torch_tb_profiler.analysis.steps.phases.evidence import (
    DETECTED_PHASES,
    SOURCE_TITLES,
    UNKNOWN,
    Phase,
    marks,
    serving_ranges,
)
from torch_tb_profiler.analysis.steps.phases.segments import process_stretches
from torch_tb_profiler.analysis.steps.phases.step_trace import step_trace
from torch_tb_profiler.analysis.steps.phases.times import (
    PhaseWork,
    host_steps,
    phase_calls,
    phase_work,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.backward_note import backward_note
from torch_tb_profiler.views.null_reasons import memory_alone
from torch_tb_profiler.views.phases import PARAMETERS
from torch_tb_profiler.views.phases.answer import answer
from torch_tb_profiler.views.phases.phase_rows import PHASES, phases_table
from torch_tb_profiler.views.phases.recorded_differences import difference_notes
from torch_tb_profiler.views.phases.recorded_steps import (
    RECORDED_STEP_TRACE,
    RECORDED_STEPS,
    recorded_series,
    recorded_step_tables,
)
from torch_tb_profiler.views.phases.serving import SERVING_WINDOWS, serving_table
from torch_tb_profiler.views.phases.step_trace import (
    STEP_TRACE,
    side_fact,
    step_trace_series,
    step_trace_table,
)
from torch_tb_profiler.views.phases.summaries import EVENT_TYPES, MEMORY_OPERATIONS, USER_RANGES
from torch_tb_profiler.views.quality_notes import quality_notes
from torch_tb_profiler.views.recognition import communication_notes
from torch_tb_profiler.views.recorded import recorded_frame
from torch_tb_profiler.views.schema import Fact, Note, View
from torch_tb_profiler.views.spec import ViewSpec

_MISSING = {
    Phase.DATALOADER: "no range of a data loader",
    Phase.FORWARD: "no call of a module, no operator of a backward pass and no range of a forward "
    "pass",
    Phase.BACKWARD: "no autograd node and no range of a backward pass (it may be inference)",
    Phase.OPTIMIZER: "no range of an optimizer",
}


def phases(trace: Trace, selection: Selection, *, domain: str | None = None) -> View:
    """The phases of the selected steps, and the summaries of what is selected; user ranges of one
    domain where it is given.

    Raises:
        SelectionError: steps, a phase or a border that are not in this trace.
    """
    whole = replace(selection, phase=None)
    steps = host_steps(trace, whole)
    calls = phase_calls(trace, whole, steps)
    work = phase_work(trace, whole, steps, calls)
    unknown = _unknown(trace, selection)
    parts = step_trace(trace, whole, steps, calls, work)
    step_table = step_trace_table(trace, parts, unknown)
    tables = [
        phases_table(trace, steps, calls, work, unknown),
        step_table,
        summed_rows.event_types_table(EVENT_TYPES, trace, selection),
        summed_rows.memory_operations_table(MEMORY_OPERATIONS, trace, selection),
        summed_rows.user_ranges_table(USER_RANGES, trace, selection, domain=domain),
    ]
    if len(serving_ranges(trace)):
        tables.append(serving_table(trace, selection))
    recorded = recorded_step_tables(trace, whole, parts)
    tables += recorded
    notes = (
        *quality_notes(trace),
        *communication_notes(trace),
        *_notes(trace, selection, work),
        *backward_note(trace, selection),
        *difference_notes(recorded),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        series={"step_parts": step_trace_series(step_table)} | recorded_series(recorded),
        facts=(*_source_facts(trace, selection), side_fact(parts)),
        notes=notes,
    )


def _unknown(trace: Trace, selection: Selection) -> dict[Phase, str]:
    """The phases that the recording has no evidence of, and why."""
    reason = no_phases(trace)
    if reason is not None and not boundaries(selection).given:
        return dict.fromkeys(Phase, reason)
    known = set(distinct_values(marks(trace).phase).tolist())
    if _is_before_backward(trace):
        known.add(Phase.FORWARD)
    if selection.forward_start is not None:
        known.add(Phase.FORWARD)
    return {
        phase: f"The recording holds {_MISSING[phase]}."
        for phase in DETECTED_PHASES
        if phase not in known
    }


def _is_before_backward(trace: Trace) -> bool:
    """Whether forward is known only as the time before the backward pass."""
    if np.any(marks(trace).phase == Phase.FORWARD):
        return False
    stretches = process_stretches(trace).get(-1)
    return stretches is not None and bool(np.any(stretches.phase == Phase.FORWARD))


def _source_facts(trace: Trace, selection: Selection) -> tuple[Fact, ...]:
    """The evidence of each phase."""
    given = {
        Phase.FORWARD: ("begins with", selection.forward_start),
        Phase.BACKWARD: ("ends with", selection.backward_end),
    }
    unknown = _unknown(trace, selection)
    facts = []
    for phase in DETECTED_PHASES:
        title = "Data loading" if phase is Phase.DATALOADER else phase.name.capitalize()
        sources = marks(trace).sources_of(phase)
        texts = [f"{SOURCE_TITLES[source]} ({count:,})" for source, count in sources.items()]
        if phase is Phase.FORWARD and _is_before_backward(trace):
            texts.append("time before the backward pass")
        how, name = given.get(phase, ("", None))
        if name is not None:
            texts.append(f"{how} {name}, as requested")
        facts.append(
            Fact(
                f"{phase.name.lower()}_found_by",
                f"{title} detected by",
                ", ".join(texts) or None,
                None,
                None,
                f"Source of the boundaries of {title.lower()} in the recording, and the number "
                "of slices.",
                None if texts else unknown.get(phase),
            )
        )
    return tuple(facts)


def _notes(trace: Trace, selection: Selection, work: PhaseWork) -> tuple[Note, ...]:
    notes = []
    if selection.phase is not None:
        notes.append(
            Note(
                "quality",
                "phase_not_narrowing",
                "info",
                f"Phases and step trace show all phases; the phase {selection.phase} restricts "
                "the other tables only.",
                {"phase": selection.phase},
            )
        )
    if selection.backward_end is not None and Phase.BACKWARD in _unknown(trace, selection):
        notes.append(
            Note(
                "quality",
                "passes_not_divided",
                "info",
                "Nothing in the recording shows where backward begins: forward lasts until "
                f"{selection.backward_end[:SHOWN_CHARACTERS]} ends, and holds both passes.",
                {"columns": ["forward_us", "backward_us"]},
            )
        )
    lost = work.row[work.phase == UNKNOWN]
    if len(lost) and no_phases(trace) is None:
        lost_us = int(trace.device_work["dur_ns"].to_numpy()[lost].sum()) / NS_PER_US
        notes.append(
            Note(
                "quality",
                "work_without_phase",
                "info",
                f"{len(lost):,} kernels, copies and memsets ({lost_us:,.0f} µs) have no phase "
                "because their launch is not known. They are in the row of the step only.",
                {"count": len(lost), "device_us": lost_us, "columns": ["gpu_total_us"]},
            )
        )
    return tuple(notes)


NO_EVENTS = "The recording holds no events."


def _missing(trace: Trace) -> str | None:
    names = (RECORDED_STEPS.name, RECORDED_STEP_TRACE.name)
    has_files = any(recorded_frame(trace, name) is not None for name in names)
    if trace.slices.is_empty() and not has_files:
        return NO_EVENTS
    return memory_alone(trace)


SPEC = ViewSpec(
    name="phases",
    title="Steps: Phases",
    help="How do the steps divide into data loading, forward, backward and optimizer?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(
        PHASES,
        STEP_TRACE,
        EVENT_TYPES,
        MEMORY_OPERATIONS,
        USER_RANGES,
        SERVING_WINDOWS,
        RECORDED_STEPS,
        RECORDED_STEP_TRACE,
    ),
    function=phases,
    missing=_missing,
    by_phase=True,
    answer=answer,
)
