"""The quality report of a trace as notes beside the numbers they concern."""

from __future__ import annotations

from collections.abc import Collection

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.schema import Note

HARMLESS = frozenset(
    {
        "control_characters",
        "duplicate_correlation",
        "empty_event",
        "external_id_untrusted",
        "no_steps",
        "quote_repaired",
        "step_left_out",
        "string_time",
        "trailing_comma",
        "trailing_data",
        "utf16",
    }
)
"""Issues that cost no event and bend no number; the others are warnings."""

LINK_ISSUES = frozenset(
    {
        "device_without_properties",
        "duplicate_correlation",
        "event_dropped",
        "external_id_untrusted",
        "gzip_corrupt",
        "gzip_truncated",
        "huge_duration",
        "kernel_without_launch",
        "launch_without_kernel",
        "launch_without_operator",
        "missing_duration",
        "negative_duration",
        "overlapping_slices",
        "truncated",
    }
)
"""Issues that concern the numbers of operators and kernels."""

_DEVICE_TIME = ("device_self_us", "device_total_us")
_HOST_TIME = ("host_self_us", "host_total_us")

ISSUE_COLUMNS: dict[str, tuple[str, ...]] = {
    "device_without_properties": ("est_sm_efficiency_pct", "est_achieved_occupancy_pct"),
    "huge_duration": (*_HOST_TIME, "total_us", "max_us"),
    "kernel_without_launch": (*_DEVICE_TIME, "operator"),
    "launch_without_kernel": _DEVICE_TIME,
    "launch_without_operator": (*_DEVICE_TIME, "operator"),
    "missing_duration": (*_HOST_TIME, "total_us", "min_us"),
    "negative_duration": (*_HOST_TIME, "total_us", "min_us"),
    "no_steps": ("average_step_us", "step_count", "step"),
    "overlapping_slices": _HOST_TIME,
    "step_left_out": ("average_step_us", "step_count", "step"),
}
"""Columns and facts an issue bends, marked in the pages; the others concern the whole file."""


def quality_notes(trace: Trace, codes: Collection[str] | None = None) -> tuple[Note, ...]:
    """One note per issue of the trace, all or those in ``codes``, warnings first."""
    notes = [
        Note(
            kind="quality",
            code=code,
            severity="info" if code in HARMLESS else "warning",
            text=ISSUE_TEXTS[code],
            evidence={
                "count": count,
                "examples": list(trace.quality.examples.get(code, ())),
                "columns": list(ISSUE_COLUMNS.get(code, ())),
            },
        )
        for code, count in trace.quality.counts.items()
        if codes is None or code in codes
    ]
    return tuple(sorted(notes, key=lambda note: note.severity != "warning"))
