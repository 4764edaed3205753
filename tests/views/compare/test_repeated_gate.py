"""Gates over several recordings: values by hand, and a planted slowdown against noise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.views.compare.test_gate import view_of
from torch_tb_profiler.views.compare.gate import GateError
from torch_tb_profiler.views.compare.repeated_gate import (
    Repeats,
    evaluate_repeated,
    pairs,
    repeated_text,
)


def repeats(baseline: list[int], candidate: list[int]) -> Repeats:
    """One recording per number: two steps of it + 100 µs, all of the same length."""
    views = [
        view_of([baseline[a]] * 2, [candidate[b]] * 2)
        for a, b in pairs(len(baseline), len(candidate))
    ]
    return Repeats(views, len(baseline), len(candidate))


def test_every_recording_is_compared_once_and_those_of_the_shorter_side_again() -> None:
    assert pairs(2, 3) == [(0, 0), (1, 1), (0, 2)]
    assert pairs(3, 1) == [(0, 0), (1, 0), (2, 0)]


@pytest.mark.parametrize(
    ("gate", "failed"),
    [
        # 150 ± 1 against 155 ± 1 µs: t = 5 / sqrt(1/3 + 1/3) = 6.12 with 4 degrees of freedom,
        # p = 0.0036 (Student's table: 4.604 for 0.01, 8.610 for 0.001).
        ("average_step.total_us>+3%", True),
        ("average_step.total_us>+4%", False),
        ("average_step.total_us>+3%@99", True),
        ("average_step.total_us>+3%@99.9", False),
        ("average_step.total_us>154us", True),
        ("average_step.total_us>156us", False),
        ("operators[name=aten::mm].host_self_us>+10us", False),
        ("operators[name=aten::mm].host_self_us>+9us", True),
        ("operators.calls>+0", False),
    ],
)
def test_means_are_compared_as_surely_as_the_gate_says(gate: str, failed: bool) -> None:
    result = evaluate_repeated(repeats([49, 50, 51], [54, 55, 56]), gate)
    assert result.failed is failed
    assert ("3 and 3 recordings" in result.text) is ("us>15" not in gate or failed)


def test_noise_between_recordings_is_no_difference_however_steady_their_steps_are() -> None:
    noisy = repeats([40, 60, 50], [50, 62, 44])
    result = evaluate_repeated(noisy, "average_step.total_us>+0%")
    assert not result.failed
    assert "most changed: Total: 150.000 → 152.000 µs (+2.000, +1.3 %, confidence " in result.text


def test_sides_may_have_different_numbers_of_recordings() -> None:
    result = evaluate_repeated(repeats([50, 51], [70, 71, 72, 73]), "average_step.total_us>+10%")
    (row,) = result.rows
    assert (row.baseline, row.candidate) == (150.5, 171.5)
    assert result.failed


def test_one_recording_says_nothing_of_noise() -> None:
    with pytest.raises(GateError, match="in 2 recordings of each side"):
        evaluate_repeated(repeats([50], [60, 61]), "average_step.total_us>+5%")


def test_the_sentence_over_all_recordings() -> None:
    text = repeated_text(repeats([49, 51], [55, 55]))
    assert text is not None
    assert text.startswith("over 2 and 2 recordings of the program the average step is Total: 150")


def test_a_planted_slowdown_of_5_percent_fails_and_noise_of_1_percent_does_not() -> None:
    """Five recordings of each side that differ by 1 % between runs; ``bench/gate_noise.py`` makes
    fifty such trials."""
    random = np.random.default_rng(34)

    def side(mean_us: float) -> list[int]:
        return [round(mean_us * (1 + 0.01 * value)) - 100 for value in random.normal(size=5)]

    gate = "average_step.total_us>+2%"
    slower = [evaluate_repeated(repeats(side(600), side(630)), gate).failed for _ in range(4)]
    same = [evaluate_repeated(repeats(side(600), side(600)), gate).failed for _ in range(4)]
    assert (sum(slower), sum(same)) == (4, 0)
