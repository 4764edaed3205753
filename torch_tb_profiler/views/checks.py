"""The table of what was looked for: part of the views that findings belong to, and filled with
them."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

FOUND = "found"
NOTHING = "nothing found"
NOT_TOLD = "cannot be told"

CHECKED = TableSpec(
    "checked",
    "What was checked",
    "One row per rule that looks for something to change, whether it found something or not.",
    (
        Column("check", "Check", "string", None, "What the rule looks for."),
        Column(
            "outcome",
            "Outcome",
            "string",
            None,
            f"'{FOUND}': it is among the findings. '{NOTHING}': its value does not cross the "
            "threshold, or a finding tells the cause of what it would speak of. "
            f"'{NOT_TOLD}': the recording lacks what the rule needs.",
        ),
        Column(
            "reason",
            "Why",
            "string",
            None,
            "Why it cannot be told, or with which finding it is told.",
        ),
        Column("measured", "Measured", "string", None, "The value that crossed the threshold."),
        Column("threshold", "Threshold", "string", None, "The value it has to cross."),
        Column("code", "Code", "string", None, "Stable name of the rule."),
    ),
)
