"""Inputs that once broke or stalled something, and new damages of small traces.

``bench/fuzz.py`` does the same with as many as one has time for.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from bench.format_damages import Options, fuzz_formats, seed_files
from bench.fuzz import alarm, mutated, outcome, seeds, small_trace

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json*"))
COMMANDS_INPUTS = 8
INPUTS = 120
MAX_SEED_FILE_BYTES = 300_000
SEED = 5


@cache
def _seeds() -> list[bytes]:
    return seeds()


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_failed_is_read_and_shown(path: Path) -> None:
    with alarm(5):
        outcome(path.read_bytes(), _always)


def test_damaged_traces_are_read_and_shown_or_refused() -> None:
    chance = random.Random(SEED)
    pool = _seeds()
    assert len(pool) > 20
    for number in range(INPUTS):
        data = mutated(chance.choice(pool), chance.choice(pool), chance)
        try:
            with alarm(10):
                outcome(data, _always if number % 10 == 0 else _never)
        except Exception as error:
            raise AssertionError(f"input {number} of seed {SEED}: {data!r}") from error


def test_commands_read_or_refuse_damaged_files_of_every_format(tmp_path: Path) -> None:
    pool = seed_files(_seeds(), small_trace, MAX_SEED_FILE_BYTES)
    assert {"made.pickle", "made.sqlite", "made.csv", "seed.json"} <= {seed.name for seed in pool}

    tally = fuzz_formats(pool, Options(COMMANDS_INPUTS, 600, SEED, 30, tmp_path), mutated, alarm)

    assert not tally.failures
    assert tally.inputs == COMMANDS_INPUTS
    assert min(tally.codes[0], tally.codes[3]) > COMMANDS_INPUTS // 8
