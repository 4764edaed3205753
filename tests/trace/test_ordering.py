"""The order of slices, even where their times do not fit into a joint key."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import columns, op
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.ordering import order_slices


@pytest.mark.parametrize("far_us", [10, 2**53])
def test_order_by_track_start_longer_first_and_row_in_the_file(far_us: int) -> None:
    events = [
        op("later", far_us, 1),
        op("short", 5, 1),
        op("long", 5, 4),
        op("same", 5, 1),
        op("other track", 0, 1, tid=2),
        op("other track, far", far_us, 1, tid=2),
    ]
    given = columns(events)
    slices = order_slices(given)
    names = [given.strings[code] for code in slices.name_code]
    assert names == ["long", "short", "same", "later", "other track", "other track, far"]
    assert slices.new_id.tolist() == [3, 1, 0, 2, 4, 5]
    assert np.array_equal(slices.end_ns, slices.start_ns + slices.dur_ns)


def test_a_launch_that_is_no_row_is_none() -> None:
    given = columns([op("late", 5, 1), op("early", 0, 1), op("between", 2, 1), op("last", 9, 1)])
    given.launch = np.array([1, ABSENT, -1, 4], np.int64)
    slices = order_slices(given)
    assert slices.launch is not None
    assert slices.launch.tolist() == [-1, -1, 0, -1]
    given = columns([op("late", 5, 1), op("early", 0, 1)])
    given.launch = np.array([2**40, -2], np.int64)
    launch = order_slices(given).launch
    assert launch is not None
    assert launch.tolist() == [-1, -1]
