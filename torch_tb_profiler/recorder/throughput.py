"""What the times of steps come to: costs, rates and their spread; which steps are warm-up.

Definitions: ``docs/metrics.md#throughput``. The pages compute the same from the journal.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

UNKNOWN = -1
"""Stands for a number that is not known in a column of whole numbers."""

US_PER_S = 1e6
NS_PER_US = 1e3

MOST_WARMUP = 10
WARMUP_SHARE = 10
SLOW = 2
SETTLED_STEPS = 400
RULE = (
    "the first tenth of the steps, at least 1 and at most 10, and on from there while a step takes "
    "more than twice the median of the first 400, up to half of these"
)
GIVEN_RULE = "as many as the program said"


@dataclass
class StepColumns:
    """Times of steps, a row each.

    Attributes:
        start_ns: On one clock.
        end_ns: Likewise.
        reader_ns: Of it, waiting for data; :data:`UNKNOWN` where nothing told.
        samples: Of its batches; :data:`UNKNOWN` likewise.
    """

    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    reader_ns: array[int] = field(default_factory=lambda: array("q"))
    samples: array[int] = field(default_factory=lambda: array("q"))

    def add(self, start_ns: int, end_ns: int, reader_ns: int, samples: int) -> None:
        """Add a row."""
        self.start_ns.append(start_ns)
        self.end_ns.append(end_ns)
        self.reader_ns.append(reader_ns)
        self.samples.append(samples)

    def appenders(self) -> tuple[Callable[[int], None], ...]:
        """What appends to each column: start, end, reader, samples."""
        columns = (self.start_ns, self.end_ns, self.reader_ns, self.samples)
        return tuple(column.append for column in columns)

    def durations(self) -> array[int]:
        """How long each took, in ns."""
        return array("q", map(int.__sub__, self.end_ns, self.start_ns))

    def without_first(self, count: int) -> StepColumns:
        """Those after the first ``count``."""
        columns = (self.start_ns, self.end_ns, self.reader_ns, self.samples)
        return StepColumns(*(column[count:] for column in columns))

    def __len__(self) -> int:
        """How many steps they are."""
        return len(self.start_ns)


@dataclass(frozen=True)
class Spread:
    """How values of steps lie; ``p95`` is the 95th percentile, between two values in proportion."""

    mean: float
    max: float
    min: float
    median: float
    p95: float

    def median_error(self, count: int) -> float:
        """How far the median of ``count`` values may be off: two standard errors, as it would be
        of a normal spread whose upper half is this one's, and not below the smallest value."""
        spread = (self.p95 - self.median) / 1.645
        return min(2 * 1.2533 * spread / math.sqrt(max(count, 1)), self.median - self.min)


@dataclass(frozen=True)
class StepFigures:
    """The figures of some steps.

    Attributes:
        steps: How many they are.
        samples: Of those steps whose samples are known; None where none are.
        reader_cost_us: Waiting for data, in a step; None where nothing told.
        batch_cost_us: A whole step.
        steps_per_s: Mean: steps over the sum of their times; else the rates of single steps, so
            ``p95`` is a fast one.
        samples_per_s: Likewise.
        reader_ratio_pct: The sum of reader costs, in percent of the sum of batch costs.
    """

    steps: int
    samples: int | None
    reader_cost_us: Spread | None
    batch_cost_us: Spread
    steps_per_s: Spread | None
    samples_per_s: Spread | None
    reader_ratio_pct: float | None


@dataclass(frozen=True)
class Throughput:
    """What a timer measured.

    Attributes:
        warmup_steps: Training steps at the beginning that are in none of the figures.
        warmup_rule: How that number was chosen.
        train: Training steps after those, without a profiler; None where there are none.
        evaluation: Steps of evaluations, of which none is warm-up; outside of windows likewise.
        traced: Training steps beside a profiler, so slower, but the first one; in none of the
            others.
    """

    warmup_steps: int
    warmup_rule: str
    train: StepFigures | None
    evaluation: StepFigures | None = None
    traced: StepFigures | None = None

    def __str__(self) -> str:
        """One line: mean costs in seconds, and the rate."""
        warmup = f"{_counted(self.warmup_steps)} of warm-up"
        if self.train is None:
            return f"no step was timed after {warmup}"
        return f"{_line(self.train)} ({_counted(self.train.steps)} after {warmup})"

    def as_dict(self) -> dict[str, Any]:
        """As it stands in ``<worker>.throughput.json``."""
        return {"version": 1, **asdict(self)}


def warmup_of(durations: Sequence[int]) -> int:
    """How many steps at the beginning are warm-up, by :data:`RULE`.

    Args:
        durations: Of the first steps, at least :data:`SETTLED_STEPS` where there are so many.
    """
    looked_at = durations[:SETTLED_STEPS]
    if not looked_at:
        return 0
    limit = SLOW * percentile(sorted(looked_at), 50)
    count = max(1, min(MOST_WARMUP, len(durations) // WARMUP_SHARE))
    while count < len(looked_at) // 2 and looked_at[count] > limit:
        count += 1
    return count


def figures_of(steps: StepColumns) -> StepFigures | None:
    """The figures of all of these steps; None where there are none."""
    durations = steps.durations()
    if not durations:
        return None
    waits = [each for each in steps.reader_ns if each != UNKNOWN]
    waited = [
        took for took, wait in zip(durations, steps.reader_ns, strict=True) if wait != UNKNOWN
    ]
    sized = [
        (count, took)
        for count, took in zip(steps.samples, durations, strict=True)
        if count != UNKNOWN
    ]
    return StepFigures(
        steps=len(durations),
        samples=sum(count for count, _ in sized) if sized else None,
        reader_cost_us=_spread(each / NS_PER_US for each in waits),
        batch_cost_us=_known(_spread(each / NS_PER_US for each in durations)),
        steps_per_s=_rates((1, took) for took in durations),
        samples_per_s=_rates(sized),
        reader_ratio_pct=sum(waits) / sum(waited) * 100 if any(waited) else None,
    )


def percentile(ordered: Sequence[float], pct: float) -> float:
    """A percentile of values in rising order, between two of them in proportion."""
    at = (len(ordered) - 1) * pct / 100
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def _spread(values: Iterable[float], mean: float | None = None) -> Spread | None:
    ordered = sorted(values)
    if not ordered:
        return None
    return Spread(
        mean=sum(ordered) / len(ordered) if mean is None else mean,
        max=ordered[-1],
        min=ordered[0],
        median=percentile(ordered, 50),
        p95=percentile(ordered, 95),
    )


def _rates(counts: Iterable[tuple[int, int]]) -> Spread | None:
    """Of (count, ns): how many a second."""
    timed = [(count, took) for count, took in counts if took > 0]
    if not timed:
        return None
    whole = sum(count for count, _ in timed) / sum(took for _, took in timed)
    per_s = US_PER_S * NS_PER_US
    return _spread((count / took * per_s for count, took in timed), whole * per_s)


def _known(spread: Spread | None) -> Spread:
    assert spread is not None, "there are steps"
    return spread


def _line(figures: StepFigures) -> str:
    reader, rate, samples = figures.reader_cost_us, figures.steps_per_s, figures.samples_per_s
    parts = [] if reader is None else [f"reader_cost: {reader.mean / US_PER_S:.5f} s"]
    parts.append(f"batch_cost: {figures.batch_cost_us.mean / US_PER_S:.5f} s")
    if samples is not None:
        parts.append(f"ips: {samples.mean:.5g} samples/s")
    elif rate is not None:
        parts.append(f"ips: {rate.mean:.5g} steps/s")
    if figures.reader_ratio_pct is not None:
        parts.append(f"reader ratio: {figures.reader_ratio_pct:.1f} %")
    return " ".join(parts)


def _counted(steps: int) -> str:
    return f"{steps} step" if steps == 1 else f"{steps} steps"
