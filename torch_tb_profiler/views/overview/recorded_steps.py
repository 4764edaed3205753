"""How long steps take by a file of the recording, where no event says where they are."""

from __future__ import annotations

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact


def recorded_step_facts(trace: Trace) -> tuple[Fact, ...]:
    """The steps of a file whose clock the timeline does not share; nothing without such steps.

    The median, as the first step is often recorded in part.
    """
    side = trace.side.get("recorded_step_trace")
    if side is None:
        return ()
    total_us = side.frame["total_us"].drop_nulls()
    total_us = total_us.filter(total_us.is_finite() & (total_us > 0))
    median = total_us.median()
    if not isinstance(median, float):
        return ()
    return (
        Fact(
            "recorded_step_us",
            "Median step time, as recorded",
            median,
            "us",
            None,
            f"Median duration of the {len(total_us):,} steps in {side.source}. Its clock is not "
            "that of the timeline, so where these steps are among the events is unknown.",
        ),
    )
