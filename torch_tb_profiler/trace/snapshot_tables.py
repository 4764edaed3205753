"""Schemas of the side tables of memory snapshots."""

from __future__ import annotations

import polars as pl

SNAPSHOT_SCHEMAS: dict[str, pl.Schema] = {
    "snapshot_events": pl.Schema(  # of an allocator, device by device, each in its order
        {
            "device": pl.Int32,  # -1: pinned memory of the host
            "action": pl.Int8,  # index in SNAPSHOT_ACTIONS
            "address": pl.Int64,  # uint64 as its two's complement; null for "oom"
            "size_bytes": pl.Int64,
            "stream": pl.Int64,
            "time_ns": pl.Int64,  # trace time, never decreasing
            "stack": pl.Int32,
            "device_free_bytes": pl.Int64,  # of "oom"
            "allocated_bytes": pl.Int64,  # afterwards; includes blocks whose release is pending
            "reserved_bytes": pl.Int64,  # afterwards
        }
    ),
    "snapshot_blocks": pl.Schema(
        {
            "device": pl.Int32,
            "segment": pl.Int32,  # row in snapshot_segments
            "address": pl.Int64,
            "size_bytes": pl.Int64,
            "requested_bytes": pl.Int64,
            "traced_bytes": pl.Int64,  # its size in the events: one of the two
            "state": pl.String,  # "active_allocated", "active_pending_free", "inactive"
            "stack": pl.Int32,
        }
    ),
    "snapshot_segments": pl.Schema(
        {
            "device": pl.Int32,
            "address": pl.Int64,
            "total_bytes": pl.Int64,
            "allocated_bytes": pl.Int64,  # as the file says; null where it does not
            "active_bytes": pl.Int64,
            "stream": pl.Int64,
            "type": pl.String,  # "large", "small"
            "pool": pl.String,
            "is_expandable": pl.Boolean,
            "stack": pl.Int32,
        }
    ),
    "snapshot_stacks": pl.Schema(  # row: the number of the stack
        {
            "frame": pl.String,  # the innermost one of Python that is not of the framework
            "frames": pl.String,  # those of Python, innermost first, joined by line breaks
        }
    ),
    "snapshot_metadata": pl.Schema(  # of events that have any
        {
            "event": pl.Int64,  # row in snapshot_events
            "user_metadata": pl.String,  # as written: text, or a dictionary as JSON text
            "internal_metadata": pl.String,
        }
    ),
    "snapshot_settings": pl.Schema({"setting": pl.String, "value": pl.String}),
    # A snapshot joined to a trace: what was added to its times; the residual is null if unchecked.
    "snapshot_join": pl.Schema({"file": pl.String, "offset_ns": pl.Int64, "residual_ns": pl.Int64}),
}
"""Name of a side table of a memory snapshot → its columns."""
