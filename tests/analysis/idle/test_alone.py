"""How long work of a device ran alone, against looking at every microsecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import kernel, trace
from torch_tb_profiler.analysis.idle.chain import _alone

WORK = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 3), st.booleans()),
    min_size=1,
    max_size=8,
)


@given(WORK)
def test_alone_is_what_no_other_work_overlaps(parts: list[tuple[int, int, int, bool]]) -> None:
    of = trace([kernel("k", at, dur, stream=stream) for at, dur, stream, _ in parts])
    work = of.device_work.select("start_ns", "dur_ns").rows()
    by_time = {(at * 1000, dur * 1000): chosen for at, dur, _, chosen in parts}
    chosen = [by_time[one] for one in work]  # of two alike the last one decides for both
    expected = [0] * len(work)
    for row, (start, dur) in enumerate(work):
        for moment in range(start, start + dur, 1000):
            is_overlapped = any(
                other <= moment < other + length and not chosen[index]
                for index, (other, length) in enumerate(work)
            )
            expected[row] += 1000 * (chosen[row] and not is_overlapped)
    assert _alone(of, np.array(chosen)).tolist() == expected
