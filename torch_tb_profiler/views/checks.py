"""The table of checks: every detector with its outcome.

Views that show findings declare it; ``evidence.report`` fills it together with the findings.
"""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

ISSUE = "issue"
PASSED = "passed"
INCONCLUSIVE = "not enough data"

CHECKED = TableSpec(
    "checked",
    "Checks",
    "One row per detector, whether it reported an issue or not.",
    (
        Column("check", "Check", "string", None, "What the detector checks."),
        Column(
            "outcome",
            "Outcome",
            "string",
            None,
            f"'{ISSUE}': it is among the findings. '{PASSED}': the value does not exceed the "
            "threshold, or another finding already covers it. "
            f"'{INCONCLUSIVE}': the recording lacks data that the detector needs.",
        ),
        Column(
            "reason",
            "Reason",
            "string",
            None,
            "What data is missing, or which finding covers the issue.",
        ),
        Column(
            "measured",
            "Measured",
            "string",
            None,
            "The measured value, if it exceeds the threshold.",
        ),
        Column("threshold", "Threshold", "string", None, "Threshold for the measured value."),
        Column("code", "Code", "string", None, "Stable name of the detector."),
    ),
)
