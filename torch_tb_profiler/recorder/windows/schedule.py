"""Which steps are recorded: windows of steps, counted as in ``torch.profiler.schedule``."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.recorder.options import Options

WAIT, WARMUP, ACTIVE = 3, 2, 5
"""Default: steps 5 to 9. The first steps compile, select algorithms and fill caches."""


@dataclass(frozen=True)
class WindowSteps:
    """The steps of a window.

    Attributes:
        warm_from: The step at whose start the profiler begins to warm up.
        first: The first recorded step.
        last: The last recorded step.
    """

    warm_from: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Schedule:
    """Windows of ``active`` steps, each after ``wait`` and ``warmup`` steps.

    Attributes:
        repeat: Number of windows; 0: until the program ends.
        offset: The step at which counting starts.
    """

    wait: int
    warmup: int
    active: int
    repeat: int
    offset: int = 0

    def span(self, index: int) -> WindowSteps | None:
        """The window of a number, from 0; None if there are fewer windows."""
        if self.repeat and index >= self.repeat:
            return None
        first = self.offset + index * (self.wait + self.warmup + self.active)
        first += self.wait + self.warmup
        return WindowSteps(first - self.warmup, first, first + self.active - 1)

    def span_at(self, index: int, step: int) -> WindowSteps | None:
        """The window of a number for a program at the start of ``step``. Steps that were detected
        late may have passed its first step; it then starts now."""
        span = self.span(index)
        if span is None or step <= span.first:
            return span
        return WindowSteps(step, step, step + span.steps - 1)


def schedule_from_options(options: Options, offset: int = 0) -> Schedule:
    """The schedule that the options request, counted from a step."""
    warmup = WARMUP if options.warmup is None else max(options.warmup, 0)
    if options.steps is not None:
        first, last = options.steps
        first = max(first, 0)
        warmup = min(warmup, first)
        return Schedule(first - warmup, warmup, max(last - first + 1, 1), 1, offset)
    wait = WAIT if options.wait is None else max(options.wait, 0)
    active = ACTIVE if options.active is None else max(options.active, 1)
    repeat = 1 if options.repeat is None else max(options.repeat, 0)
    return Schedule(wait, warmup, active, repeat, offset)


def schedule_for_trigger(options: Options, step: int) -> Schedule:
    """One window for a trigger at this step; it starts as soon as possible."""
    active = ACTIVE if options.active is None else max(options.active, 1)
    warmup = 0 if options.warmup is None else max(options.warmup, 0)
    return Schedule(0, warmup, active, 1, step)
