"""Holds a training up after its window until the verdict on it is there, as in a long training it
is."""

from __future__ import annotations

import concurrent.futures
import sys

WAIT_AFTER_STEP = 9
LIMIT_S = 120


class WindowReport:
    """What the callback did until the end of a step.

    Attributes:
        steps: Steps at whose end an analysis was running.
        had_analysis: Whether what reads recordings was imported by then, which takes seconds.
    """

    def __init__(self, callback):
        self.callback = callback
        self.steps = []
        self.had_analysis = False

    def step_ended(self, step):
        """Called at the end of a step, after the callback."""
        windows = self.callback._windows
        if windows is None or windows._future is None:
            return
        self.steps.append(step)
        self.had_analysis = "torch_tb_profiler.views.schema" in sys.modules
        if step >= WAIT_AFTER_STEP:
            concurrent.futures.wait([windows._future], LIMIT_S)
