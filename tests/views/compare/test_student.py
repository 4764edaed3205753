"""Welch's test against printed tables, a closed form and numeric integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.views.compare.student import (
    SUREST_PCT,
    SampleMoments,
    confidence_pct,
    interval,
    moments,
)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.706205),
        (2, 4.302653),
        (4, 2.776445),
        (10, 2.228139),
        (30, 2.042272),
        (10**6, 1.959966),
    ],
)
def test_the_95_percent_interval_uses_the_printed_quantiles(freedom: int, quantile: float) -> None:
    """Two samples of equal size n and variance have 2 (n - 1) degrees of freedom by Welch."""
    if freedom % 2:
        a = SampleMoments(2, np.array([0.0]), np.array([1.0]))
        b = SampleMoments(2, np.array([0.0]), np.array([0.0]))
        error = math.sqrt(1 / 2)
    else:
        size = freedom // 2 + 1
        a = b = SampleMoments(size, np.array([0.0]), np.array([1.0]))
        error = math.sqrt(2 / size)
    low, high = interval(a, b)
    assert high[0] == pytest.approx(quantile * error, rel=1e-6)
    assert low[0] == pytest.approx(-quantile * error, rel=1e-6)


def test_a_worked_example() -> None:
    """Unequal variances; p checked by integrating the density of Student's t."""
    a = moments(np.array([[10.0, 12.0, 11.0, 13.0]]))
    b = moments(np.array([[14.0, 18.0, 16.0, 15.0, 17.0, 12.0]]))
    va, vb = 5 / 3 / 4, (14 / 3) / 6
    t = (15 + 1 / 3 - 11.5) / math.sqrt(va + vb)
    freedom = (va + vb) ** 2 / (va**2 / 3 + vb**2 / 5)
    assert confidence_pct(a, b)[0] == pytest.approx(100 * (1 - two_sided(t, freedom)), abs=1e-4)


def two_sided(t: float, freedom: float) -> float:
    """2 ∫ₜ^∞ of the density, substituting x = t + u / (1 - u), by the midpoint rule."""
    u = (np.arange(200_000) + 0.5) / 200_000
    x = abs(t) + u / (1 - u)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    density = scale / math.sqrt(freedom * math.pi) * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    return float(2 * np.mean(density / (1 - u) ** 2))


@given(st.floats(0.01, 20), st.integers(2, 60))
@examples(40)
def test_confidence_equals_the_integral(t: float, size: int) -> None:
    a = SampleMoments(size, np.array([0.0]), np.array([1.0]))
    b = SampleMoments(size, np.array([t * math.sqrt(2 / size)]), np.array([1.0]))
    expected = 100 * (1 - two_sided(t, 2 * (size - 1)))
    assert confidence_pct(a, b)[0] == pytest.approx(expected, abs=1e-4)


def test_equal_samples_do_not_differ_and_constant_ones_differ_surely() -> None:
    same = moments(np.array([[5.0, 6.0, 7.0], [4.0, 4.0, 4.0]]))
    other = moments(np.array([[5.0, 6.0, 7.0], [4.5, 4.5, 4.5]]))
    assert confidence_pct(same, same).tolist() == [0, 0]
    assert confidence_pct(same, other).tolist() == [0, SUREST_PCT]


def test_one_value_says_nothing() -> None:
    one, two = moments(np.array([[5.0]])), moments(np.array([[5.0, 7.0]]))
    assert np.isnan(confidence_pct(one, two)).all()
    assert np.isnan(interval(one, two)[0]).all()
    assert moments(np.empty((2, 0))).size == 0
