"""Whether the communication that nothing hides has a cause that a finding of its own tells."""

from __future__ import annotations

from torch_tb_profiler.advice import (
    buffer_broadcasts,
    inference_all_reduce,
    small_collectives,
    waiting_ranks,
)
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.exposure import MOSTLY, Exposure
from torch_tb_profiler.analysis.algebra.intervals import total

CAUSES = (waiting_ranks, small_collectives, buffer_broadcasts, inference_all_reduce)


def told_by_its_cause(context: Context, found: Exposure) -> bool:
    """Whether one of these findings means most of the exposed time: to communicate less, or
    earlier, would be the wrong remedy there."""
    most_ns = MOSTLY * total(found.time)
    findings = (cause.detect(context) for cause in CAUSES)
    return any(
        finding is not None and finding.time is not None and total(finding.time) > most_ns
        for finding in findings
    )
