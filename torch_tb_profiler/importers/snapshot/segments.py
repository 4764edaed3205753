"""Segments of a snapshot and their blocks → rows of side tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.importers.snapshot.entries import StackRef
from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_DEVICE = 10_000
STATES = {
    "active_allocated": "active_allocated",
    "active_pending_free": "active_pending_free",
    "active_awaiting_free": "active_pending_free",
    "inactive": "inactive",
}
"""State of a block in files → its name in the side table."""

Row = tuple[Any, ...]


class SegmentRows(Struct):
    """Rows of ``snapshot_segments`` and ``snapshot_blocks``."""

    segments: list[Row] = field(default_factory=list)
    blocks: list[Row] = field(default_factory=list)

    def __iadd__(self, other: SegmentRows) -> SegmentRows:
        shift = len(self.segments)
        self.segments += other.segments
        self.blocks += [(row[0], row[1] + shift, *row[2:]) for row in other.blocks]
        return self

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The two side tables; blocks without ``traced_bytes``, which needs the events."""
        segment_schema, block_schema = (
            SIDE_SCHEMAS[name] for name in ("snapshot_segments", "snapshot_blocks")
        )
        segments = pl.DataFrame(self.segments, segment_schema, orient="row", strict=False)
        schema = {name: kind for name, kind in block_schema.items() if name != "traced_bytes"}
        return segments, pl.DataFrame(self.blocks, schema, orient="row", strict=False)


def segment_rows(
    segments: Iterable[Any], stacks: Stacks, *, device: int | None = None
) -> SegmentRows:
    """The rows of segments and their blocks.

    Args:
        segments: The segments in the file.
        stacks: Numbers the stacks.
        device: Their device; None if they record it themselves.
    """
    rows = SegmentRows()
    seen: set[int] = set()  # segments never share blocks; a small hostile file could
    for segment in segments:
        if not isinstance(segment, dict) or not isinstance(segment.get("total_size"), int):
            continue
        number = _device_of(segment) if device is None else device
        address = size_of(segment.get("address"))
        pool = segment.get("segment_pool_id")
        row = len(rows.segments)
        expandable = segment.get("is_expandable")
        kind = segment.get("segment_type")
        rows.segments.append(
            (
                number,
                address,
                bytes_of(segment.get("total_size")),
                bytes_of(segment.get("allocated_size")),
                bytes_of(segment.get("active_size")),
                size_of(segment.get("stream")),
                kind[:80] if isinstance(kind, str) else None,
                None if not isinstance(pool, tuple) else str(pool[:2])[:80],
                expandable if isinstance(expandable, bool) else None,
                stack_of(segment.get("frames"), stacks),
            )
        )
        blocks = segment.get("blocks")
        if id(blocks) not in seen:
            rows.blocks += _blocks(blocks, number, row, address, stacks)
            seen.add(id(blocks))
    return rows


def _blocks(
    blocks: Any, device: int, segment: int, address: int | None, stacks: Stacks
) -> list[Row]:
    """The blocks of a segment; before torch 2.1 they had no address and are contiguous."""
    rows = []
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, dict):
            continue
        size = bytes_of(block.get("size"))
        history = block.get("history")
        first = history[0] if isinstance(history, list) and history else {}
        older = first if isinstance(first, dict) else {}
        requested = bytes_of(block.get("requested_size", older.get("real_size")))
        at = size_of(block.get("address")) if "address" in block else address
        state = block.get("state")
        frames = block.get("frames", older.get("frames"))
        name = STATES.get(state) if isinstance(state, str) else None
        rows.append((device, segment, at, size, requested, name, stack_of(frames, stacks)))
        address = None if at is None or size is None else size_of(at + size)
    return rows


def _device_of(segment: dict[Any, Any]) -> int:
    device = segment.get("device")
    return device if isinstance(device, int) and 0 <= device < MAX_DEVICE else 0


def size_of(value: object) -> int | None:
    """A 64-bit integer, those from 2**63 on as two's complement; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        return None
    return value - 2**64 if value >= 2**63 else value


def bytes_of(value: object) -> int | None:
    """A size; None for what is none."""
    size = size_of(value)
    return size if size is not None and 0 <= size <= MAX_BYTES else None


def stack_of(frames: object, stacks: Stacks) -> int:
    """The number of the stack of a list of frames."""
    return NO_STACK if isinstance(frames, StackRef) else stacks.stack_number(frames)
