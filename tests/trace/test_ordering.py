"""The order of slices, also where their times leave no room for a joint key."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import columns, op
from torch_tb_profiler.trace.ordering import order_slices


@pytest.mark.parametrize("far_us", [10, 2**53])
def test_by_track_start_longer_first_and_place_in_the_file(far_us: int) -> None:
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
