"""Timestamps of clocks other than the trace's, over pieces of any size."""

from __future__ import annotations

import pytest

from tests.importers.pftrace.writer import (
    TRACKS,
    begin,
    clocks,
    end,
    event,
    message,
    packet,
    read_data,
    slices,
)

EPOCH = 1_790_857_026 * 10**9
BOOT = 5 * 10**12
START = clocks((6, BOOT), (1, EPOCH))
OWN = 64


def stamped(at: int, kind: int, clock: int, sequence: int = 1) -> bytes:
    track_event = message((9, kind), (11, 2), (23, "op"))
    return packet((8, at), (58, clock), (11, track_event), sequence=sequence)


def test_times_count_from_the_first_snapshot() -> None:
    columns = read_data(START + TRACKS + begin(BOOT + 5, "op") + end(BOOT + 9))
    assert slices(columns) == [("op", 5, 4)]
    assert columns.base_ns == EPOCH


def test_another_clock_is_shifted_by_the_snapshot_before() -> None:
    later = clocks((6, BOOT + 1000), (3, 1200))
    data = clocks((6, BOOT), (1, EPOCH), (3, 100)) + TRACKS
    data += stamped(107, 1, 3) + stamped(110, 2, 3) + later + stamped(1207, 1, 3)
    data += stamped(1210, 2, 3)
    assert slices(read_data(data)) == [("op", 7, 3), ("op", 1007, 3)]


@pytest.mark.parametrize("piece_bytes", [1, 150, 1 << 20])
def test_an_incremental_clock_adds_up_over_pieces(piece_bytes: int) -> None:
    data = START + TRACKS
    for sequence in (1, 2):  # each has a clock 64 of its own; in µs
        at = BOOT + 10**6 * sequence
        data += clocks((6, at), (OWN, at // 1000, 1, 1000), sequence=sequence)
        data += packet((13, 1), (59, message((58, OWN), (11, message((11, 2))))), sequence=sequence)
    for kind in (1, 2, 1, 2):
        data += packet((8, 3), (13, 2), (11, message((9, kind), (23, "op"))), sequence=1)
        data += packet((8, 7), (13, 2), sequence=2)  # moves only its own clock
    data += clocks((6, BOOT + 9 * 10**6), (OWN, (BOOT + 9 * 10**6) // 1000, 1, 1000))
    data += packet((8, 1), (11, message((9, 1), (23, "late"))))
    data += packet((8, 1), (11, message((9, 2))))
    data += packet((8, 1), (11, message((9, 1), (11, 2), (23, "own"))), sequence=2)
    data += packet((8, 1), (11, message((9, 2), (11, 2))), sequence=2)
    rows = slices(read_data(data, piece_bytes))
    assert rows == [
        ("op", 1_003_000, 3000),
        ("op", 1_009_000, 3000),
        ("late", 9_001_000, 1000),
        ("own", 2_029_000, 1000),
    ]


def test_clocks_without_a_snapshot_are_dropped_and_counted() -> None:
    data = START + TRACKS + stamped(5, 1, 99) + stamped(6, 1, 70) + event(-1, 1, (11, 2))
    columns = read_data(data + begin(BOOT, "op") + end(BOOT + 1))
    assert slices(columns) == [("op", 0, 1)]
    assert columns.quality.counts["event_without_time"] == 3
    assert columns.quality.examples["events_left_out"] == ["60.0 % of the file's events (3 of 5)"]


def test_implausible_clocks_break_nothing() -> None:
    huge = 2**64 - 1
    data = clocks((6, huge), (1, huge)) + START + TRACKS
    data += clocks((6, BOOT), (OWN, huge, 1, huge)) + clocks((6, BOOT), (OWN, 5, 1, 2**62))
    data += stamped(2**61, 1, OWN) + stamped(1, 1, OWN) + begin(BOOT + 1, "op") + end(BOOT + 2)
    columns = read_data(data)
    assert ("op", 1, 1) in slices(columns)


def test_a_clock_is_related_through_others_by_the_last_snapshots_before() -> None:
    """Clock 64 of the sequence (in µs) → 3 → 6: each snapshot reads two of them."""
    data = (
        TRACKS
        + clocks((3, 10_000), (6, BOOT), (1, EPOCH))
        + clocks((3, 90_000), (6, BOOT + 80_500))
    )
    data += clocks((OWN, 20, 0, 1000), (3, 20_000)) + clocks((OWN, 50, 0, 1000), (3, 50_007))
    data += stamped(21, 1, OWN) + stamped(51, 2, OWN) + stamped(95, 1, OWN) + stamped(96, 2, OWN)
    expected = [("op", 11_000, 30_007), ("op", 85_507, 1000)]
    for piece_bytes in (1, 1 << 20):
        assert slices(read_data(data, piece_bytes)) == expected


@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_packets_wait_for_the_snapshot_that_relates_their_clock(piece_bytes: int) -> None:
    own = clocks((OWN, 20, 1, 1000), (3, 20_000))
    events = stamped(1, 1, OWN) + begin(BOOT + 12_000, "boot") + end(BOOT + 12_500)
    late = clocks((3, 10_000), (6, BOOT), (1, EPOCH))
    columns = read_data(TRACKS + own + events + stamped(4, 2, OWN) + late, piece_bytes)
    assert sorted(slices(columns)) == [("boot", 12_000, 500), ("op", 11_000, 4000)]
    assert "event_without_time" not in columns.quality.counts


def test_the_first_primary_clock_is_the_traces() -> None:
    """As Chromium's service writes it: 3 in the place of boot time."""
    readings = [
        (1, message((1, clock), (2, at))) for clock, at in ((6, BOOT), (1, EPOCH), (3, 500))
    ]
    data = TRACKS + packet((6, message(*readings, (2, 3)))) + begin(507, "op") + end(510)
    data += packet((6, message(*readings, (2, 6)))) + stamped(BOOT + 20, 1, 6) + stamped(530, 2, 3)
    columns = read_data(data)
    assert slices(columns) == [("op", 7, 3), ("op", 20, 10)]
    assert columns.base_ns == EPOCH


def test_a_primary_clock_that_is_not_read_is_ignored() -> None:
    readings = [(1, message((1, clock), (2, at))) for clock, at in ((6, BOOT), (1, EPOCH))]
    data = TRACKS + packet((6, message(*readings, (2, 77)))) + stamped(BOOT, 1, 6)
    assert slices(read_data(data + stamped(BOOT + 3, 2, 6))) == [("op", 0, 3)]


def test_snapshots_of_many_clocks_cost_as_much_as_their_readings() -> None:
    """Pairs would be ten million."""
    data = TRACKS + clocks(*((number, BOOT + number) for number in range(200, 3400))) * 20
    data += clocks((6, BOOT), (200, BOOT)) + stamped(BOOT + 3009, 1, 3000)
    assert slices(read_data(data + stamped(BOOT + 3011, 2, 3000))) == [("op", BOOT + 209, 2)]
