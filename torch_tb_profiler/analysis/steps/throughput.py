"""Times of steps as a timer took them, beside the profiler or without one, and what they come to.

Definitions: ``docs/metrics.md#throughput``. The same figures are in ``<worker>.throughput.json``
(``recorder/throughput.py``), which runs where neither numpy nor polars is.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

US_PER_S = 1e6

NOT_TIMED = (
    "Nothing timed the steps outside of the profiler: torch-tb-profiler record does, and "
    "torch_tb_profiler.Timer."
)


class Spread(Struct, frozen=True):
    """How values of steps lie; ``p95`` is the 95th percentile, interpolated."""

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


class StepSet(Struct, frozen=True, eq=False):
    """Steps of one kind, in order of time; NaN is what nobody told.

    Attributes:
        start_us: When each began, on the clock of the trace.
        duration_us: How long it took.
        reader_us: Of it, waiting for data.
        samples: Of its batches.
    """

    start_us: Float64
    duration_us: Float64
    reader_us: Float64
    samples: Float64

    def __len__(self) -> int:
        """How many they are."""
        return len(self.duration_us)

    @property
    def batch_cost_us(self) -> Spread | None:
        """Of whole steps."""
        return _spread(self.duration_us)

    @property
    def reader_cost_us(self) -> Spread | None:
        """Of the waits for data, of steps of which they are known."""
        return _spread(self.reader_us)

    @property
    def steps_per_s(self) -> Spread | None:
        """Rates of single steps; the mean is all of them over all of their time."""
        return _rates(np.ones(len(self)), self.duration_us)

    @property
    def samples_per_s(self) -> Spread | None:
        """Likewise, of steps whose samples are known."""
        return _rates(self.samples, self.duration_us)

    @property
    def reader_ratio_pct(self) -> float | None:
        """The waits for data in percent of the steps that waited."""
        known = ~np.isnan(self.reader_us)
        whole = float(self.duration_us[known].sum())
        return 100 * float(self.reader_us[known].sum()) / whole if whole else None


class TimedSteps(Struct, frozen=True, eq=False):
    """The timed steps of a whole run, by what they are.

    Attributes:
        train: Training steps outside of the profiler's windows, without those of warm-up.
        traced: Training steps beside a profiler, so slower: windows often lie in the warm-up, so
            all but the first one.
        evaluation: Steps of evaluations outside of windows.
        warmup: Training steps of warm-up that are in none of these.
        warmup_steps: How many training steps are warm-up.
        knows_warmup: Whether somebody told which these are.
        source: The file that tells of them.
    """

    train: StepSet
    traced: StepSet
    evaluation: StepSet
    warmup: StepSet
    warmup_steps: int
    knows_warmup: bool
    source: str


@per_trace
def timed_steps(trace: Trace) -> TimedSteps | None:
    """The timed steps of a trace; None where there are none."""
    side = trace.side.get("timed_steps")
    if side is None or side.frame.is_empty():
        return None
    frame = side.frame.filter(pl.col("duration_us").is_not_null()).sort("start_us")
    trained = frame["phase"] == "train"
    slowed = frame["is_traced"].fill_null(value=False)
    traced = trained & slowed & (trained.cum_sum() > 1)
    warmup = trained & frame["is_warmup"].fill_null(value=False) & ~traced
    return TimedSteps(
        train=_set(frame.filter(trained & ~warmup & ~traced)),
        traced=_set(frame.filter(traced)),
        evaluation=_set(frame.filter((frame["phase"] == "evaluation") & ~slowed)),
        warmup=_set(frame.filter(warmup)),
        warmup_steps=int(frame.filter(trained)["is_warmup"].sum()),
        knows_warmup=not frame.filter(trained)["is_warmup"].has_nulls(),
        source=side.source,
    )


def _set(frame: pl.DataFrame) -> StepSet:
    columns = ("start_us", "duration_us", "reader_us", "samples")
    return StepSet(
        *(frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in columns)
    )


def _spread(values: Float64, mean: float | None = None) -> Spread | None:
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    return Spread(
        mean=float(known.mean()) if mean is None else mean,
        max=float(known.max()),
        min=float(known.min()),
        median=float(np.median(known)),
        p95=float(np.percentile(known, 95)),
    )


def _rates(counts: Float64, duration_us: Float64) -> Spread | None:
    timed = ~np.isnan(counts) & (duration_us > 0)
    counts, taken_s = counts[timed], duration_us[timed] / US_PER_S
    return _spread(counts / taken_s, float(counts.sum() / taken_s.sum())) if len(counts) else None
