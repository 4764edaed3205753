"""How sure a difference of two means is: Welch's t-test, vectorised, without scipy.

Sources: B. L. Welch, "The generalization of 'Student's' problem when several different
population variances are involved", Biometrika 34 (1947); the continued fraction of the incomplete
beta function is DLMF 8.17.22 (https://dlmf.nist.gov/8.17), evaluated by Lentz's method.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Float64

_TINY = 1e-300
_ROUNDS = 300
_NEWTON_STEPS = 30
_EPSILON = 1e-14

SUREST_PCT = math.nextafter(100.0, 0.0)
"""The most that a finite number of steps can say; 1 − p of a tiny p rounds to 1."""


class SampleMoments(Struct, frozen=True, eq=False):
    """Moments of several samples of one size, e.g. of per-step totals of many operators.

    Attributes:
        size: Values in each sample.
        mean: Mean of each.
        variance: Unbiased variance of each; NaN for samples of fewer than two values.
    """

    size: int
    mean: Float64
    variance: Float64


def moments(values: Float64) -> SampleMoments:
    """The moments of the columns of ``values`` (samples × values in each: rows are samples)."""
    count, size = values.shape
    if size == 0:
        return SampleMoments(0, np.full(count, np.nan), np.full(count, np.nan))
    variance = values.var(axis=1, ddof=1) if size > 1 else np.full(count, np.nan)
    return SampleMoments(size, values.mean(axis=1), variance)


def confidence_pct(a: SampleMoments, b: SampleMoments) -> Float64:
    """100 × (1 − p) of the two-sided test that the means differ; NaN with fewer than two values.

    Samples without any variance are told apart if they differ at all. It is never 100:
    :data:`SUREST_PCT` at most.
    """
    difference = b.mean - a.mean
    error, freedom = _error(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / error
    p = _two_sided(np.where(error > 0, t, 0.0), np.where(error > 0, freedom, 1.0))
    certain = np.where(difference == 0, 1.0, 0.0)
    confidence: Float64 = 100.0 * (1.0 - np.where(error > 0, p, certain))
    return np.where(np.isnan(error), np.nan, np.minimum(confidence, SUREST_PCT))


def interval(
    a: SampleMoments, b: SampleMoments, level_pct: float = 95.0
) -> tuple[Float64, Float64]:
    """Lower and upper bound of the difference of the means ``b - a`` at a confidence level."""
    error, freedom = _error(a, b)
    reach = _quantile(1.0 - level_pct / 100.0, np.where(error > 0, freedom, 1.0)) * error
    difference = b.mean - a.mean
    return difference - reach, difference + reach


def _error(a: SampleMoments, b: SampleMoments) -> tuple[Float64, Float64]:
    """Standard error of the difference and Welch's degrees of freedom."""
    if a.size < 2 or b.size < 2:
        unknown = np.full(len(a.mean), np.nan)
        return unknown, unknown
    of_a, of_b = a.variance / a.size, b.variance / b.size
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    return np.sqrt(of_a + of_b), np.where(np.isfinite(freedom), freedom, 1.0)


def _two_sided(t: Float64, freedom: Float64) -> Float64:
    """P(|T| ≥ |t|) for Student's distribution: I_x(ν/2, 1/2) at x = ν / (ν + t²)."""
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2)


def _quantile(p: float, freedom: Float64) -> Float64:
    """The t with P(|T| ≥ t) = p, for ``freedom`` ≥ 1.

    Newton's method on log P as a function of log t, which is concave: after the first step it
    comes from above, and needs few steps as the tail is nearly a power of t.
    """
    log_scale = np.array([math.lgamma((v + 1) / 2) - math.lgamma(v / 2) for v in freedom])
    log_scale -= np.log(freedom * np.pi) / 2
    t = np.full(len(freedom), 2.0)
    for _ in range(_NEWTON_STEPS):
        tail = _two_sided(t, freedom)
        density = np.exp(log_scale - (freedom + 1) / 2 * np.log1p(t * t / freedom))
        step = np.log(tail / p) * tail / (2 * density * t)
        t = t * np.exp(np.clip(step, -1.0, 5.0))
        if not np.any(np.abs(step) >= _EPSILON):
            break
    return t


def _incomplete_beta(x: Float64, a: Float64) -> Float64:
    """The regularised incomplete beta function I_x(a, 1/2)."""
    b = 0.5
    mirrored = x > (a + 1) / (a + b + 2)
    p, q = np.where(mirrored, b, a), np.where(mirrored, a, b)
    z = np.clip(np.where(mirrored, 1 - x, x), 0.0, 1.0)
    log_beta = np.array([math.lgamma(v) + math.lgamma(b) - math.lgamma(v + b) for v in a])
    with np.errstate(divide="ignore"):
        front = np.exp(p * np.log(z) + q * np.log1p(-z) - log_beta) / p
    tail = front * _continued_fraction(z, p, q)
    tails: Float64 = np.where(mirrored, 1 - tail, tail)
    return tails


def _continued_fraction(x: Float64, a: Float64, b: Float64) -> Float64:
    c = np.ones_like(x)
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value: Float64 = d.copy()
    for m in range(1, _ROUNDS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away_from_zero(1 + even * d)
        c = _away_from_zero(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _away_from_zero(1 + odd * d)
        c = _away_from_zero(1 + odd / c)
        change = d * c
        value *= change
        if not np.any(np.abs(change - 1) >= _EPSILON):
            break
    return value


def _away_from_zero(value: Float64) -> Float64:
    return np.where(np.abs(value) < _TINY, _TINY, value)
