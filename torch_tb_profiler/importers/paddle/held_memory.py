"""Which host event each memory event belongs to, as Paddle's files say.

A node of the protobuf has its memory events; in JSON they follow their host event. Times do not
say it as well: those of JSON are whole microseconds.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import (
    ABSENT,
    HELD_MEMORY_COLUMNS,
    EventColumns,
    Int64,
    empty_table,
)

HOLDER, OWN_BYTES = "holder", "held_bytes"
"""Columns that ``memory`` has besides its own until :func:`take_held_memory`: the slice of the
host event, and the bytes also of events of the allocator's pool."""

ABSENT_KIND = -1
"""The kind of memory events of unknown types."""

_EXTRA = (HOLDER, OWN_BYTES, "kind", "peak_allocated_bytes", "peak_reserved_bytes")


def hold(columns: EventColumns, holder: Int64) -> None:
    """Note the slice that holds each memory event, negative for none."""
    columns.tables["memory"][HOLDER] = np.where(holder >= 0, holder, ABSENT)


def take_held_memory(columns: EventColumns) -> None:
    """Move what ``memory`` has besides its own columns into ``held_memory``."""
    memory = columns.tables["memory"]
    held = empty_table("held_memory")
    if all(name in memory for name in _EXTRA):
        own = {**memory, "slice": memory[HOLDER], "bytes": memory[OWN_BYTES]}
        known = own["kind"] != ABSENT_KIND
        held = {name: own[name][known].astype(dtype) for name, dtype in HELD_MEMORY_COLUMNS.items()}
    for name in _EXTRA:
        memory.pop(name, None)
    columns.tables["held_memory"] = held
