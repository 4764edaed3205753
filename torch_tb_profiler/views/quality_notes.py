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


def quality_notes(trace: Trace, codes: Collection[str] | None = None) -> tuple[Note, ...]:
    """One note per issue of the trace, all or those in ``codes``, warnings first."""
    notes = [
        Note(
            kind="quality",
            code=code,
            severity="info" if code in HARMLESS else "warning",
            text=ISSUE_TEXTS[code],
            evidence={"count": count, "examples": list(trace.quality.examples.get(code, ()))},
        )
        for code, count in trace.quality.counts.items()
        if codes is None or code in codes
    ]
    return tuple(sorted(notes, key=lambda note: note.severity != "warning"))
