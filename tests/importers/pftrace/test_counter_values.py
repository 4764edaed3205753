"""Counters of tracks: increments are added up until a reset, and factors count."""

from __future__ import annotations

import pytest

from tests.importers.pftrace.writer import event, message, packet, read_data, rows

CLEARED, COUNTER = 1, 4


def described(uuid: int, name: str, *counter: tuple[int, int]) -> bytes:
    return packet((60, message((1, uuid), (2, name), (8, message(*counter)))))


def counted(at: int, uuid: int, value: int, sequence: int, flags: int = 0) -> bytes:
    return event(at, COUNTER, (11, uuid), (30, value), sequence=sequence, flags=flags)


@pytest.mark.parametrize("piece_bytes", [1, 40, 1 << 20])
def test_increments_are_added_up_until_their_sequence_is_reset(piece_bytes: int) -> None:
    data = described(40, "KiB", (4, 1024), (5, 1)) + described(41, "plain")
    data += counted(1, 40, 5, 5, CLEARED) + counted(2, 40, 3, 5)
    data += counted(3, 41, 7, 6, CLEARED)  # another sequence resets nothing of this one
    data += counted(4, 40, 1, 5) + counted(5, 40, 2, 5, CLEARED) + counted(6, 40, 4, 5)
    data += counted(7, 41, 9, 6)
    counters = rows(read_data(data, piece_bytes), "counters")
    values = {name: [each["value"] for each in counters if each["name_code"] == name]
              for name in ("KiB", "plain")}  # fmt: skip
    assert values == {"KiB": [5 * 1024, 8 * 1024, 9 * 1024, 2 * 1024, 6 * 1024], "plain": [7, 9]}


def test_factors_scale_values_that_are_no_increments() -> None:
    data = described(40, "MB", (4, 10**6)) + counted(1, 40, 5, 5) + counted(2, 40, 3, 5)
    assert [each["value"] for each in rows(read_data(data), "counters")] == [5e6, 3e6]
