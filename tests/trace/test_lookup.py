"""Positions of values, by a table or a search, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.lookup import MAX_SEARCHED, positions_in

SIZES = (0, 3, MAX_SEARCHED, 5 * MAX_SEARCHED)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [1, 3, 10**12])
@pytest.mark.parametrize("known_count", [0, 1, 700])
def test_positions_are_those_of_the_known_values(size: int, spread: int, known_count: int) -> None:
    random = np.random.default_rng(size + spread + known_count)
    known = np.unique(random.integers(-50, 50 + spread * known_count, known_count))
    values = random.integers(-100, 100 + spread * known_count, size)
    if size and len(known):
        values[::5] = random.choice(known, len(values[::5]))
        values[:3] = ABSENT, np.iinfo(np.int64).max, known[-1]
    position = {value: row for row, value in enumerate(known.tolist())}
    expected = [position.get(value, -1) for value in values.tolist()]
    assert positions_in(known, values).tolist() == expected
