"""Tests that train: ``pytest test_of_pytest.py``."""

from __future__ import annotations

import pytest
from truth import Truth, seeded, train

TRUTH = Truth()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_loss_falls(seed: int) -> None:
    seeded(seed)
    assert train(TRUTH, 8) < 1000


def test_that_fails() -> None:
    assert train(TRUTH, 4) < 0, "it fails on purpose"
