"""Scopes of interned texts and defaults: the packets of one sequence between two resets.

A packet that clears the state of its sequence begins a scope, and so does one after lost packets:
after a loss the state is unknown until the next reset.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.pftrace.fields import NEEDS_STATE, STATE_CLEARED, TracePacket
from torch_tb_profiler.importers.protobuf.wire import Fields
from torch_tb_profiler.trace.columns import Bools, Int32, Int64


class Scopes:
    """The scopes of one piece.

    Attributes:
        ids: The ids of the sequences in the file.
        sequence: Per packet the index of its sequence in ``ids``.
        scope: Per packet the number of its scope; those of a sequence are consecutive.
        owner: Per scope the index of its sequence in ``ids``.
        is_first: Per scope, whether it continues from earlier pieces.
        is_cleared: Per scope, whether it begins with a reset.
        resets: Per packet, how often its sequence has been reset in this piece.
        is_lost: Per packet, whether it needs texts that were lost in this piece.
        is_pending: Per packet, whether that depends on earlier pieces.
    """

    def __init__(self, packets: Fields) -> None:
        number = packets.ints(TracePacket.SEQUENCE, default=0)
        ids, sequence = np.unique(number, return_inverse=True)
        self.ids: list[int] = ids.tolist()
        self.sequence: Int32 = sequence.astype(np.int32)
        flags = packets.ints(TracePacket.FLAGS, default=0)
        clears = (flags & STATE_CLEARED) != 0
        begins = clears | (packets.ints(TracePacket.DROPPED, default=0) != 0)
        order = np.argsort(self.sequence, kind="stable")
        sorted_sequence = self.sequence[order]
        is_start = np.ones(order.size, np.bool_)
        is_start[1:] = sorted_sequence[1:] != sorted_sequence[:-1]
        is_edge = is_start | begins[order]
        self.scope: Int64 = np.empty(order.size, np.int64)
        self.scope[order] = np.cumsum(is_edge) - 1
        first = order[is_edge]
        self.owner: Int32 = self.sequence[first]
        self.is_first: Bools = is_start[is_edge] & ~begins[first]
        self.is_cleared: Bools = clears[first]
        cleared = np.cumsum(clears[order])
        self.resets: Int64 = np.empty(order.size, np.int64)
        self.resets[order] = cleared - (cleared - clears[order])[is_start][sorted_sequence]
        needs = (flags & NEEDS_STATE) != 0
        is_lost = ~self.is_cleared & ~self.is_first
        self.is_lost: Bools = needs & is_lost[self.scope]
        self.is_pending: Bools = needs & self.is_first[self.scope]

    @property
    def last(self) -> list[int]:
        """The last scope of each sequence."""
        last = np.zeros(len(self.ids), np.int64)
        last[self.owner] = np.arange(self.owner.size)
        return [int(scope) for scope in last]

    def last_before(self, at: Int64, packet: Int64) -> Int64:
        """For each packet, the last candidate at or before it in the same scope.

        Args:
            at: The candidate packets.
            packet: The packets.

        Returns:
            Per packet the index into ``at``; -1 for none.
        """
        size = self.scope.size + 1
        keys = self.scope[at] * size + at
        order = np.argsort(keys)
        position = np.searchsorted(keys[order], self.scope[packet] * size + packet, "right") - 1
        index = np.where(position >= 0, order[position], 0)
        is_same = (position >= 0) & (self.scope[at[index]] == self.scope[packet])
        return np.where(is_same, index, -1)
