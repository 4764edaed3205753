"""Timestamps → nanoseconds of the trace's clock.

A timestamp refers to the trace's clock (boot time, or the primary clock that a snapshot names), to
a clock that snapshots relate to it, or, for an incremental clock of a sequence, to the previous
timestamp (https://perfetto.dev/docs/concepts/clock-sync).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.importers.pftrace.batch import ClockSnapshot, PacketBatch
from torch_tb_profiler.importers.pftrace.clock_graph import USABLE_NS, ClockGraph, ClockKey
from torch_tb_profiler.importers.protobuf.wire import stable_order
from torch_tb_profiler.trace.columns import ABSENT, EPOCH_NS, Int64

REALTIME, BOOT_TIME = (-1, 1), (-1, 6)
SEQUENCE_CLOCKS = range(64, 128)
"""Ids of clocks that belong to a sequence."""

ClockPackets = tuple[ClockKey, Int64]
"""A clock, and the packets in ascending order whose timestamps are its."""

MAX_STEP_NS = 2**50
"""A longer step between two packets (13 days) is damage; shorter ones do not overflow in a
piece."""

MAX_UNIT_NS = 10**9


class _Clock(Struct, frozen=True):
    """The state of a clock after one of its readings.

    Attributes:
        packet: The packet of the reading; -1 for one in another piece.
        is_incremental: Whether its timestamps are relative to the previous one.
        unit_ns: Nanoseconds per unit of its timestamps.
        last_ns: Its current value; None before its first reading.
    """

    packet: int
    is_incremental: bool
    unit_ns: int
    last_ns: int | None


class Clocks(Struct):
    """The clocks of a file.

    Snapshots are added as they are read (:meth:`observe`), which may be before the packets of
    their piece get their times (:meth:`times`).

    Attributes:
        start_ns: Time of the first snapshot that gives the time of day, on the trace's clock; None
            without one.
        epoch_ns: The same in nanoseconds since the epoch.
    """

    start_ns: int | None = None
    epoch_ns: int | None = None
    _graph: ClockGraph = field(default_factory=lambda: ClockGraph(BOOT_TIME))
    _is_target_fixed: bool = False
    _forms: dict[ClockKey, _Clock] = field(default_factory=dict)
    _known: dict[ClockKey, _Clock] = field(default_factory=dict)

    def observe(self, snapshots: list[ClockSnapshot]) -> None:
        """Add the snapshots of the next piece of the file."""
        for snapshot in snapshots:
            readings = {}
            for key, clock in _plausible(snapshot).items():
                self._forms.setdefault(key, replace(clock, packet=-1, last_ns=None))
                readings[key] = clock.last_ns or 0
            self._graph.add(readings)
            if (-1, snapshot.primary) in readings and not self._is_target_fixed:
                self._graph.set_target((-1, snapshot.primary))
                self._is_target_fixed = True
            epoch = readings.get(REALTIME, 0)
            if self.start_ns is None and epoch > EPOCH_NS and self._graph.target in readings:
                self.start_ns, self.epoch_ns = readings[self._graph.target], epoch

    def unrelated(self, stamped: list[ClockPackets]) -> set[ClockKey]:
        """The clocks of some packets that no snapshot so far relates to the trace's clock."""
        return {clock for clock, _ in stamped if not self._graph.is_related(clock)}

    def times(self, batch: PacketBatch, stamped: list[ClockPackets]) -> Int64:
        """The time of each packet of a piece; :data:`ABSENT` if it is unknown.

        Args:
            batch: The piece, after the ones before it in the file.
            stamped: From :func:`clock_packets`.
        """
        stamps = batch.timestamp
        self._is_target_fixed |= bool(stamped)  # times must not be of two clocks
        states = self._states(batch.snapshots)
        times = np.where((stamps >= 0) & (stamps < USABLE_NS), stamps, ABSENT)
        for key, packets in stamped:
            form = self._forms.get(key, _Clock(-1, is_incremental=False, unit_ns=1, last_ns=None))
            segments = states.get(key, [form])
            values, last_ns = _values(stamps[packets], packets, segments)
            segments[-1] = replace(segments[-1], last_ns=last_ns)
            times[packets] = self._graph.convert(values, key)
        self._known |= {key: replace(each[-1], packet=-1) for key, each in states.items()}
        return times

    def _states(self, snapshots: list[ClockSnapshot]) -> dict[ClockKey, list[_Clock]]:
        """Per clock its states: the last one before the piece, then one per snapshot of it."""
        states = {key: [clock] for key, clock in self._known.items()}
        for snapshot in snapshots:
            for key, clock in _plausible(snapshot).items():
                states.setdefault(key, []).append(clock)
        return states


def _plausible(snapshot: ClockSnapshot) -> dict[ClockKey, _Clock]:
    """The states of the clocks that a snapshot reads; of repeated clocks the last counts."""
    clocks = {}
    for each in snapshot.readings:
        unit_ns = each.unit_ns if 0 < each.unit_ns <= MAX_UNIT_NS else 1
        value_ns = each.value * unit_ns
        if 0 <= value_ns < USABLE_NS:
            key = (each.sequence, each.clock)
            clocks[key] = _Clock(snapshot.packet, each.is_incremental, unit_ns, value_ns)
    return clocks


def clock_packets(batch: PacketBatch, default_clocks: list[int]) -> list[ClockPackets]:
    """The packets of a piece by the clock of their timestamp, without those of the trace's clock.

    Args:
        batch: The piece.
        default_clocks: Per sequence of the piece, its default clock before the piece; 0 for the
            trace's clock.
    """
    clock = batch.clock
    if (clock < 0).any():
        clock = np.where(clock < 0, np.array(default_clocks, np.int64)[batch.sequence], clock)
    rows = np.flatnonzero((clock != 0) & (batch.timestamp >= 0))
    if not rows.size:
        return []
    ids, id_code = np.unique(clock[rows], return_inverse=True)
    is_of_sequence = ((ids >= SEQUENCE_CLOCKS.start) & (ids < SEQUENCE_CLOCKS.stop))[id_code]
    owner = np.where(is_of_sequence, batch.sequence[rows] + 1, 0)
    keys, key = np.unique(id_code * (len(batch.sequences) + 1) + owner, return_inverse=True)
    order = stable_order(key)
    parts = np.split(rows[order], np.cumsum(np.bincount(key))[:-1])
    owners = [-1, *batch.sequences]
    codes = [divmod(each, len(owners)) for each in keys.tolist()]
    return [
        ((owners[owner], int(ids[code])), packets)
        for (code, owner), packets in zip(codes, parts, strict=True)
    ]


def _values(stamps: Int64, packets: Int64, segments: list[_Clock]) -> tuple[Int64, int | None]:
    """The values of one clock at packets in nanoseconds, and the one after them.

    A value is :data:`ABSENT` where its timestamp is implausible, or relative to none.
    """
    at = np.array([each.packet for each in segments])
    segment = np.searchsorted(at, packets, "right") - 1
    is_before = segment < 0
    segment[is_before] = 0
    unit, last = (
        np.array(column, np.int64)[segment]
        for column in (
            [each.unit_ns for each in segments],
            [each.last_ns or 0 for each in segments],
        )
    )
    is_incremental = np.array([each.is_incremental for each in segments])[segment]
    has_last = np.array([each.last_ns is not None for each in segments])[segment] & ~is_before
    limit = np.where(is_incremental, MAX_STEP_NS, USABLE_NS) // unit
    is_bad = stamps > limit
    value = np.where(is_bad, 0, stamps) * unit
    step = np.where(is_incremental & ~is_before, value, 0)
    total = np.cumsum(step)
    first = np.searchsorted(segment, segment)  # first row of the same segment
    value = np.where(is_incremental, last + total - (total - step)[first], value)
    is_known = ~is_bad & (has_last | ~is_incremental)
    is_last = segment == len(segments) - 1
    last_ns = segments[-1].last_ns
    if is_last.any() and last_ns is not None:
        last_ns = int(value[is_last][-1])
    return np.where(is_known, value, ABSENT), last_ns
