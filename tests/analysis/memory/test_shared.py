"""Records whose total of 0 is none, told from an allocator that has nothing left."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from torch_tb_profiler.analysis.memory.pairs import pair
from torch_tb_profiler.analysis.memory.shared import uncounted
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.views.memory.view import NO_SHARED_TOTALS, memory


@st.composite
def two_sources(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], list[bool]]:
    """Records (address, size, total) of an allocator and of a mapper that says 0, and which are
    the mapper's. Both may release what they held before the recording."""
    held = {n: 10 * (n + 1) for n in range(draw(st.integers(0, 3)))}  # the allocator's blocks
    mapped = {100 + n: 7 for n in range(draw(st.integers(0, 2)))}
    rows: list[tuple[int, int, int]] = []
    is_mapped: list[bool] = []
    for number in range(draw(st.integers(0, 25))):
        is_mapping = draw(st.booleans())
        blocks = mapped if is_mapping else held
        if draw(st.booleans()) and blocks:
            address = draw(st.sampled_from(sorted(blocks)))
            size = -blocks.pop(address)
        else:
            address, size = 1000 + number, draw(st.integers(1, 50))
            blocks[address] = size
        rows.append((address, size, 0 if is_mapping else sum(held.values())))
        is_mapped.append(is_mapping)
    return rows, is_mapped


@given(two_sources())
def test_no_total_is_torn_and_none_is_lost(
    given_rows: tuple[list[tuple[int, int, int]], list[bool]],
) -> None:
    rows, is_mapped = given_rows
    address, size, total = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    place = np.zeros(len(rows), np.int64)
    usable = np.ones(len(rows), np.bool_)
    found = uncounted(place, size, total, pair(place, address, size, usable))
    # What is said to be none is the mapper's; what of the mapper's is not, changes no total.
    assert not (found & ~np.array(is_mapped, np.bool_)).any()
    level: int | None = None
    for one, of_mapper, row in zip(found.tolist(), is_mapped, rows, strict=True):
        if not of_mapper:
            level = row[2]
        elif not one and level is not None and any(not other for other in is_mapped):
            assert row[1] < 0


def test_the_end_of_a_mapping_that_others_hold_names_no_address() -> None:
    size = np.array([100, 64, -64, 0, -40, -60])
    total = np.array([100, 0, 0, 0, 60, 0])
    address = np.array([1, 2, 0, 0, 3, 1])
    place, usable = np.zeros(6, np.int64), np.ones(6, np.bool_)
    found = uncounted(place, size, total, pair(place, address, size, usable))
    assert found.tolist() == [False, True, True, True, False, False]


def test_another_allocator_tells_nothing() -> None:
    """A lone release that leaves 0 on one device, while the other holds much."""
    place = np.array([1, 0, 1])
    size, total = np.array([64, -8, 64]), np.array([64, 0, 128])
    address, usable = np.array([1, 2, 3]), np.ones(3, np.bool_)
    assert not uncounted(place, size, total, pair(place, address, size, usable)).any()
    absent = np.full(3, ABSENT)
    assert not uncounted(place, size, absent, pair(place, address, size, usable)).any()


def loader_workers() -> list[t.Event]:
    """Three batches that a worker hands over, beside what the CPU's allocator counts."""
    events = [t.op("aten::mm", 0, 400), t.memory(1, 1000, address=1, device_type=0, allocated=1000)]
    for number in range(3):
        at = 100 * number + 10
        shared = 500 + number
        events += [
            t.memory(at, 64, address=shared, device_type=0, allocated=0, reserved=64),
            t.memory(at + 20, 300, address=2, device_type=0, allocated=1300, reserved=0),
            t.memory(at + 40, -300, address=2, device_type=0, allocated=1000, reserved=0),
        ]
        if number:
            before = shared - 1
            events.append(t.memory(at + 60, -64, address=before, device_type=0, allocated=0))
    events.append(t.memory(390, -1000, address=1, device_type=0, allocated=0, reserved=0))
    return events


def test_batches_of_loader_workers_do_not_tear_the_curve() -> None:
    view = memory(t.trace(loader_workers()), Selection())
    (line,) = view.series["memory_curve"].lines
    assert line.name == "CPU allocated"
    assert line.y == [1000, *[1300, 1000] * 3, 0]
    peaks = {row["device"]: row for row in view.tables["memory_peaks"].frame.rows(named=True)}
    assert peaks["CPU"]["peak_allocated_bytes"] == 1300
    assert peaks["CPU"]["peak_reserved_bytes"] is None
    assert peaks["CPU shared"]["peak_allocated_bytes"] is None
    reasons = view.tables["memory_peaks"].null_reasons
    assert reasons["peak_allocated_bytes"] == NO_SHARED_TOTALS
    notes = {note.code: note.evidence for note in view.notes}
    assert notes["shared_memory"] == {"count": 5}
    assert "no_totals" not in notes


def test_what_is_alive_at_the_peak_is_no_more_than_the_peak() -> None:
    view = memory(t.trace(loader_workers()), Selection())
    frame = view.tables["peak_composition"].frame
    assert set(frame["device"]) == {"CPU"}
    assert frame["size_bytes"].sum() == 2 * 1300
    assert "peak_composition_excess" not in [note.code for note in view.notes]


def test_blocks_that_are_shared_are_events_with_both_ends() -> None:
    frame = memory(t.trace(loader_workers()), Selection()).tables["memory_events"].frame
    shared = frame.filter(frame["device"] == "CPU shared").select("allocation_us", "release_us")
    assert sorted(shared.rows()) == [(10, 170), (110, 270), (210, None)]


def test_a_device_that_says_0_throughout_gives_no_totals() -> None:
    events = [t.memory(at, 64, address=at, device_type=12, allocated=0) for at in (10, 20)]
    view = memory(t.trace([t.op("aten::a", 0, 50), *events]), Selection())
    assert view.series == {}
    assert view.tables["memory_peaks"].frame["peak_allocated_bytes"].to_list() == [None]
