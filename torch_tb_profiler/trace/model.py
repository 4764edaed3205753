"""The trace: tables of one recording, ready for views.

A :class:`Trace` is immutable. Tables are polars DataFrames; a row's ``id`` is its position. Text
stays dictionary coded (``*_code`` → :attr:`Trace.strings`), so views group by integers and decode
only the rows they show. Absent values are polars nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.trace.columns import TABLE_COLUMNS
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.nulls import POLARS_TYPES
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SideTable

SLICES = {
    "id": pl.Int64,  # = row number; rows are ordered by (track, start_ns, longer first)
    "track": pl.Int32,
    "category": pl.Int8,  # Category
    "raw_category_code": pl.Int32,
    "name_code": pl.Int32,
    "start_ns": pl.Int64,
    "dur_ns": pl.Int64,
    "parent": pl.Int64,  # enclosing node, frame or device range; runtime: the call's owner
    "depth": pl.Int32,  # 0 = root of its tree; runtime: one below the node around it; null: no tree
    "frame": pl.Int64,  # host nodes and runtime: innermost python frame around the start; else null
    "lane": pl.Int32,  # 0, or > 0 for a slice that overlaps its neighbours without nesting
    "absorbed_into": pl.Int64,  # topmost same-named operator this is the only child of; or null
    "step": pl.Int32,  # row of `steps`: host slices by start, device work by its launch; or null
    "self_ns": pl.Int64,  # nodes: dur - children - own runtime calls, never negative; else null
    "device_self_ns": pl.Int64,  # nodes: device work they own; 0 where absorbed; else null
    "device_total_ns": pl.Int64,  # device_self_ns + children's device_total_ns; of a range inside
    # an operator also the work launched in it that the operator owns
    "correlation": pl.Int64,
    "external_id": pl.Int64,
}

DEVICE_WORK = {
    "slice": pl.Int64,
    "category": pl.Int8,
    "name_code": pl.Int32,
    "start_ns": pl.Int64,
    "dur_ns": pl.Int64,
    "device": pl.Int64,
    "stream": pl.Int64,
    "launch": pl.Int64,  # slice id of the host call, null for orphans
    "owner": pl.Int64,  # slice id of the node that launched it (after absorption), null if none
    "node": pl.Int64,  # slice id of the innermost node around its launch, a range inside the owner
    # for example; the owner where the launch is elsewhere
    "orphan_reason": pl.String,  # why owner is null: "no_launch" | "no_operator" |
    # "ambiguous_launch" (calls of several processes could be it); else null
    "launch_delay_ns": pl.Int64,  # start - start of its launch, clamped at 0
    "grid_code": pl.Int32,
    "block_code": pl.Int32,
    "registers_per_thread": pl.Int64,
    "shared_memory_bytes": pl.Int64,
    "blocks_per_sm": pl.Float64,
    "warps_per_sm": pl.Float64,
    "est_achieved_occupancy_pct": pl.Float64,
    "graph": pl.Int64,
    "graph_node": pl.Int64,
    "bytes": pl.Int64,
    "occupancy_limit_code": pl.Int32,
}
"""One row per kernel, copy and memset, in order of slice id."""

OPERATORS = {
    "slice": pl.Int64,
    "input_shape_code": pl.Int32,
    "input_type_code": pl.Int32,
    "concrete_inputs_code": pl.Int32,
    "call_stack_code": pl.Int32,
    "module_hierarchy_code": pl.Int32,
    "sequence_number": pl.Int64,
    "forward_thread": pl.Int64,
    "record_function_id": pl.Int64,
    "forward": pl.Int64,  # backward nodes: slice id of the forward operator, null if unknown
}
"""One row per host slice with operator arguments, in order of slice id."""

STEPS = {
    "name": pl.String,  # the step's number as text; "0" when the trace has no ProfilerStep
    "process": pl.Int32,  # `process` of its track, null for the synthetic step
    "slice": pl.Int64,  # its ProfilerStep slice, null for the synthetic step
    "host_start_ns": pl.Int64,
    "host_end_ns": pl.Int64,
    "start_ns": pl.Int64,  # after stretching by device work (docs/metrics.md#steps)
    "end_ns": pl.Int64,
    "device_events": pl.Int64,
    "kept": pl.Boolean,  # false for incomplete last steps, which averages exclude
}
"""One row per step, by process and in time order; the steps of one process are disjoint."""

DEVICES = {
    "device": pl.Int64,
    "name": pl.String,
    "memory_bytes": pl.Int64,
    "compute_major": pl.Int64,
    "compute_minor": pl.Int64,
    "sm_count": pl.Int64,
    "max_threads_per_sm": pl.Int64,
    "used": pl.Boolean,  # ran device work in this trace
}
"""One row per device that is declared or used, by device id."""

TRACKS = {
    "track": pl.Int32,
    "pid": pl.String,
    "tid": pl.String,
    "process_name": pl.String,
    "process_label": pl.String,
    "thread_name": pl.String,
    "process": pl.Int32,  # number of the host process, 0 … in order of pids; null for devices
    "is_device": pl.Boolean,
    "device": pl.Int64,  # of rows of a device, and of rows with counters of one
    "stream": pl.Int64,
    "sort_index": pl.Int64,  # position from top to bottom, 0 …
}

TABLES: dict[str, dict[str, Any]] = {
    "slices": SLICES,
    "device_work": DEVICE_WORK,
    "operators": OPERATORS,
    "steps": STEPS,
    "devices": DEVICES,
    "tracks": TRACKS,
}
"""Schemas of the tables that the builder creates. ``python``, ``collectives``, ``stated``,
``memory``, ``held_memory``, ``flows``, ``counters``, ``instants``, ``samples`` and ``arguments``
have the columns of :mod:`torch_tb_profiler.trace.columns`, with ``slice``/``track`` pointing into
this trace and absent values as nulls; ``arguments`` is ordered by slice; ``memory`` is ordered by
time and also has ``owner`` (slice id of the innermost node around it on its thread, after
absorption, null if none) and ``frame`` (the innermost python frame around it).

An absorbed operator stays in ``slices`` and is still the ``parent`` of its children; its own values
(self time, device work, calls, memory) belong to its absorber, so that sums over all nodes hold.
Without ProfilerStep every slice is in the one step ``0``.
"""


_FROM_IMPORTER = {
    name: name
    for name in (
        "python", "stated", "memory", "held_memory", "flows", "counters", "instants", "samples",
        "arguments",
    )
} | {"collectives": "collective"}  # fmt: skip
"""Tables of a trace that have the columns of an importer's table."""

_ADDED: dict[str, dict[str, Any]] = {"memory": {"owner": pl.Int64, "frame": pl.Int64}}
"""Columns that the builder adds to an importer's table."""

TABLE_NAMES = (*TABLES, *_FROM_IMPORTER)
"""Names of all tables of a :class:`Trace`."""


def schema_of(table: str) -> pl.Schema:
    """Columns and types of a table.

    Raises:
        KeyError: there is no such table.
    """
    if table in TABLES:
        return pl.Schema(TABLES[table])
    columns = TABLE_COLUMNS[_FROM_IMPORTER[table]].items()
    types = {name: POLARS_TYPES[dtype] for name, dtype in columns}
    return pl.Schema({**types, **_ADDED.get(table, {})})


class TraceMeta(Struct, frozen=True):
    """Metadata of the file.

    Attributes:
        format: Input format, ``"kineto"``.
        base_ns: Epoch nanoseconds of time 0; 0 if unknown.
        time_unit_ns: 1000 for files with whole µs, else 1.
        start_ns: Smallest start of all slices, in a memory snapshot also of its events; 0 if there
            are none.
        end_ns: Largest end of all slices likewise.
        span_start_ns: Start of the recording as declared by the profiler, null if it does not
            declare it.
        span_end_ns: End of the recording likewise.
        info: Metadata of the recording.
    """

    format: str
    base_ns: int
    time_unit_ns: int
    start_ns: int
    end_ns: int
    span_start_ns: int | None
    span_end_ns: int | None
    info: TraceInfo = field(default_factory=TraceInfo)


class Trace(Struct, frozen=True, eq=False, weakref=True):
    """One parsed recording. See the module docstring for the rules of its tables.

    ``side`` holds its side tables by name
    (:data:`torch_tb_profiler.trace.side_tables.SIDE_SCHEMAS`).
    """

    meta: TraceMeta
    strings: npt.NDArray[np.object_]
    slices: pl.DataFrame
    device_work: pl.DataFrame
    operators: pl.DataFrame
    python: pl.DataFrame
    collectives: pl.DataFrame
    stated: pl.DataFrame
    memory: pl.DataFrame
    held_memory: pl.DataFrame
    flows: pl.DataFrame
    counters: pl.DataFrame
    instants: pl.DataFrame
    steps: pl.DataFrame
    devices: pl.DataFrame
    tracks: pl.DataFrame
    samples: pl.DataFrame
    arguments: pl.DataFrame
    quality: QualityReport
    side: Mapping[str, SideTable] = field(default_factory=dict)
    derived: DerivedValues = field(default_factory=DerivedValues)

    def text(self, code: int | None) -> str | None:
        """The string of a dictionary code; None for an absent one."""
        if code is None or code < 0:
            return None
        return str(self.strings[code])
