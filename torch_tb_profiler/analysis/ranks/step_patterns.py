"""In which steps a cause strikes, and what that is called."""

from __future__ import annotations

from typing import Literal

import numpy as np

from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Float64

StepPattern = Literal["steady", "some steps", "one step", "from a step on"]

STRUCK_SHARE = 0.35
"""A step is struck by at least this share of what the step that is struck most is."""


def struck_steps(values: Float64) -> Bools:
    """In which steps ranks have a good part of their largest excess; of ``[ranks, steps]``."""
    by_step = values.mean(axis=0)
    struck: Bools = by_step > STRUCK_SHARE * by_step.max()
    return struck


def step_pattern(steps: Bools) -> StepPattern | None:
    """What struck steps (a mask) look like; None of a single step."""
    count, struck = len(steps), int(steps.sum())
    if count == 1:
        return None
    if struck * 100 >= rank_causes_file().limits.steady_pct * count:
        if not steps[0] and steps[1:].all():
            return "from a step on"
        return "steady"
    if struck == 1:
        return "one step"
    first = int(np.argmax(steps))
    return "from a step on" if steps[first:].all() else "some steps"
