"""Moments per key over steps: without a cell for every step of every key they are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.compare import steps as compare_steps
from torch_tb_profiler.views.compare.steps import step_basis, step_rows, step_samples

STEPS = 4
KEYS = 5
EVENTS = st.lists(
    st.tuples(st.integers(0, KEYS - 1), st.integers(-1, STEPS - 1), st.floats(0, 1e6)), max_size=30
)


@given(EVENTS)
def test_sparse_moments_are_those_of_the_whole_table(
    events: list[tuple[int, int, float]],
) -> None:
    recorded = trace(
        [step(number, 100 * number, 90) for number in range(STEPS)]
        + [op("aten::mm", 100 * number + 10, 20) for number in range(STEPS)]
    )
    rows = step_rows(recorded, Selection())
    basis = step_basis(recorded, Selection(), rows, per_step=True)
    key, row, value = (np.array(part) for part in zip(*events, strict=True)) if events else (
        np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    )  # fmt: skip
    table = np.zeros((KEYS, len(rows)))
    for one_key, one_row, amount in events:
        if one_row in rows:
            table[one_key, rows.tolist().index(one_row)] += amount

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_steps, "MAX_CELLS", 0)
        found = step_samples(basis, key, row, value, keys=KEYS)

    assert found.size == len(rows)
    np.testing.assert_allclose(found.mean, table.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.variance, table.var(axis=1, ddof=1), rtol=1e-9, atol=1e-6)
