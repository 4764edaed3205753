"""Which release frees which allocation, against a walk over the records with a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.memory.pairs import NEVER, pair

Record = tuple[int, int, int, bool]
"""Device, address, size, usable."""

records = st.lists(
    st.tuples(
        st.sampled_from([-1, 0, 1]),
        st.sampled_from([0, 7, 8]),
        st.sampled_from([-4, -1, 0, 1, 4]),
        st.sampled_from([True, True, True, False]),
    ),
    max_size=20,
)


@given(records)
@example([(0, 7, 4, True), (0, 7, 0, False), (0, 7, 0, True), (0, 7, -4, True)])
@example([(0, 7, 4, True), (0, 7, 4, False), (0, 7, 4, True), (0, 7, -4, True)])
def test_as_a_walk_over_the_records(rows: list[Record]) -> None:
    release, allocation = [-1] * len(rows), [-1] * len(rows)
    end, reused = [NEVER] * len(rows), [False] * len(rows)
    latest: dict[tuple[int, int], int] = {}
    for number, (device, address, size_bytes, usable) in enumerate(rows):
        if not usable or size_bytes == 0:
            continue
        before = latest.get((device, address))
        if before is not None and rows[before][2] > 0:
            end[before] = number
            if size_bytes < 0:
                release[before], allocation[number] = number, before
            else:
                reused[before] = True
        latest[device, address] = number
    devices, addresses, sizes = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    result = pair(devices, addresses, sizes, np.array([row[3] for row in rows], np.bool_))
    assert result.release.tolist() == release
    assert result.allocation.tolist() == allocation
    assert result.end.tolist() == end
    assert result.reused.tolist() == reused
