"""Inputs that once broke or stalled something, and a few hundred new damages of small traces.

``bench/fuzz.py`` does the same with as many as one has time for.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.fuzz import alarm, mutated, outcome, seeds

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json*"))
INPUTS = 400


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_failed_is_read_and_shown(path: Path) -> None:
    with alarm(5):
        outcome(path.read_bytes(), lambda _: True)


def test_damaged_traces_are_read_and_shown_or_refused() -> None:
    chance = random.Random()
    seed = chance.randrange(2**32)
    chance.seed(seed)
    pool = seeds()
    assert len(pool) > 20
    for number in range(INPUTS):
        data = mutated(chance.choice(pool), chance.choice(pool), chance)
        try:
            with alarm(10):
                outcome(data, lambda _, number=number: number % 10 == 0)
        except Exception as error:
            raise AssertionError(f"input {number} of seed {seed}: {data!r}") from error
