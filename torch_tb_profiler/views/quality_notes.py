"""The quality report of a trace as notes on the numbers that it affects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS, PART_MEANING
from torch_tb_profiler.views.schema import Note, Severity

HARMLESS = frozenset(
    {
        "argument_absent",
        "argument_not_read",
        "ascend_both",
        "ascend_file_missing",
        "ascend_trace",
        "control_characters",
        "device_numbers_matched",
        "duplicate_correlation",
        "empty_event",
        "execution_joined",
        "execution_refused",
        "external_id_untrusted",
        "graph_kernels_at_creation",
        "impossible_measure",
        "journal_no_end",
        "journal_no_header",
        "journal_repeated",
        "journal_unknown",
        "no_steps",
        "nsys_warnings",
        "other_device_files",
        "other_recording_joined",
        "other_recording_not_joined",
        "python_frames_left_out",
        "quote_repaired",
        "range_across_threads",
        "ranges_as_operators",
        "samples_thinned",
        "secret_argument",
        "several_processes",
        "snapshot_joined",
        "snapshot_not_joined",
        "step_left_out",
        "string_time",
        "trailing_comma",
        "trailing_data",
        "unpadded_time",
        "utf16",
    }
)
"""Issues that lose no event and affect no number; all others are warnings."""

LEFT_OUT = "events_left_out"
"""The issue whose text says the share of a file that was not read; it comes first."""

PART = "part_read"
"""The issue whose text says which part of the recording was read; every view has it, and it comes
first."""

CUT_ISSUES = frozenset({"gzip_corrupt", "gzip_truncated", "truncated"})
"""Issues of a recording that is truncated: everything after some point is missing."""

LOSS_ISSUES = CUT_ISSUES | {
    "database_damaged",
    "database_truncated",
    "event_dropped",
    "event_without_time",
    "events_left_out",
    "journal_line",
    "message_damaged",
    "nsys_events_dropped",
    "stray_text",
}
"""Issues by which events are missing: every number of the recording may depend on them."""

_TIME_ISSUES = frozenset({"far_time", "huge_duration", "missing_duration", "negative_duration"})

LINK_ISSUES = (
    LOSS_ISSUES
    | _TIME_ISSUES
    | {
        "argument_value",
        "ascend_link_differs",
        "ascend_overlap_differs",
        "device_without_properties",
        "duplicate_correlation",
        "external_id_untrusted",
        "graph_kernels_at_creation",
        "graph_node_unknown",
        "graph_without_kernels",
        "graph_without_time",
        "impossible_measure",
        "kernel_without_launch",
        "launch_ambiguous",
        "launch_without_kernel",
        "launch_without_operator",
        "overlapping_slices",
        "part_edges",
        "python_frames_left_out",
        "range_across_threads",
        "range_unclosed",
        "ranges_as_operators",
    }
)
"""Issues that concern the numbers of operators and kernels."""

MODULE_ISSUES = LINK_ISSUES - {
    "device_without_properties",
    "impossible_measure",
    "launch_without_operator",
}
"""Issues that concern the numbers of modules, to which launches belong by time."""

ARGUMENT_ISSUES = frozenset(
    {"argument_absent", "argument_not_read", "arguments_left_out", "secret_argument"}
)
"""Issues of arguments that were requested or that no other column models."""

FILE_ISSUES = frozenset({"ascend_file_unreadable", "side_file_unreadable", "side_row_left_out"})
"""Issues by which rows of the recording's own tables are missing."""

MEMORY_ISSUES = (
    LOSS_ISSUES
    | FILE_ISSUES
    | {
        "argument_value",
        "device_numbers_matched",
        "device_numbers_unmatched",
        "device_out_of_range",
        "memory_of_several_processes",
    }
)
"""Issues that concern the numbers of memory."""

STEP_ISSUES = (
    LOSS_ISSUES | _TIME_ISSUES | {"several_processes", "step_duplicate", "steps_without_operators"}
)
"""Issues that concern steps and what ran in them, not who launched it."""

RANK_ISSUES = STEP_ISSUES | {
    "argument_value",
    "communication_unit_unknown",
    "header_value",
    "recorded_mean_differs",
    "side_file_unreadable",
    "side_row_left_out",
}
"""Issues that concern ranks and their collectives."""

_DEVICE_TIME = ("device_self_us", "device_total_us")
_HOST_TIME = ("host_self_us", "host_total_us")

ISSUE_COLUMNS: dict[str, tuple[str, ...]] = {
    "device_without_properties": ("est_sm_efficiency_pct", "est_achieved_occupancy_pct"),
    "graph_kernels_at_creation": (*_DEVICE_TIME, "gpu_time_us"),
    "graph_node_unknown": (*_DEVICE_TIME, "operator"),
    "far_time": (*_HOST_TIME, "total_us", "max_us"),
    "huge_duration": (*_HOST_TIME, "total_us", "max_us"),
    "impossible_measure": (
        "est_sm_efficiency_pct",
        "est_achieved_occupancy_pct",
        "mean_blocks_per_sm",
        "mean_est_achieved_occupancy_pct",
        "total_bytes",
        "rate_gb_per_s",
    ),
    "kernel_without_launch": (*_DEVICE_TIME, "operator"),
    "launch_ambiguous": (*_DEVICE_TIME, "operator"),
    "launch_without_kernel": _DEVICE_TIME,
    "launch_without_operator": (*_DEVICE_TIME, "operator"),
    "missing_duration": (*_HOST_TIME, "total_us", "min_us"),
    "negative_duration": (*_HOST_TIME, "total_us", "min_us"),
    "no_steps": ("average_step_us", "step_count", "step"),
    "overlapping_slices": _HOST_TIME,
    "part_edges": _HOST_TIME,
    "python_frames_left_out": ("call_stack",),
    "range_unclosed": (*_HOST_TIME, "total_us", "max_us"),
    "several_processes": ("average_step_us", "step_count", "step"),
    "step_left_out": ("average_step_us", "step_count", "step"),
}
"""Columns and facts affected by an issue, marked in the pages; all other issues concern the whole
file."""


_ONLY_ON_DEVICES = "All of them are on devices, where work may overlap; no number is affected."
_SHOWN_NAMES = 5


class _Issue(Struct, frozen=True):
    """What an issue means for one trace."""

    code: str
    severity: Severity
    text: str
    columns: tuple[str, ...]


def quality_notes(trace: Trace, codes: Collection[str] | None = None) -> tuple[Note, ...]:
    """One note per issue of the trace, all or those in ``codes``, warnings first; and one where the
    user's rules for kernels are not applied."""
    return _rules_notes(trace) + _serious_first(
        _note(
            issue,
            issue.text,
            {
                "count": trace.quality.counts[issue.code],
                "examples": _examples(trace, issue.code),
            },
        )
        for issue in _issues(trace, codes)
    )


def quality_notes_of_several(
    traces: Mapping[str, Trace], codes: Collection[str], one: str
) -> tuple[Note, ...]:
    """One note per issue of any trace, which names the traces that have it; warnings first.

    Args:
        traces: By their names.
        codes: The issues that matter.
        one: What a trace is here, ``"worker"``: the evidence lists ``workers``, a few of them, and
            says how many there are (``worker_count``).
    """
    having: dict[_Issue, list[str]] = {}
    for name, trace in traces.items():
        for issue in _issues(trace, codes):
            having.setdefault(issue, []).append(name)
    return next(filter(None, map(_rules_notes, traces.values())), ()) + _serious_first(
        _note(
            issue,
            f"{listed(names)}: {issue.text}",
            {
                "count": sum(traces[name].quality.counts[issue.code] for name in names),
                f"{one}s": names[:_SHOWN_NAMES],
                f"{one}_count": len(names),
            },
        )
        for issue, names in having.items()
    )


def is_cut_short(trace: Trace) -> bool:
    """True when the recording is truncated."""
    return not CUT_ISSUES.isdisjoint(trace.quality.counts)


def listed(names: Sequence[str]) -> str:
    """A few of ``names``, and how many more there are."""
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _rules_notes(trace: Trace) -> tuple[Note, ...]:
    """Says that the file of the user's rules was not used, and why."""
    problem = user_rules(trace).problem
    if problem is None:
        return ()
    text = f"Your rules for kernels are not applied. {problem}"
    return (Note("quality", "rules_not_applied", "warning", text, {"columns": []}),)


def _issues(trace: Trace, codes: Collection[str] | None) -> list[_Issue]:
    wanted = None if codes is None else {PART, *codes}
    present = [code for code in trace.quality.counts if wanted is None or code in wanted]
    return [_issue(trace, code) for code in present]


def _issue(trace: Trace, code: str) -> _Issue:
    if code == "overlapping_slices" and _only_devices_overlap(trace):
        return _Issue(code, "info", f"{ISSUE_TEXTS[code]} {_ONLY_ON_DEVICES}", ())
    if code == LEFT_OUT and code in trace.quality.examples:
        text = f"{trace.quality.examples[code][0]} were left out: all numbers cover only the rest."
        return _Issue(code, "warning", text, ())
    if code == PART and code in trace.quality.examples:
        text = f"Only {trace.quality.examples[code][0]} was read, as requested: {PART_MEANING}"
        return _Issue(code, "warning", text, ())
    severity: Severity = "info" if code in HARMLESS else "warning"
    return _Issue(code, severity, ISSUE_TEXTS[code], ISSUE_COLUMNS.get(code, ()))


def _examples(trace: Trace, code: str) -> list[str]:
    """The examples of an issue that its text does not contain."""
    return [] if code in (LEFT_OUT, PART) else list(trace.quality.examples.get(code, ()))


@per_trace
def _only_devices_overlap(trace: Trace) -> bool:
    """Whether all slices that overlap others are on devices."""
    aside = trace.slices.filter(pl.col("lane") > 0)["category"]
    return len(aside) > 0 and bool(aside.is_in(DEVICE_CATEGORIES).all())


def _note(issue: _Issue, text: str, evidence: dict[str, object]) -> Note:
    evidence = evidence | {"columns": list(issue.columns)}
    return Note("quality", issue.code, issue.severity, text, evidence)


def _serious_first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Warnings first, and before them which share of the file they are about."""
    return tuple(
        sorted(
            notes,
            key=lambda note: (note.code != PART, note.code != LEFT_OUT, note.severity != "warning"),
        )
    )
