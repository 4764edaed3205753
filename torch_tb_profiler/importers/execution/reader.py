"""Reads an execution trace that stands alone: operators as slices without times.

Slices lie inside one another as the nodes do; where the file has no times, their starts and
durations are positions in the order of execution (``order.py``), and ``TraceInfo.not_recorded``
says that the recording has no times, so that no view shows any.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.execution.chakra_nodes import ChakraNodes
from torch_tb_profiler.importers.execution.collectives import collective_table
from torch_tb_profiler.importers.execution.columns import NodeColumns
from torch_tb_profiler.importers.execution.device_nodes import (
    device_categories,
    device_table,
    device_track,
)
from torch_tb_profiler.importers.execution.json_nodes import JsonNodes
from torch_tb_profiler.importers.execution.messages import begins_chakra
from torch_tb_profiler.importers.execution.order import parent_rows, positions
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    Bools,
    ColumnArrays,
    EventColumns,
    Int64,
    Track,
    absent_table,
    empty_table,
)
from torch_tb_profiler.trace.info import Capability, NotRecorded, TraceInfo
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SideTable

FORMAT = "execution"
RECORDER = "ExecutionTraceObserver"
NO_TIMES = "an execution trace records no times"
GRAPH_ONLY = "an execution trace records operators and their tensors only"
NS_PER_US = 1000
MAX_US = 2**62 // NS_PER_US

USER_SCOPE = 7
"""``at::RecordScope::USER_SCOPE``: a range of ``record_function``."""

_OF_WORK: tuple[Capability, ...] = ("kernels", "copies")
"""What files with nodes of devices record."""

_NOT_RECORDED: tuple[Capability, ...] = (
    "call_stacks", "python", "modules", "memory", "runtime", "kernels", "copies", "launches",
    "counters", "device_properties",
)  # fmt: skip


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read an execution trace.

    Raises:
        TraceFormatError: the file has no node.
        StorageError, OSError: the file cannot be read.
    """
    assert isinstance(source, Source), "an execution trace is a file"
    quality = QualityReport()
    columns = NodeColumns(quality)
    is_chakra = begins_chakra(source.head)
    with closing(source.unpacked()) as chunks:
        nodes = ChakraNodes(chunks, quality) if is_chakra else JsonNodes(chunks, quality)
        for number, node in enumerate(nodes):
            columns.add(node)
            if number % 1000 == 0:
                reading.progress(source.taken_bytes)
                if reading.is_over_time() or reading.is_full(number + columns.tensor_count):
                    break
    if not len(columns):
        raise TraceFormatError(
            "no_events",
            f"{source.name} is an execution trace without any operator.",
            "Stop the ExecutionTraceObserver before the program ends, so that it writes its nodes.",
        )
    if isinstance(nodes, ChakraNodes):
        return _event_columns(columns, quality, source.name, None, nodes.version)
    return _event_columns(columns, quality, source.name, nodes.pid, nodes.schema)


def _event_columns(
    columns: NodeColumns, quality: QualityReport, name: str, pid: str | None, version: str | None
) -> EventColumns:
    ids = columns.numbers("id")
    by_id, first = np.unique(ids, return_index=True)
    quality.add("node_repeated", len(ids) - len(by_id))
    has_times, start_ns, dur_ns = _times(columns, first)
    stream = columns.numbers("device_stream")[first]
    on_device = (stream != ABSENT) & has_times
    lane = np.where(on_device, stream, columns.numbers("thread")[first])
    lanes, track = np.unique(np.stack([on_device, lane]), axis=1, return_inverse=True)
    record_function = np.where(on_device, -1, _record_function_ids(columns, first))
    parents = columns.numbers("parent")[first]
    if not has_times:
        is_flat = (columns.numbers("record_function_id")[first] == ABSENT).all()
        row, circles = parent_rows(by_id, np.full_like(parents, ABSENT) if is_flat else parents)
        quality.add("node_circle", circles)
        begins, ends = positions(row)
        start_ns, dur_ns = begins, ends - begins
    strings = list(columns.texts)
    tables = {table: empty_table(table) for table in TABLE_COLUMNS}
    slices = absent_table("slices", len(first))
    slices |= {
        "category": _categories(columns, first),
        "name_code": columns.codes("name")[first],
        "track": track.reshape(-1).astype(np.int32),
        "start_ns": start_ns,
        "dur_ns": dur_ns,
        "external_id": by_id,
    }
    refine(slices["category"], slices["name_code"], strings)
    work = np.flatnonzero(on_device)
    slices["category"][work] = device_categories(slices["name_code"][work], strings)
    tables["slices"] = slices
    tables["device"] = device_table(work, stream[work])
    tables["operator"] = _operators(columns, first, record_function, np.flatnonzero(~on_device))
    collectives = {at: columns.collectives[row] for at, row in enumerate(first.tolist())
                   if row in columns.collectives}  # fmt: skip
    tables["collective"] = collective_table(collectives, strings)
    in_order = np.full(len(ids), -1, np.int64)
    in_order[first] = record_function
    missing = [each for each in _NOT_RECORDED if not (work.size and each in _OF_WORK)]
    missing += [] if has_times else ["times"]
    reasons = {"times": NO_TIMES}
    return EventColumns(
        format=FORMAT,
        tables=tables,
        strings=strings,
        tracks=[
            device_track(number) if is_device else _track(pid, number)
            for is_device, number in lanes.T.tolist()
        ],
        base_ns=0,
        time_unit_ns=NS_PER_US if has_times else 1,
        info=TraceInfo(
            recorder=RECORDER,
            recorder_version=version,
            job=columns.job,
            not_recorded=tuple(
                NotRecorded(each, reasons.get(each, GRAPH_ONLY)) for each in missing
            ),
        ),
        quality=quality,
        side=(SideTable("execution_tensors", name, columns.tensor_frame(in_order)),),
        launch=_launches(by_id, parents, on_device),
    )


def _launches(ids: Int64, parents: Int64, on_device: Bools) -> Int64:
    """Per node that ran on a device the row of the host's node that it depends on: the operator
    that launched it, as no call of a runtime is recorded; else ABSENT."""
    at = np.minimum(np.searchsorted(ids, parents), len(ids) - 1)
    has_launch = on_device & (ids[at] == parents) & ~on_device[at]
    return np.where(has_launch, at, ABSENT)


def _times(columns: NodeColumns, rows: Int64) -> tuple[bool, Int64, Int64]:
    """Whether the file has times, and starts and durations in ns: of Chakra's nodes where each has
    both, a duration of 0 included."""
    start, dur = columns.numbers("start_us")[rows], columns.numbers("duration_us")[rows]
    is_known = (start >= 0) & (start < MAX_US) & (dur >= 0) & (dur < MAX_US)
    has_times = bool((dur > 0).any() and (start > 0).any())
    start_ns = np.where(is_known, start, 0) * NS_PER_US
    dur_ns = np.where(is_known, dur, 0) * NS_PER_US
    return has_times, start_ns, dur_ns


def _record_function_ids(columns: NodeColumns, rows: Int64) -> Int64:
    """What identifies an operator: its record function id, of Chakra's nodes without any the id of
    the node; -1 where it has none."""
    given = columns.numbers("record_function_id")[rows]
    if (given == ABSENT).all():
        given = columns.numbers("id")[rows]
    return np.where(given > 0, given, -1)


def _categories(columns: NodeColumns, rows: Int64) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    is_range: Bools = columns.numbers("scope")[rows] == USER_SCOPE
    return np.where(is_range, Category.ANNOTATION, Category.OPERATOR).astype(np.int8)


def _operators(
    columns: NodeColumns, first: Int64, record_function: Int64, slices: Int64
) -> ColumnArrays:
    rows, record_function = first[slices], record_function[slices]
    sequence = columns.numbers("sequence")[rows]
    forward_thread = columns.numbers("forward_thread")[rows]
    table = absent_table("operator", len(rows))
    return table | {
        "slice": slices,
        "input_shape_code": columns.codes("shapes")[rows],
        "input_type_code": columns.codes("types")[rows],
        "concrete_inputs_code": columns.codes("values")[rows],
        "sequence_number": np.where(sequence < 0, ABSENT, sequence),
        "forward_thread": np.where(forward_thread > 0, forward_thread, ABSENT),
        "record_function_id": np.where(record_function < 0, ABSENT, record_function),
    }


def _track(pid: str | None, thread: int) -> Track:
    number = "" if thread == ABSENT else str(thread)
    return Track(pid or "", number, thread_name=f"thread {number}" if number else None)
