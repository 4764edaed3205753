"""What is not recognized, what follows for times of communication, and the user's own rules.

Definitions: ``docs/metrics.md#what-is-not-recognized``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import total_within, union, union_all
from torch_tb_profiler.analysis.communication.certainty import (
    communication_certainty,
    may_communicate,
)
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.analysis.recording.kernel_kinds import RecognizedBy
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import mean_microseconds
from torch_tb_profiler.views.quality_notes import listed
from torch_tb_profiler.views.schema import Fact, Note, Severity

RULES = Fact(
    "kernel_rules",
    "Your kernel rules",
    None,
    None,
    None,
    "File with your own rules for kernels, which are tried before those of this program.",
)

NO_STEP = "The selection contains no step."

COMMUNICATION_KEYS = (
    "communication_us",
    "communication_hidden_us",
    "communication_exposed_us",
    "communication_tail_us",
    "overlap_us",
    "computation_us",
    "kernel_us",
    "compute_utilization_pct",
    "gpu_compute_utilization_pct",
)
"""Columns that would differ if kernels that are not recognized communicated."""


def rules_text(trace: Trace) -> str | None:
    """The file with the number of its rules; None where there are none."""
    rules = user_rules(trace)
    count = len(rules.rules)
    if not count:
        return None
    return f"{rules.source} ({count} {'rule' if count == 1 else 'rules'})"


def rules_fact(trace: Trace) -> Fact:
    """The fact :data:`RULES`; without rules its reason says where they would be."""
    rules, text = user_rules(trace), rules_text(trace)
    empty = rules.problem or f"None yet: they are looked for in {rules.source or 'rules.toml'}."
    reason = empty if text is None else None
    return Fact(RULES.key, RULES.title, text, RULES.unit, RULES.scope, RULES.help, reason)


def recognition_facts(calls: pl.DataFrame) -> tuple[Fact, ...]:
    """The shares of kernel time in kernels whose Tensor Core use, whose class, or whose
    communication nothing shows.

    Args:
        calls: The selected rows of ``kernel_calls``.
    """
    whole_ns = int(calls["dur_ns"].sum())
    unrecognized = calls["recognized_by"] == RecognizedBy.NOTHING
    return (
        _share(
            "unknown_tensor_core_time_pct",
            "Kernel time with unknown Tensor Core use",
            calls.filter(calls["tensor_core"] == codes.UNKNOWN),
            whole_ns,
            "Share of kernel time in kernels of unknown Tensor Core use.",
        ),
        _share(
            "unknown_class_time_pct",
            "Kernel time of unknown class",
            calls.filter(calls["unknown_class"]),
            whole_ns,
            "Share of kernel time in kernels whose kind of work nothing shows.",
        ),
        _share(
            "unrecognized_time_pct",
            "Kernel time of unrecognized kernels",
            calls.filter(unrecognized),
            whole_ns,
            "Share of kernel time in kernels that neither their name nor what launched them nor "
            "your rules explain: they may compute or communicate.",
        ),
    )


def communication_range_facts(trace: Trace, windows: StepWindows) -> tuple[Fact, ...]:
    """Bounds of the communication of the average step, where kernels that are not recognized may
    hold more of it or all of it; else nothing."""
    certainty = communication_certainty(trace)
    if not (certainty.unrecognized_ns and (certainty.null_reason or certainty.is_lower_bound)):
        return ()
    work = trace.device_work.filter(pl.Series(may_communicate(trace)))
    start = work["start_ns"].to_numpy()
    known = records(trace).intervals()
    perhaps = union_all(known, union(start, start + work["dur_ns"].to_numpy()))
    least, most = (
        mean_microseconds(total_within(when, windows.start_ns, windows.end_ns)[windows.averaged])
        for when in (known, perhaps)
    )
    text = (
        "Time per step in which collectives ran, if {} kernel that is not recognized communicates."
    )
    return (
        Fact(
            "communication_min_us",
            "Communication, at least",
            least,
            "us",
            None,
            text.format("no"),
            NO_STEP if least is None else None,
        ),
        Fact(
            "communication_max_us",
            "Communication, at most",
            most,
            "us",
            None,
            text.format("every"),
            NO_STEP if most is None else None,
        ),
    )


def _share(key: str, title: str, chosen: pl.DataFrame, whole_ns: int, text: str) -> Fact:
    value = int(chosen["dur_ns"].sum()) / whole_ns * 100 if whole_ns else None
    return Fact(key, title, value, "pct", None, text, None if whole_ns else NO_KERNEL_TIME)


def communication_notes(trace: Trace) -> tuple[Note, ...]:
    """Says where times of communication are unknown, or lower bounds."""
    return communication_notes_of_several({"": trace})


def communication_notes_of_several(
    traces: Mapping[str, Trace], one: str = "worker"
) -> tuple[Note, ...]:
    """The same of several traces, in one note each.

    Args:
        traces: By their names; a trace alone has an empty one.
        one: What a trace is here: the evidence lists ``workers``.
    """
    known = {name: communication_certainty(trace) for name, trace in traces.items()}
    unknown = [name for name, each in known.items() if each.null_reason is not None]
    bounds = [name for name, each in known.items() if each.is_lower_bound]
    notes = []
    if unknown:
        reason = known[unknown[0]].null_reason
        text = f"{_whose(unknown)}{reason} Times of communication are unknown, not 0."
        if any(known[name].unrecognized_ns for name in unknown):
            text += " Kernels that are not recognized count as computation."
            notes.append(_note("communication_unknown", "warning", text, unknown, one))
        else:
            notes.append(_note("communication_unknown", "info", text, unknown, one))
    if bounds:
        most_pct = max(known[name].unrecognized_pct for name in bounds)
        severe = most_pct > kernel_file().max_unknown_pct
        text = (
            f"{_whose(bounds)}{most_pct:.1f} % of the kernel time is in kernels that are not "
            "recognized, and the program is distributed: if they communicate, communication takes "
            "longer than shown, and computation less. Kernels lists them, each with a rule to copy."
        )
        severity: Severity = "warning" if severe else "info"
        notes.append(_note("communication_lower_bound", severity, text, bounds, one))
    return tuple(notes)


def _whose(names: list[str]) -> str:
    return f"{listed(names)}: " if names != [""] else ""


def _note(code: str, severity: Severity, text: str, names: list[str], one: str) -> Note:
    evidence: dict[str, object] = {"columns": list(COMMUNICATION_KEYS)}
    if names != [""]:
        evidence |= {f"{one}s": names[:5], f"{one}_count": len(names)}
    return Note("quality", code, severity, text, evidence)
