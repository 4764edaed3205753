"""Event columns: what every importer delivers to the trace builder.

One struct of numpy arrays per kind of record, in file order, without a Python object per event.
Text is dictionary coded: a ``*_code`` column holds indices into :attr:`EventColumns.strings`, -1
meaning absent. Times are int64 nanoseconds since :attr:`EventColumns.base_ns`. Absent integers are
:data:`ABSENT`, absent floats NaN.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SideTable

ABSENT = np.iinfo(np.int64).min
"""Marks an integer that the file does not give (0 and -1 are values)."""

EPOCH_NS = 10**17
"""Times beyond this (three years in ns) count from the epoch, not from a base."""

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SLICE_COLUMNS: dict[str, type[np.generic]] = {
    "category": np.int8,  # trace.categories.Category
    "raw_category_code": np.int32,  # the category as the file writes it
    "name_code": np.int32,
    "track": np.int32,  # index into EventColumns.tracks
    "start_ns": np.int64,
    "dur_ns": np.int64,
    "correlation": np.int64,
    "external_id": np.int64,
}
"""One row per slice (ph X, or a B/E pair), in file order."""

DEVICE_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,  # row in the slice columns
    "device": np.int64,
    "stream": np.int64,
    "grid_code": np.int32,  # text of the list, "[32, 2, 1]"
    "block_code": np.int32,
    "registers_per_thread": np.int64,
    "shared_memory_bytes": np.int64,
    "blocks_per_sm": np.float64,
    "warps_per_sm": np.float64,
    "est_achieved_occupancy_pct": np.float64,
    "graph": np.int64,
    "graph_node": np.int64,
    "bytes": np.int64,
    "occupancy_limit_code": np.int32,  # text of the limiting factors, torch >= 2.12
}
"""One row per slice that has at least one of these arguments (kernels, copies, sets)."""

OPERATOR_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,
    "input_shape_code": np.int32,  # text of the list, "[[2, 8, 5], [], []]"
    "input_type_code": np.int32,  # text of the list, "['float', 'Scalar']"
    "concrete_inputs_code": np.int32,
    "call_stack_code": np.int32,  # frames joined by ";", innermost first
    "module_hierarchy_code": np.int32,  # TorchScript only, "TOP(C)::forward.A0(A)::forward."
    "sequence_number": np.int64,
    "forward_thread": np.int64,
    "record_function_id": np.int64,
}
"""One row per host slice that has at least one of these arguments."""

PYTHON_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,
    "python_id": np.int64,
    "python_parent_id": np.int64,
    "module_id": np.int64,
}
"""One row per python frame."""

COLLECTIVE_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,
    "collective_code": np.int32,  # "allreduce", "_allgather_base"
    "dtype_code": np.int32,
    "in_nelems": np.int64,
    "out_nelems": np.int64,
    "group_size": np.int64,
    "group_code": np.int32,  # Process Group Name, or ID as text
    "group_description_code": np.int32,
    "group_ranks_code": np.int32,
    "in_splits_code": np.int32,  # "[1024, 512]": parts of the input by rank of the group
    "out_splits_code": np.int32,  # of the output
    "sequence": np.int64,
    "comms_id": np.int64,  # uint64 as its two's complement: hash of group, sequence and direction
    "src_rank": np.int64,
    "dst_rank": np.int64,
    "is_async": np.int8,  # 1, 0, or -1 when absent
}
"""One row per slice (host or kernel) that carries collective metadata."""

STATED_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,
    "flops": np.float64,  # floating point operations of one call, as the recorder counts them
    "bytes": np.float64,  # bytes that one call reads and writes, likewise
    "kernel_file_code": np.int32,  # path of the generated code
    "kernel_kwargs_code": np.int32,  # "XBLOCK=128,num_warps=4"
    "annotation_code": np.int32,  # JSON text of what a graph's node was annotated with
    "stack_code": np.int32,  # source location of a generated kernel
}
"""One row per slice (host or kernel) that states its own work or source."""

MEMORY_COLUMNS: dict[str, type[np.generic]] = {
    "track": np.int32,
    "time_ns": np.int64,
    "device_type": np.int64,  # c10::DeviceType
    "device": np.int64,
    "address": np.int64,  # uint64 as its two's complement; ABSENT before torch 1.10
    "bytes": np.int64,  # negative: release
    "total_allocated_bytes": np.int64,
    "total_reserved_bytes": np.int64,
    "is_oom": np.int8,  # 1 for [OutOfMemory]
}
"""One row per memory instant, in file order."""

HELD_KINDS = ("allocate", "free", "reserve", "release")
"""Kinds of held memory events: the last two are between an allocator and its device."""

HELD_MEMORY_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,  # host event that the recorder says it belongs to; ABSENT: none
    "track": np.int32,
    "time_ns": np.int64,
    "device_type": np.int64,
    "device": np.int64,
    "kind": np.int8,  # HELD_KINDS
    "bytes": np.int64,  # negative: release
    "peak_allocated_bytes": np.int64,  # so far, as the allocator counts
    "peak_reserved_bytes": np.int64,
}
"""One row per memory event of recorders that state the host event each belongs to."""

FLOW_COLUMNS: dict[str, type[np.generic]] = {
    "raw_category_code": np.int32,
    "flow_id_code": np.int32,  # id as text: ids may be strings or beyond 2**63
    "is_start": np.int8,
    "track": np.int32,
    "time_ns": np.int64,
}
"""One row per flow end of forward-backward flows (launch flows follow from correlation)."""

COUNTER_COLUMNS: dict[str, type[np.generic]] = {
    "track": np.int32,
    "name_code": np.int32,
    "series_code": np.int32,
    "time_ns": np.int64,
    "value": np.float64,
}
"""One row per value of a counter event."""

INSTANT_COLUMNS: dict[str, type[np.generic]] = {
    "track": np.int32,
    "name_code": np.int32,
    "time_ns": np.int64,
}
"""One row per instant that is not a memory event."""

SAMPLE_COLUMNS: dict[str, type[np.generic]] = {
    "source_code": np.int32,  # what was sampled: "GPU 0", "host", "AI Core 0"
    "metric_code": np.int32,
    "unit_code": np.int32,  # "%", "MHz", "bytes"; empty text for numbers without one
    "time_ns": np.int64,
    "value": np.float64,
}
"""One row per host or device sample that a recorder took besides the events."""

ARGUMENT_COLUMNS: dict[str, type[np.generic]] = {
    "slice": np.int64,
    "key_code": np.int32,  # name of the argument: "SQ_WAVES", "queued"
    "value": np.float64,  # NaN where the value is text
    "text_code": np.int32,  # -1 where the value is a number
}
"""One row per value that a recording gives of a slice and that no other column models; sparse, at
most one row per slice and key. Integers that a float64 does not hold exactly are text."""

TABLE_COLUMNS: dict[str, dict[str, type[np.generic]]] = {
    "slices": SLICE_COLUMNS,
    "device": DEVICE_COLUMNS,
    "operator": OPERATOR_COLUMNS,
    "python": PYTHON_COLUMNS,
    "collective": COLLECTIVE_COLUMNS,
    "stated": STATED_COLUMNS,
    "memory": MEMORY_COLUMNS,
    "held_memory": HELD_MEMORY_COLUMNS,
    "flows": FLOW_COLUMNS,
    "counters": COUNTER_COLUMNS,
    "instants": INSTANT_COLUMNS,
    "samples": SAMPLE_COLUMNS,
    "arguments": ARGUMENT_COLUMNS,
}

ColumnArrays = dict[str, npt.NDArray[Any]]
"""Equal-length arrays by column name, with the dtypes of :data:`TABLE_COLUMNS`."""


DEVICE_LABEL = re.compile(r"(?:GPU|NPU|TPU|XPU|MTIA|HPU|device)\s*(\d+)", re.IGNORECASE)
"""How a writer labels the process with a device's rows; contains the device's number."""


COUNTER_PROCESS = re.compile(r"(?:GPU|NPU|XPU|MTIA|HPU) (\d{1,9}) Counters")
"""The process under which torch >= 2.15 writes the counters of a device."""


class Track(Struct):
    """One row of a trace: a host thread or a device stream. ``pid``/``tid`` are text, because
    formats write numbers, strings, negatives and nothing."""

    pid: str
    tid: str
    process_name: str | None = None
    process_label: str | None = None
    thread_name: str | None = None
    process_sort_index: int | None = None
    thread_sort_index: int | None = None


class EventColumns(Struct):
    """Everything an importer read from one file.

    Attributes:
        format: Name of the input format, ``"kineto"``.
        tables: Name of :data:`TABLE_COLUMNS` → columns; every table is present, maybe empty.
        strings: The dictionary behind every ``*_code`` column.
        tracks: The tracks, indexed by the ``track`` columns; declared but unused ones are not
            included.
        base_ns: Epoch nanoseconds of time 0, or 0 when the format gives no epoch.
        time_unit_ns: Resolution of the file's time stamps: 1000 for whole-µs files, else 1.
        info: Metadata of the recording.
        quality: What was repaired or skipped while reading.
        launch: Per slice the row of the host slice that launched it, where the format states it;
            :data:`ABSENT` (or any number that is not a row) for none. Takes precedence over any
            inference. None: the format states no launches.
        owner: Per slice (device work or a host call) the row of the host node that owns it, where
            the format states it, encoded as ``launch``. Takes precedence over the enclosing
            operator in time. A host slice that is not a node (an entry of a queue that another
            thread works off) stands for the operator around its start. None: the format states no
            owners.
        side: Side tables: data of the files that is not events.
        budget: The limits of the trace.
    """

    format: str
    tables: dict[str, ColumnArrays]
    strings: list[str]
    tracks: list[Track]
    base_ns: int
    time_unit_ns: int
    info: TraceInfo = field(default_factory=TraceInfo)
    quality: QualityReport = field(default_factory=QualityReport)
    launch: Int64 | Int32 | None = None
    owner: Int64 | Int32 | None = None
    side: tuple[SideTable, ...] = ()
    budget: Budget = Budget(0, 0)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a recording was read, metadata aside."""
        tables = self.tables.values()
        has_rows = any(len(column) for table in tables for column in table.values())
        return not has_rows and not self.side


def empty_table(name: str) -> ColumnArrays:
    """A table of :data:`TABLE_COLUMNS` with no rows.

    Raises:
        KeyError: there is no such table.
    """
    return {column: np.empty(0, dtype) for column, dtype in TABLE_COLUMNS[name].items()}


_ABSENT_VALUES: dict[type[np.generic], Any] = {
    np.int64: ABSENT,
    np.int32: -1,
    np.int8: -1,
    np.float64: np.nan,
}


def absent_table(name: str, count: int) -> ColumnArrays:
    """A table of :data:`TABLE_COLUMNS` with ``count`` rows in which every value is absent.

    Raises:
        KeyError: there is no such table.
    """
    return {
        column: np.full(count, _ABSENT_VALUES[dtype], dtype)
        for column, dtype in TABLE_COLUMNS[name].items()
    }
