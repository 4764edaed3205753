"""Cases: allocations of a planted pair are matched, whatever the offset; others are not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from torch_tb_profiler.analysis.memory.snapshot.matching import Allocations, match_allocations

LIMIT_NS = 10 * 10**9


def allocations(rows: list[tuple[int, int, int]]) -> Allocations:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return Allocations(columns[:, 0], columns[:, 1], columns[:, 2])


def planted(
    seed: int, offset_ns: int, lost: float
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Allocations of a trace and of a snapshot, each without some, and the pairs."""
    chance = random.Random(seed)
    own: list[tuple[int, int, int]] = []
    other: list[tuple[int, int, int]] = []
    pairs: list[tuple[int, int]] = []
    for number in range(400):
        address, size = 4096 * chance.randrange(1, 12), chance.randrange(1, 5000)
        at = number * 40_000 + chance.randrange(20_000)
        mine, theirs = chance.random() >= lost, chance.random() >= lost
        if mine and theirs:
            pairs.append((len(own), len(other)))
        if mine:
            own.append((address, -(-size // 512) * 512, at))
        if theirs:
            other.append((address, size, at - offset_ns + chance.randrange(-300, 300)))
    return own, other, pairs


@pytest.mark.parametrize("offset_ns", [0, 350_000, -1_700_000, 2_000_000_000, -9_000_000_000])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_the_offset_and_the_pairs_are_those_planted(offset_ns: int, lost: float) -> None:
    for seed in range(4):
        own, other, pairs = planted(seed, offset_ns, lost)
        match = match_allocations(allocations(own), allocations(other), LIMIT_NS)
        assert match is not None
        assert abs(match.offset_ns - offset_ns) < 300
        assert match.residual_ns <= 300
        here = set(zip(match.own.tolist(), match.other.tolist(), strict=True))
        assert len(here & set(pairs)) >= 0.97 * len(pairs)
        assert len(here - set(pairs)) <= 0.03 * len(here)
        assert len(set(match.other.tolist())) == len(match.other)


def test_the_order_of_rows_does_not_matter() -> None:
    own, other, pairs = planted(1, 350_000, 0.2)
    order = random.Random(1).sample(range(len(other)), len(other))
    shuffled = [other[row] for row in order]
    match = match_allocations(allocations(own), allocations(shuffled), LIMIT_NS)
    assert match is not None
    here = {(a, order[b]) for a, b in zip(match.own.tolist(), match.other.tolist(), strict=True)}
    assert len(here & set(pairs)) >= 0.97 * len(pairs)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ((4096, 512, 0), (8192, 512, 0)),  # another address
        ((4096, 512, 0), (4096, 600, 0)),  # a request that does not fit
        ((4096, 4 << 20, 0), (4096, 512, 0)),  # a block that is much too large
        ((4096, 512, 0), (4096, 512, 11 * 10**9)),  # another time
    ],
)
def test_what_cannot_be_the_same_is_not(
    own: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    assert match_allocations(allocations([own]), allocations([other]), LIMIT_NS) is None


def test_requests_of_a_rounded_block_fit() -> None:
    match = match_allocations(
        allocations([(4096, 1024, 5)]), allocations([(4096, 513, 5)]), LIMIT_NS
    )
    assert match is not None
    assert (match.offset_ns, match.own.tolist(), match.other.tolist()) == (0, [0], [0])


def test_addresses_of_the_upper_half_and_many_equal_ones() -> None:
    rows = [(-4096 * (number % 3), 512, number * 1_000_000_000) for number in range(3000)]
    match = match_allocations(allocations(rows), allocations(rows), LIMIT_NS)
    assert match is not None
    assert match.offset_ns == 0
    assert match.own.tolist() == match.other.tolist()
    assert len(match.own) == 3000
