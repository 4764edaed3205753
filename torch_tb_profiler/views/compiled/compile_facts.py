"""Facts on compilation: number, time, and graph breaks.

Definitions: ``docs/views-compiled.md#compilations``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.kernels.compiled.compilations import compilations
from torch_tb_profiler.analysis.kernels.compiled.recompilations_by_step import recompilations
from torch_tb_profiler.analysis.kernels.compiled.regions import (
    REGION,
    break_location,
    compiled_calls,
    resumed_frames,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Fact, Note

NO_REGION = "No compiled region is called in the selection."
_SHOWN = 5


def compile_facts(trace: Trace, in_selection: Bools) -> tuple[Fact, ...]:
    """The figures of what begins in the selection (a mask over slices)."""
    recorded, calls = compilations(trace), compiled_calls(trace)
    chosen = in_selection[recorded.slice]
    waited_ns = int(trace.slices["dur_ns"].to_numpy()[recorded.slice[chosen]].sum())
    regions = (calls.kind == REGION) & in_selection[calls.slice]
    breaks = int(calls.is_resumed[regions].sum()) if regions.any() else None
    return (
        Fact(
            "compilations",
            "Compilations",
            int(chosen.sum()),
            "count",
            None,
            "Number of compilations recorded by Dynamo.",
        ),
        Fact(
            "recompilations",
            "Recompilations",
            int((chosen & recorded.is_again).sum()),
            "count",
            None,
            "Compilations of functions that had been compiled before for other inputs.",
        ),
        Fact(
            "compiling_us",
            "Compiling",
            waited_ns / NS_PER_US,
            "us",
            None,
            "Time the program spent waiting for compilations.",
        ),
        Fact(
            "graph_breaks",
            "Graph breaks",
            breaks,
            "count",
            None,
            "Calls of compiled regions inside others: code that resumes after a graph break.",
            NO_REGION if breaks is None else None,
        ),
    )


def compile_notes(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """Notes on compilations in steady steps, and on where code resumes after graph breaks."""
    return (*_again(trace, selection), *_breaks(trace))


def _again(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    recorded = recompilations(trace)
    # The first step of a process compiles what the program begins with.
    is_first = trace.steps["process"].is_first_distinct().to_numpy()
    steady = np.flatnonzero(selected_steps(trace, selection) & ~is_first)
    steps = steady[recorded.compilations[steady] > 0]
    if not len(steps):
        return ()
    count, again = int(recorded.compilations[steps].sum()), int(recorded.again[steps].sum())
    waited_s = int(recorded.compiling_ns[steps].sum()) / 1e9
    names = ", ".join(trace.steps["name"].to_list()[step] for step in steps[:_SHOWN].tolist())
    text = (
        f"{count:,} compilations in {len(steps):,} of {len(steady):,} steps after the first took "
        f"{waited_s:,.3g} s (steps {names}{_more(steps)}). "
    )
    text += (
        f"{again:,} of them recompiled code for other inputs: check which shapes change there, "
        "mark them with torch._dynamo.mark_dynamic or pad them, and run with "
        "TORCH_LOGS=recompiles to see the guard that failed."
        if again
        else "Before measuring, warm up with all shapes that the program uses."
    )
    evidence: dict[str, object] = {
        "title": "Compilations in steady steps",
        "compilations": count,
        "again": again,
        "waited_s": waited_s,
        "steps": [trace.steps["name"].to_list()[step] for step in steps[:_SHOWN].tolist()],
    }
    return (Note("advice", "steady_compilations", "warning", text, evidence),)


def _more(steps: Int64) -> str:
    return f" and {len(steps) - _SHOWN:,} more" if len(steps) > _SHOWN else ""


def _breaks(trace: Trace) -> tuple[Note, ...]:
    frames = resumed_frames(trace)
    if frames.is_empty():
        return ()
    counts = frames["code"].value_counts(sort=True)
    locations = []
    for code, count in counts.head(_SHOWN).iter_rows():
        location = break_location(str(trace.strings[code]))
        if location is not None:
            locations.append(f"{location[0]} at line {location[1]} ({count:,} calls)")
    text = f"Compiled code resumes after graph breaks in {', '.join(locations)}."
    evidence: dict[str, object] = {"places": locations, "count": frames.height}
    return (Note("quality", "graph_break_places", "info", text, evidence),)
