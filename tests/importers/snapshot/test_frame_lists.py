"""Lists identified by a hash: a dict of their bytes is the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest

from torch_tb_profiler.importers.snapshot.frame_lists import MAX_LIST_BYTES, NO_LIST, FrameLists
from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks


def reference(chance: random.Random) -> bytes:
    return b"h" + chance.randbytes(1) if chance.random() < 0.3 else b"j" + chance.randbytes(4)


def numbers_of(frame_lists: FrameLists, lists: list[bytes]) -> list[int]:
    lengths = np.array([len(each) for each in lists], np.int64)
    ends = np.cumsum(lengths + 3)
    start = ends - 3 - lengths
    data = b"".join(each + b"???" for each in lists) + bytes(16)
    numbers: list[int] = frame_lists.numbers(data, start, ends - 3).tolist()
    return numbers


@pytest.mark.parametrize("seed", range(3))
def test_equal_lists_have_one_number(seed: int) -> None:
    chance = random.Random(seed)
    distinct = [
        b"".join(reference(chance) for _ in range(chance.choice((0, 1, 2, 7, 60))))
        for _ in range(300)
    ]
    # Lists that differ in one byte anywhere, the last one of a word included.
    distinct += [each[:-1] + bytes([each[-1] ^ 128]) for each in distinct if each]
    frame_lists = FrameLists(Stacks({}))
    expected: dict[bytes, int] = {}
    for _ in range(4):
        lists = chance.choices(distinct, k=2000)
        for each, number in zip(lists, numbers_of(frame_lists, lists), strict=True):
            assert expected.setdefault(each, number) == number
    assert len(set(expected.values())) == len(expected)
    assert min(expected.values()) >= 0


def test_bytes_that_are_not_lists() -> None:
    frame_lists = FrameLists(Stacks({}))
    long = b"h\x01" * (MAX_LIST_BYTES // 2)
    lists = [b"h\x01", b"x\x01", b"j\x01\x02", long, long + b"h\x01", b"x\x01"]
    first, *others = numbers_of(frame_lists, lists)
    assert others == [NO_LIST, NO_LIST, 1 - first, NO_LIST, NO_LIST]
    assert numbers_of(frame_lists, []) == []


def test_lists_beyond_the_limit_are_counted() -> None:
    stacks = Stacks({})
    stacks.most = 2
    frame_lists = FrameLists(stacks)
    lists = [b"h\x01", b"h\x02", b"h\x03", b"h\x03", b"h\x01", b"h\x04"]
    numbers = numbers_of(frame_lists, lists)
    assert sorted(numbers) == [NO_STACK] * numbers.count(NO_STACK) + [0] * numbers.count(0) + [
        1
    ] * numbers.count(1)
    assert stacks.left_out == numbers.count(NO_STACK) > 0
    assert numbers_of(frame_lists, lists) == numbers
