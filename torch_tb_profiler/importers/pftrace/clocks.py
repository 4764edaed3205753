"""Time stamps → nanoseconds of the trace's clock.

A time stamp is of the trace's own clock (the boot time, if nothing else is said), of another clock
that a snapshot relates to it, or, of a clock of the sequence, the time since its last one
(https://perfetto.dev/docs/concepts/clock-sync).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from torch_tb_profiler.importers.pftrace.batch import ClockReading, PacketBatch
from torch_tb_profiler.trace.columns import ABSENT, EPOCH_NS, Int64

REALTIME, BOOT_TIME = 1, 6
SEQUENCE_CLOCKS = range(64, 128)
"""Clocks that each sequence has for itself."""

USABLE_NS = 2**62
MAX_STEP_NS = 2**50
"""A longer time between two packets (13 days) is damage; less does not overflow in a piece."""

MAX_UNIT_NS = 10**9


@dataclass(frozen=True, slots=True)
class _Clock:
    """A clock from one of its readings on.

    Attributes:
        packet: Of the piece, that holds the reading; -1 for one of pieces before.
        is_incremental: Whether its time stamps are the time since the last one.
        unit_ns: Of its time stamps.
        last_ns: Where it stands.
        offset_ns: What is to be added for the trace's time.
    """

    packet: int
    is_incremental: bool
    unit_ns: int
    last_ns: int
    offset_ns: int


_Key = tuple[int, int]
"""Sequence (-1: of everybody) and number of a clock."""


@dataclass(slots=True)
class Clocks:
    """The clocks of a file, as far as it was read.

    Attributes:
        start_ns: The trace's time of its first snapshot; None without one.
        epoch_ns: The same since 1970; None where nothing says so.
    """

    start_ns: int | None = None
    epoch_ns: int | None = None
    _known: dict[_Key, _Clock] = field(default_factory=dict)

    def times(self, batch: PacketBatch, default_clocks: list[int]) -> Int64:
        """The time of each packet of the next piece; :data:`ABSENT` for none that can be known.

        Args:
            batch: The piece.
            default_clocks: Per sequence of the piece, the default before it; 0 for the trace's.
        """
        stamps = batch.timestamp
        clock = batch.clock
        if (clock < 0).any():
            clock = np.where(clock < 0, np.array(default_clocks, np.int64)[batch.sequence], clock)
        known = self._readings(batch.snapshots)
        is_own = (clock == 0) | (clock == BOOT_TIME)
        times = np.where(is_own & (stamps >= 0) & (stamps < USABLE_NS), stamps, ABSENT)
        others = np.flatnonzero(~is_own & (stamps >= 0))
        if others.size:
            self._convert(batch, clock, others, known, times)
        self._known |= {key: replace(some[-1], packet=-1) for key, some in known.items() if some}
        return times

    def _readings(self, snapshots: list[ClockReading]) -> dict[_Key, list[_Clock]]:
        """Per clock what is known of it: from before, then by each snapshot of the piece."""
        found = {key: [clock] for key, clock in self._known.items()}
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
                    found.setdefault((each.sequence, each.clock), []).append(clock)
        return found

    def _convert(
        self,
        batch: PacketBatch,
        clock: Int64,
        rows: Int64,
        known: dict[_Key, list[_Clock]],
        times: Int64,
    ) -> None:
        """Give the packets of other clocks their times, clock by clock."""
        is_own = (clock[rows] >= SEQUENCE_CLOCKS.start) & (clock[rows] < SEQUENCE_CLOCKS.stop)
        place = np.where(is_own, batch.sequence[rows], -1)
        keys, key = np.unique(np.stack([place, clock[rows]], 1), axis=0, return_inverse=True)
        key = key.reshape(-1)
        order = np.argsort(key, kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(key))[:-1])
        for (owner, number), some in zip(keys.tolist(), parts, strict=True):
            name = (batch.sequences[owner] if owner >= 0 else -1, number)
            segments = known.get(name)
            if segments:
                times[some], last = _of_clock(batch.timestamp[some], some, segments)
                segments[-1] = replace(segments[-1], last_ns=last)


def _of_clock(stamps: Int64, packets: Int64, segments: list[_Clock]) -> tuple[Int64, int]:
    """The times of packets of one clock, and where that stands then."""
    at = np.array([each.packet for each in segments])
    segment = np.searchsorted(at, packets, "right") - 1
    is_before = segment < 0
    segment[is_before] = 0
    unit, last, offset = (
        np.array([getattr(each, name) for each in segments], np.int64)[segment]
        for name in ("unit_ns", "last_ns", "offset_ns")
    )
    grows = np.array([each.is_incremental for each in segments])[segment]
    limit = np.where(grows, MAX_STEP_NS, USABLE_NS) // unit
    is_bad = stamps > limit
    value = np.where(is_bad, 0, stamps) * unit
    step = np.where(grows & ~is_before, value, 0)
    total = np.cumsum(step)
    first = np.searchsorted(segment, segment)  # of the rows of the same segment
    value = np.where(grows, last + total - (total - step)[first], value)
    times = value + offset
    times[is_bad | (is_before & grows)] = ABSENT
    is_last = segment == len(segments) - 1
    stands = int(value[is_last][-1]) if is_last.any() else segments[-1].last_ns
    return times, stands
