"""Which steps a recording keeps: windows of steps, as ``torch.profiler.schedule`` counts them."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.recorder.options import Options

WAIT, WARMUP, ACTIVE = 3, 2, 5
"""By default steps 5 to 9: the first ones compile, choose algorithms and fill caches."""


@dataclass(frozen=True)
class Span:
    """A window of steps.

    Attributes:
        warm_from: The step at whose beginning the profiler is prepared.
        first: The first step that is kept.
        last: The last one.
    """

    warm_from: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """How many are kept."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Schedule:
    """Windows of ``active`` steps, each after ``wait`` steps and ``warmup`` steps.

    Attributes:
        repeat: How many windows; 0: until the program ends.
        offset: The step that counting begins at.
    """

    wait: int
    warmup: int
    active: int
    repeat: int
    offset: int = 0

    def span(self, index: int) -> Span | None:
        """The window of that number, from 0; None where there are not that many."""
        if self.repeat and index >= self.repeat:
            return None
        first = self.offset + index * (self.wait + self.warmup + self.active)
        first += self.wait + self.warmup
        return Span(first - self.warmup, first, first + self.active - 1)

    def span_at(self, index: int, step: int) -> Span | None:
        """The window of that number for a program that is at the beginning of ``step``: steps
        that could be told only later may have passed it, then it begins now."""
        span = self.span(index)
        if span is None or step <= span.first:
            return span
        return Span(step, step, step + span.steps - 1)


def scheduled(options: Options, offset: int = 0) -> Schedule:
    """What the options ask for, counted from a step."""
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


def triggered(options: Options, step: int) -> Schedule:
    """One window for somebody who asked at this step: it begins as soon as it can."""
    active = ACTIVE if options.active is None else max(options.active, 1)
    warmup = 0 if options.warmup is None else max(options.warmup, 0)
    return Schedule(0, warmup, active, 1, step)
