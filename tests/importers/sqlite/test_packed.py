"""Integers in few bytes are the same integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.sqlite.packed import PackedInts, pack, unpack
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.constant_columns import is_constant

INTEGERS = st.one_of(
    st.just(int(ABSENT)), st.integers(0, 3), st.integers(10**9, 10**9 + 300),
    st.integers(-(2**63), 2**63 - 1),
)  # fmt: skip


@pytest.mark.hypothesis
@given(st.lists(st.lists(INTEGERS, max_size=6), max_size=4))
def test_unpacking_restores_the_values(parts: list[list[int]]) -> None:
    joined = unpack([pack(np.array(part, np.int64)) for part in parts])
    assert joined.tolist() == [value for part in parts for value in part]


@pytest.mark.parametrize(
    ("values", "bytes_each"),
    [
        ([7, 7, 7], 0),
        ([10**18, 10**18 + 255], 1),
        ([10**18, 10**18 + 254, int(ABSENT)], 1),
        ([0, 2**16 - 1], 2),
        ([-5, 2**32 - 6], 4),
        ([0, 2**32], 8),
    ],
)
def test_values_take_as_few_bytes_as_needed(values: list[int], bytes_each: int) -> None:
    packed = pack(np.array(values, np.int64))
    assert isinstance(packed, PackedInts)
    assert (0 if packed.offsets is None else packed.offsets.itemsize) == bytes_each
    assert unpack([packed]).tolist() == values


@pytest.mark.parametrize(
    ("parts", "constant"),
    [
        ([[7, 7], [], [7]], True),
        ([[7, 7], [8]], False),
        ([[7, 7], [7, 8]], False),
        ([[int(ABSENT)], [int(ABSENT)]], True),
        ([[]], False),
    ],
)
def test_one_value_in_all_parts_takes_no_memory(parts: list[list[int]], constant: bool) -> None:
    joined = unpack([pack(np.array(part, np.int64)) for part in parts])
    assert is_constant(joined) == constant
    assert joined.tolist() == [value for part in parts for value in part]
