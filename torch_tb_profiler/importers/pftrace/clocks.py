"""Timestamps → nanoseconds of the trace's clock.

A timestamp refers to the trace's clock (boot time by default), to another clock that a snapshot
relates to it, or, for an incremental clock of a sequence, to the previous timestamp
(https://perfetto.dev/docs/concepts/clock-sync).
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.importers.pftrace.batch import ClockReading, PacketBatch
from torch_tb_profiler.trace.columns import ABSENT, EPOCH_NS, Int64

REALTIME, BOOT_TIME = 1, 6
SEQUENCE_CLOCKS = range(64, 128)
"""Ids of clocks that belong to a sequence."""

USABLE_NS = 2**62
MAX_STEP_NS = 2**50
"""A longer step between two packets (13 days) is damage; shorter ones do not overflow in a
piece."""

MAX_UNIT_NS = 10**9


class _Clock(Struct, frozen=True):
    """The state of a clock after one of its readings.

    Attributes:
        packet: The packet of the reading; -1 for one in an earlier piece.
        is_incremental: Whether its timestamps are relative to the previous one.
        unit_ns: Nanoseconds per unit of its timestamps.
        last_ns: Its current value.
        offset_ns: The offset to the trace's clock.
    """

    packet: int
    is_incremental: bool
    unit_ns: int
    last_ns: int
    offset_ns: int


_Key = tuple[int, int]
"""Sequence (-1 for a global clock) and id of a clock."""


class Clocks(Struct):
    """The clocks of a file, as of the last piece.

    Attributes:
        start_ns: Time of the first snapshot on the trace's clock; None without one.
        epoch_ns: The same in nanoseconds since the epoch; None if it is not recorded.
    """

    start_ns: int | None = None
    epoch_ns: int | None = None
    _known: dict[_Key, _Clock] = field(default_factory=dict)

    def times(self, batch: PacketBatch, default_clocks: list[int]) -> Int64:
        """The time of each packet of the next piece; :data:`ABSENT` if it is unknown.

        Args:
            batch: The piece.
            default_clocks: Per sequence of the piece, its default clock before the piece; 0 for the
                trace's clock.
        """
        stamps = batch.timestamp
        clock = batch.clock
        if (clock < 0).any():
            clock = np.where(clock < 0, np.array(default_clocks, np.int64)[batch.sequence], clock)
        known = self._readings(batch.snapshots)
        is_trace_clock = (clock == 0) | (clock == BOOT_TIME)
        times = np.where(is_trace_clock & (stamps >= 0) & (stamps < USABLE_NS), stamps, ABSENT)
        others = np.flatnonzero(~is_trace_clock & (stamps >= 0))
        if others.size:
            self._convert(batch, clock, others, known, times)
        self._known |= {
            key: replace(states[-1], packet=-1) for key, states in known.items() if states
        }
        return times

    def _readings(self, snapshots: list[ClockReading]) -> dict[_Key, list[_Clock]]:
        """Per clock its states: the last one before the piece, then one per snapshot."""
        states = {key: [clock] for key, clock in self._known.items()}
        for packet, group in groupby(snapshots, key=lambda reading: reading.packet):
            readings = list(group)
            boot = next((each.value for each in readings if each.clock == BOOT_TIME), -1)
            if not 0 <= boot < USABLE_NS:
                continue
            if self.start_ns is None:
                self.start_ns = boot
                real = next((each.value for each in readings if each.clock == REALTIME), boot)
                self.epoch_ns = real if EPOCH_NS < real < USABLE_NS else None
            for each in readings:
                unit = each.unit_ns if 0 < each.unit_ns <= MAX_UNIT_NS else 1
                value = each.value * unit
                if 0 <= value < USABLE_NS:
                    clock = _Clock(packet, each.is_incremental, unit, value, boot - value)
                    states.setdefault((each.sequence, each.clock), []).append(clock)
        return states

    def _convert(
        self,
        batch: PacketBatch,
        clock: Int64,
        rows: Int64,
        known: dict[_Key, list[_Clock]],
        times: Int64,
    ) -> None:
        """Set the times of packets with other clocks, clock by clock."""
        is_sequence_clock = (clock[rows] >= SEQUENCE_CLOCKS.start) & (
            clock[rows] < SEQUENCE_CLOCKS.stop
        )
        sequence = np.where(is_sequence_clock, batch.sequence[rows], -1)
        keys, key = np.unique(np.stack([sequence, clock[rows]], 1), axis=0, return_inverse=True)
        key = key.reshape(-1)
        order = np.argsort(key, kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(key))[:-1])
        for (owner, clock_id), packets in zip(keys.tolist(), parts, strict=True):
            clock_key = (batch.sequences[owner] if owner >= 0 else -1, clock_id)
            segments = known.get(clock_key)
            if segments:
                times[packets], last = _times_of_clock(batch.timestamp[packets], packets, segments)
                segments[-1] = replace(segments[-1], last_ns=last)


def _times_of_clock(stamps: Int64, packets: Int64, segments: list[_Clock]) -> tuple[Int64, int]:
    """The times of packets of one clock, and the value of the clock after them."""
    at = np.array([each.packet for each in segments])
    segment = np.searchsorted(at, packets, "right") - 1
    is_before = segment < 0
    segment[is_before] = 0
    unit, last, offset = (
        np.array([getattr(each, name) for each in segments], np.int64)[segment]
        for name in ("unit_ns", "last_ns", "offset_ns")
    )
    is_incremental = np.array([each.is_incremental for each in segments])[segment]
    limit = np.where(is_incremental, MAX_STEP_NS, USABLE_NS) // unit
    is_bad = stamps > limit
    value = np.where(is_bad, 0, stamps) * unit
    step = np.where(is_incremental & ~is_before, value, 0)
    total = np.cumsum(step)
    first = np.searchsorted(segment, segment)  # first row of the same segment
    value = np.where(is_incremental, last + total - (total - step)[first], value)
    times = value + offset
    times[is_bad | (is_before & is_incremental)] = ABSENT
    is_last = segment == len(segments) - 1
    current = int(value[is_last][-1]) if is_last.any() else segments[-1].last_ns
    return times, current
