"""Schemas of the side tables of flight-recorder dumps of ``torch.distributed``.

Rows of several dumps of one rank (several back ends, or several times) are in one table each.
"""

from __future__ import annotations

import polars as pl

FLIGHT_STATES = ("scheduled", "started", "completed")
"""States of an entry, as the recorder writes them."""

FLIGHT_SCHEMAS: dict[str, pl.Schema] = {
    "flight_dumps": pl.Schema(  # row: the number of the dump
        {
            "file": pl.String,
            "rank": pl.Int64,  # null where neither the name nor the content says it
            "version": pl.String,  # of the format
            "library_version": pl.String,  # of the communication library
            "written_ns": pl.Int64,  # change of the file, since 1970; null where unknown
            "entries": pl.Int64,
            "is_partial": pl.Boolean,  # cut, or with calls that are not completed alone
        }
    ),
    "flight_groups": pl.Schema(  # row: the number of the group
        {  # type: ignore[arg-type]
            "dump": pl.Int32,
            "pg_id": pl.Int64,  # number in the process
            "name": pl.String,
            "description": pl.String,
            "ranks": pl.List(pl.Int32),  # members; null where the dump does not list them
            "last_enqueued": pl.Int64,  # collective sequence numbers; null where unknown
            "last_started": pl.Int64,
            "last_completed": pl.Int64,
        }
    ),
    "flight_calls": pl.Schema(  # distinct calls; row: the number of the call
        {
            "operation": pl.String,  # "nccl:all_reduce"
            "input_sizes": pl.String,  # "[[8, 4]]"
            "output_sizes": pl.String,
            "input_types": pl.String,  # "Float, Float"
            "output_types": pl.String,
        }
    ),
    "flight_stacks": pl.Schema(  # row: the number of the stack
        {
            "frame": pl.String,  # the innermost one that is not of torch: "train.py:7 step"
            "frames": pl.String,  # innermost first, joined by line breaks
        }
    ),
    "flight_entries": pl.Schema(  # in the order of the dump
        {
            "dump": pl.Int32,
            "group": pl.Int32,  # row in flight_groups
            "call": pl.Int32,  # row in flight_calls
            "stack": pl.Int32,  # row in flight_stacks; -1 for none
            "record": pl.Int64,  # its number since the recorder began
            "sequence": pl.Int64,  # of collectives of the group, or of its transfers
            "operation_number": pl.Int64,  # of all calls of the group, also within a batch
            "is_transfer": pl.Boolean,  # from one rank to another
            "state": pl.Int8,  # index in FLIGHT_STATES
            "is_retired": pl.Boolean,  # the program no longer waits for it
            "created_ns": pl.Int64,  # since 1970
            "started_ns": pl.Int64,
            "completed_ns": pl.Int64,
            "timeout_ms": pl.Int64,
            "thread": pl.String,
        }
    ),
}

FLIGHT_TITLES = {
    "flight_dumps": "dumps of the flight recorder",
    "flight_groups": "process groups of the flight recorder",
    "flight_calls": "distinct calls of the flight recorder",
    "flight_stacks": "call stacks of the flight recorder",
    "flight_entries": "calls of the flight recorder",
}
"""Name of a table → its content, for people."""
