"""What the recorder complained of: how often, and known causes. Its texts hold paths and command
lines, and are shown nowhere."""

from __future__ import annotations

import re

from torch_tb_profiler.importers.nsys.export import Export

DIAGNOSTICS = "DIAGNOSTIC_EVENT"
WARNING, ERROR = 2, 3

CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "nsys_events_dropped",
        re.compile(
            r"dropped|(?:were|was|events|data|records) lost|lost (?:\d+ )?(?:events|records)"
            r"|buffers? (?:was|were|is) (?:full|exhausted)|out of (?:trace )?buffers?"
            r"|not all .* (?:events|data) (?:might|may|were|was)",
            re.IGNORECASE,
        ),
    ),
)
"""Quality code → what the text of a warning says."""

SEVERITIES = {WARNING: "nsys_warnings", ERROR: "nsys_errors"}


def count_diagnostics(export: Export) -> None:
    """Count warnings and errors; those of a known cause under it."""
    if DIAGNOSTICS not in export.database.tables:
        return
    for severity, text in export.database.rows(DIAGNOSTICS, ("severity", "text")):
        if severity not in SEVERITIES:
            continue
        words = text if isinstance(text, str) else ""
        code = next((code for code, cause in CAUSES if cause.search(words)), SEVERITIES[severity])
        export.quality.add(code)
