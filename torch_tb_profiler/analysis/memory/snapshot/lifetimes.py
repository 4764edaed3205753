"""The blocks that a snapshot knows of, with the events that made them and gave them back.

Definitions: ``docs/views-snapshot.md#how-it-is-counted``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SNAPSHOT_ACTIONS

ALLOC, FREE = SNAPSHOT_ACTIONS.index("alloc"), SNAPSHOT_ACTIONS.index("free_completed")
OOM = SNAPSHOT_ACTIONS.index("oom")

BEFORE = -1
"""Born before the first event that the snapshot holds."""

NO_STACK = -1


class Lifetimes(Struct, frozen=True, eq=False):
    """Every block that was ever allocated, one row per allocation.

    Attributes:
        device: Whose memory.
        address: Where it lies.
        size_bytes: How much, as events tell it (of PyTorch what was asked for, not rounded).
        stack: Row of ``snapshot_stacks``, -1 for none: a release tells who gave back, not who
            allocated.
        born: Row of ``snapshot_events`` that allocated it; :data:`BEFORE` where none did.
        died: Row that gave it back; the number of all rows where none did.
    """

    device: Int32
    address: Int64
    size_bytes: Int64
    stack: Int32
    born: Int64
    died: Int64

    def live_at(self, row: int, device: int) -> Bools:
        """Which blocks of a device are alive after the event of a row."""
        is_live: Bools = (self.device == device) & (self.born <= row) & (self.died > row)
        return is_live


def side_frame(trace: Trace, name: str) -> pl.DataFrame:
    """A side table of a snapshot; empty where the recording is none."""
    side = trace.side.get(name)
    return pl.DataFrame(schema=SIDE_SCHEMAS[name]) if side is None else side.frame


@per_trace
def lifetimes(trace: Trace) -> Lifetimes:
    """The lifetimes of the blocks of all devices.

    An allocation ends with the next ``free_completed`` at its address. A release without an
    allocation, and a block that is in use in the end and was not allocated by any event, was there
    before the first event.
    """
    events = side_frame(trace, "snapshot_events")
    row, device, address = _moves(events)
    is_alloc = events["action"].to_numpy()[row] == ALLOC
    same = np.zeros(len(row), np.bool_)
    same[1:] = (device[1:] == device[:-1]) & (address[1:] == address[:-1])
    died = np.full(len(row), events.height)
    died[:-1][same[1:]] = row[1:][same[1:]]
    before = ~is_alloc & ~(same & np.append(False, is_alloc[:-1]))
    selected = is_alloc | before
    row, before = row[selected], before[selected]
    columns = {
        "device": device[selected],
        "address": address[selected],
        "size_bytes": events["size_bytes"].gather(row).fill_null(0).to_numpy(),
        "stack": np.where(before, NO_STACK, events["stack"].gather(row).to_numpy()),
        "born": np.where(before, BEFORE, row),
        "died": np.where(before, row, died[selected]),
    }
    older = _older(trace, columns, events.height)
    joined = {
        name: np.concatenate((values, older[name].to_numpy().astype(values.dtype)))
        for name, values in columns.items()
    }
    return Lifetimes(**joined)


def _moves(events: pl.DataFrame) -> tuple[Int64, Int32, Int64]:
    """The allocations and releases: row, device, address, by place and then in their order."""
    action = events["action"].to_numpy()
    row = np.flatnonzero((action == ALLOC) | (action == FREE))
    address = events["address"].gather(row)
    if address.null_count():
        row, address = row[address.is_not_null().to_numpy()], address.drop_nulls()
    device, address_ = events["device"].gather(row).to_numpy(), address.to_numpy()
    order = _by_address(device, address_)
    return row[order], device[order], address_[order]


def _by_address(device: Int32, address: Int64) -> Int64:
    """The stable order by device and address. Packed with its number into one integer each, rows
    are sorted several times faster than by an order of two columns."""
    count = len(address)
    if not count:
        return np.empty(0, np.int64)
    offset: Int64 = address - address.min()
    used = int(np.bitwise_or.reduce(offset))
    step = max((used & -used).bit_length() - 1, 0)
    span = (int(offset.max()) >> step) + 1
    devices = int(device.max()) - int(device.min()) + 1
    if used < 0 or devices * span * count >= 2**63:
        order: Int64 = np.lexsort((address, device))
        return order
    offset >>= step
    offset += (device - device.min()).astype(np.int64) * span
    offset *= count
    offset += np.arange(count)
    offset.sort()
    offset %= count
    return offset


def _older(trace: Trace, columns: dict[str, Int64], events: int) -> pl.DataFrame:
    """The blocks that are in use in the end and that no event allocated."""
    is_live = columns["died"] == events
    known = pl.DataFrame(
        {"device": columns["device"][is_live], "address": columns["address"][is_live]},
        {"device": pl.Int32, "address": pl.Int64},
    )
    blocks = side_frame(trace, "snapshot_blocks").filter(
        pl.col("state") != "inactive", pl.col("address").is_not_null()
    )
    older = blocks.join(known, on=["device", "address"], how="anti")
    return older.select(
        "device", "address", pl.col("traced_bytes").fill_null(0).alias("size_bytes"), "stack",
        born=pl.lit(BEFORE, pl.Int64), died=pl.lit(events, pl.Int64),
    )  # fmt: skip
