"""Which blocks are in use after each event: the allocator that was simulated knows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.snapshots import simulated, trace_of
from torch_tb_profiler.analysis.memory.snapshot.course import MAX_POINTS, course_rows
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import BEFORE, _by_address, lifetimes
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments, row_at


@pytest.mark.parametrize("ring", [None, 60])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_use_after_each_event(seed: int, ring: int | None) -> None:
    snapshot, states = simulated(seed, events=250, devices=2, ring=ring)
    trace = trace_of(pickle.dumps(snapshot, 4))
    lived = lifetimes(trace)
    row = 0
    for device, course in enumerate(states):
        for state in course:
            alive = lived.live_at(row, device)
            found = dict(zip(lived.address[alive], lived.size_bytes[alive], strict=True))
            assert found == state
            row += 1
    assert (lived.born == BEFORE).any() == (ring is not None)


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.integers(-1, 3),
            st.sampled_from([0, 512, 1024, 7, 2**40, 2**62, -(2**63), 2**63 - 1, -1]),
        ),
        max_size=30,
    ),
    st.sampled_from([512, 1]),
)
def test_rows_by_address_keep_their_order(rows: list[tuple[int, int]], step: int) -> None:
    near = [(device, address) for device, address in rows if address % step == 0]
    for found in (rows, near, [row for row in near if abs(row[1]) < 2**41]):
        device = np.array([device for device, _ in found], np.int32)
        address = np.array([address for _, address in found], np.int64)
        expected = sorted(range(len(found)), key=lambda place: found[place])
        assert _by_address(device, address).tolist() == expected


def test_moments_and_peak() -> None:
    snapshot, states = simulated(7, events=400, devices=2)
    trace = trace_of(pickle.dumps(snapshot, 4))
    offset = 0
    for device, course in zip(device_moments(trace), states, strict=True):
        totals = [sum(state.values()) for state in course]
        assert device.peak == offset + int(np.argmax(totals))
        assert (device.first, device.last) == (offset, offset + len(course) - 1)
        entries = snapshot["device_traces"][device.device]
        base_us = trace.meta.base_ns // 1000
        middle = len(course) // 2
        moment_ns = (entries[middle]["time_us"] - base_us) * 1000
        assert row_at(trace, device, moment_ns) == offset + middle
        assert row_at(trace, device, moment_ns - 1) == offset + middle - 1
        assert row_at(trace, device, -1) == offset - 1
        offset += len(course)


def test_the_course_is_thin_and_keeps_its_peak() -> None:
    snapshot, states = simulated(8, events=7000)
    trace = trace_of(pickle.dumps(snapshot, 4))
    (device,) = device_moments(trace)
    rows = course_rows(trace, device)
    assert len(rows) <= MAX_POINTS
    assert device.peak in rows
    assert {device.first, device.last} <= set(rows.tolist())
    assert (np.diff(rows) > 0).all()
    assert len(states[0]) > MAX_POINTS
