"""Figures of step times: costs, rates and their distribution; which steps are warm-up.

Definitions: ``docs/metrics.md#throughput``. The pages compute the same figures from the journal.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

UNKNOWN = -1
"""Marks an unknown value in a column of integers."""

US_PER_S = 1e6
NS_PER_US = 1e3

MAX_WARMUP_STEPS = 10
WARMUP_SHARE = 10
SLOW_FACTOR = 2
SETTLED_STEPS = 400
WARMUP_RULE = (
    "the first tenth of the steps, at least 1 and at most 10, and on from there while a step takes "
    "more than twice the median of the first 400, up to half of these"
)
GIVEN_WARMUP_RULE = "set by the program"


@dataclass
class StepColumns:
    """Times of steps, one row per step.

    Attributes:
        start_ns: Start of the step; all times are of one clock.
        end_ns: End of the step.
        reader_ns: Time in the step spent waiting for data, or :data:`UNKNOWN`.
        samples: Samples of its batches, or :data:`UNKNOWN`.
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
        """The ``append`` methods of the columns: start, end, reader, samples."""
        columns = (self.start_ns, self.end_ns, self.reader_ns, self.samples)
        return tuple(column.append for column in columns)

    def durations(self) -> array[int]:
        """Durations in ns."""
        return array("q", map(int.__sub__, self.end_ns, self.start_ns))

    def without_first(self, count: int) -> StepColumns:
        """The steps after the first ``count``."""
        columns = (self.start_ns, self.end_ns, self.reader_ns, self.samples)
        return StepColumns(*(column[count:] for column in columns))

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.start_ns)


@dataclass(frozen=True)
class Distribution:
    """Distribution of a value over steps; ``p95`` is the interpolated 95th percentile."""

    mean: float
    max: float
    min: float
    median: float
    p95: float

    def median_error(self, count: int) -> float:
        """Uncertainty of the median of ``count`` values: two standard errors of a normal
        distribution with the same upper half, limited so that the median minus it is not below the
        minimum."""
        spread = (self.p95 - self.median) / 1.645
        return min(2 * 1.2533 * spread / math.sqrt(max(count, 1)), self.median - self.min)


@dataclass(frozen=True)
class StepFigures:
    """The figures of a set of steps.

    Attributes:
        steps: Number of steps.
        samples: Samples of the steps for which they are known; None without any.
        reader_cost_us: Time per step spent waiting for data; None if unknown.
        batch_cost_us: Duration of a step.
        steps_per_s: The mean is steps over the sum of their times; the other values are rates of
            single steps, so ``p95`` is a fast step.
        samples_per_s: Likewise.
        reader_ratio_pct: Sum of reader costs as a percentage of the sum of batch costs.
    """

    steps: int
    samples: int | None
    reader_cost_us: Distribution | None
    batch_cost_us: Distribution
    steps_per_s: Distribution | None
    samples_per_s: Distribution | None
    reader_ratio_pct: float | None


@dataclass(frozen=True)
class Throughput:
    """Measured throughput of a run.

    Attributes:
        warmup_steps: Number of training steps at the start that are excluded from all figures.
        warmup_rule: How that number was chosen.
        train: Training steps after warm-up without a profiler; None without any.
        evaluation: Evaluation steps without a profiler; none of them is warm-up.
        traced: Training steps slowed by a profiler, except the first step; not in the others.
    """

    warmup_steps: int
    warmup_rule: str
    train: StepFigures | None
    evaluation: StepFigures | None = None
    traced: StepFigures | None = None

    def __str__(self) -> str:
        """One line with mean costs in seconds, and the rate."""
        warmup = f"{_counted(self.warmup_steps)} of warm-up"
        if self.train is None:
            return f"no step was timed after {warmup}"
        return f"{_line(self.train)} ({_counted(self.train.steps)} after {warmup})"

    def as_dict(self) -> dict[str, Any]:
        """The content of ``<worker>.throughput.json``."""
        return {"version": 1, **asdict(self)}


def count_warmup_steps(durations: Sequence[int]) -> int:
    """Number of warm-up steps at the start, by :data:`WARMUP_RULE`.

    Args:
        durations: Durations of the first steps; at least :data:`SETTLED_STEPS` if there are as
            many.
    """
    first = durations[:SETTLED_STEPS]
    if not first:
        return 0
    limit = SLOW_FACTOR * percentile(sorted(first), 50)
    count = max(1, min(MAX_WARMUP_STEPS, len(durations) // WARMUP_SHARE))
    while count < len(first) // 2 and first[count] > limit:
        count += 1
    return count


def step_figures(steps: StepColumns) -> StepFigures | None:
    """The figures of steps; None without any."""
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
    """Interpolated percentile of sorted values."""
    at = (len(ordered) - 1) * pct / 100
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def _spread(values: Iterable[float], mean: float | None = None) -> Distribution | None:
    ordered = sorted(values)
    if not ordered:
        return None
    return Distribution(
        mean=sum(ordered) / len(ordered) if mean is None else mean,
        max=ordered[-1],
        min=ordered[0],
        median=percentile(ordered, 50),
        p95=percentile(ordered, 95),
    )


def _rates(counts: Iterable[tuple[int, int]]) -> Distribution | None:
    """Rates per second from (count, ns)."""
    timed = [(count, took) for count, took in counts if took > 0]
    if not timed:
        return None
    whole = sum(count for count, _ in timed) / sum(took for _, took in timed)
    per_s = US_PER_S * NS_PER_US
    return _spread((count / took * per_s for count, took in timed), whole * per_s)


def _known(spread: Distribution | None) -> Distribution:
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
