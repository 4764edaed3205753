"""Nodes of host threads → columns.

A node has a host event, its runtime calls, each with the work that it launched, memory events, and
an operator's inputs. Field numbers: ``docs/format-paddle.md#protobuf``, from Paddle's
``nodetree.proto``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.kineto.batch import NO_ROW, UNNAMED, USABLE_NS, EventBatch
from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.paddle.event_types import CATEGORIES, RUNTIME, TYPES
from torch_tb_profiler.importers.paddle.node_tables import (
    device_table,
    memory_table,
    operator_table,
    select_messages,
    track_codes,
)
from torch_tb_profiler.importers.paddle.pieces import NodePiece
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int8, Int32, Int64

PARENT, EVENT, CALLS, MEMORY, INPUTS = 2, 3, 4, 5, 6
"""Fields of ``HostTraceEventNodeProto``."""

INNER, WORK = 1, 2
"""Fields of the nodes in it: the event, and for a call the work that it launched."""

HOLDER = "holder"
"""Table in addition to those of ``EventColumns``: the slice of the node of each memory event."""

LAUNCHED, LAUNCHING = "launched", "launching"
"""Tables in addition to those of ``EventColumns``: work and the call that launched it, row by
row."""

CATEGORY_BY_TYPE = np.array(
    [int(CATEGORIES.get(name.lower(), category_of(name))) for name in TYPES], np.int8
)


class _EventFields(Struct, frozen=True):
    """Field numbers of the values that all slices have, for one kind of event; None: no such
    field."""

    type: int | None
    start: int
    end: int
    process: int
    thread: int
    correlation: int | None


HOST_FIELDS = _EventFields(2, 3, 4, 5, 6, None)
CALL_FIELDS = _EventFields(None, 2, 3, 4, 5, 6)
DEVICE_FIELDS = _EventFields(2, 3, 4, 5, 7, 8)
"""Fields of ``HostTraceEventProto``, ``CudaRuntimeTraceEventProto`` and ``DeviceTraceEventProto``,
whose process is a device and whose thread is a stream. The name is field 1 of each."""


DEVICE_SORT_INDEX = 0x10000000
"""Added to the number of a device by Paddle, so that devices are shown below the host."""


def unnamed_thread(tid: str) -> str:
    """The name of a thread's row, without the thread's own name."""
    return f"thread {tid}:"


def read_nodes(piece: NodePiece) -> EventBatch:
    """Read the columns of some nodes. Pure: can run in any process, in any order."""
    return _BatchBuilder(piece).batch


class _BatchBuilder:
    """Builds one batch; all steps share its strings and tracks."""

    def __init__(self, piece: NodePiece) -> None:
        self.batch = EventBatch(has_fraction=True)
        self.wire = Wire(piece.data)
        self.strings = Interner()
        self.tracks = Interner()
        self.device_tracks: set[int] = set()
        self.count = 0
        self._nodes(self._count_damage(self.wire.fields(piece.starts, piece.ends)))
        self._name_tracks()
        self.batch.strings = list(self.strings)
        self.batch.tracks = list(self.tracks)

    def _count_damage(self, fields: Fields) -> Fields:
        self.batch.quality.add("message_damaged", fields.broken)
        return fields

    def _messages_in(self, fields: Fields, number: int) -> tuple[Fields, Int64]:
        inner, outer = select_messages(self.wire, fields, number)
        return self._count_damage(inner), outer

    def _nodes(self, nodes: Fields) -> None:
        host, node = self._messages_in(nodes, EVENT)
        is_root = ((nodes.ints(PARENT)[node] == -1) & (host.ints(HOST_FIELDS.start) == 0)) & (
            host.ints(HOST_FIELDS.end) == -1
        )
        host_rows = self._add_slices(host, HOST_FIELDS, ~is_root)
        call_nodes, _ = self._messages_in(nodes, CALLS)
        calls, call_node = self._messages_in(call_nodes, INNER)
        call_rows = self._add_slices(calls, CALL_FIELDS)
        work_nodes, launched_by = self._messages_in(call_nodes, WORK)
        work, work_node = self._messages_in(work_nodes, INNER)
        work_rows = self._add_slices(work, DEVICE_FIELDS)
        self._add("device", device_table(self.wire, work, work_rows, self.strings))
        self._add_launches(work_rows, launched_by[work_node], call_rows, call_node)
        self._add_inputs(nodes, node, host_rows)
        self._add_memory(nodes, node, host_rows)

    def _add_slices(
        self, events: Fields, fields: _EventFields, wanted: Bools | None = None
    ) -> Int64:
        """Add the slices of some events; returns the row of each, -1 for events that are left
        out."""
        start = events.ints(fields.start)
        usable = (start >= 0) & (start < USABLE_NS)
        wanted = np.ones(events.count, np.bool_) if wanted is None else wanted
        self.batch.quality.add("event_without_time", int((wanted & ~usable).sum()))
        selected = np.flatnonzero(wanted & usable)
        end = events.ints(fields.end)[selected]
        dur = np.where(end == ABSENT, ABSENT, np.maximum(end, -1) - start[selected])
        type_code, category = self._types(events, fields, selected)
        table: ColumnArrays = {
            "category": category,
            "raw_category_code": type_code,
            "name_code": self._names(events, selected),
            "track": track_codes(
                self.tracks,
                events.ints(fields.process)[selected],
                events.ints(fields.thread)[selected],
            ),
            "start_ns": start[selected],
            "dur_ns": dur,
            "correlation": np.full(selected.size, ABSENT, np.int64)
            if fields.correlation is None
            else events.ints(fields.correlation)[selected],
            "external_id": np.full(selected.size, ABSENT, np.int64),
            PHASE_COLUMN: np.zeros(selected.size, np.int8),
        }
        if fields is DEVICE_FIELDS:
            self.device_tracks.update(np.unique(table["track"]).tolist())
        self._add("slices", table)
        rows = np.full(events.count, -1, np.int64)
        rows[selected] = self.count + np.arange(selected.size)
        self.count += selected.size
        return rows

    def _types(self, events: Fields, fields: _EventFields, selected: Int64) -> tuple[Int32, Int8]:
        """Code of the type and category of events."""
        if fields.type is None:
            numbers = np.full(selected.size, TYPES.index(RUNTIME), np.int64)
        else:
            numbers = events.ints(fields.type)[selected]
        distinct = np.unique(numbers)
        is_known = (distinct >= 0) & (distinct < len(TYPES))
        labels = [
            TYPES[number] if known else f"type {number}" if number != ABSENT else None
            for number, known in zip(distinct.tolist(), is_known.tolist(), strict=True)
        ]
        codes = np.array(
            [-1 if label is None else self.strings[label] for label in labels], np.int32
        )
        category = np.full(distinct.size, UNKNOWN_CATEGORY, np.int8)
        category[is_known] = CATEGORY_BY_TYPE[distinct[is_known]]
        position = np.searchsorted(distinct, numbers)
        return codes[position], category[position]

    def _names(self, events: Fields, selected: Int64) -> Int32:
        start, end = events.spans(1)
        codes, texts = distinct_texts(self.wire, start[selected], end[selected])
        unnamed = self.strings[UNNAMED] if not all(texts) or np.any(codes < 0) else -1
        text_codes = np.array(
            [self.strings[text] if text else unnamed for text in texts] + [unnamed]
        )
        names: Int32 = text_codes[codes].astype(np.int32)
        self.batch.quality.add("missing_name", int((names == unnamed).sum()))
        return names

    def _add_launches(
        self, work: Int64, launched_by: Int64, calls: Int64, call_node: Int64
    ) -> None:
        """Add the pairs of work and the call that launched it, by row; ``launched_by`` is the
        call's node."""
        row_by_node = np.full(int(max(launched_by.max(initial=-1), call_node.max(initial=-1))) + 1,
                              -1, np.int64)  # fmt: skip
        row_by_node[call_node] = calls
        launch = row_by_node[launched_by]
        both = (work >= 0) & (launch >= 0)
        self._add(LAUNCHED, {"slice": work[both]})
        self._add(LAUNCHING, {"slice": launch[both]})

    def _add_memory(self, nodes: Fields, node: Int64, rows: Int64) -> None:
        """Add the memory events, each with the slice that holds it."""
        memory_nodes, holding_node = self._messages_in(nodes, MEMORY)
        memory, memory_node = self._messages_in(memory_nodes, INNER)
        row_by_node = np.full(nodes.count, NO_ROW, np.int64)
        row_by_node[node] = np.where(rows >= 0, rows, NO_ROW)
        holder = row_by_node[holding_node[memory_node]]
        table, holder = memory_table(self.wire, memory, holder, self.tracks, self.batch.quality)
        self._add("memory", table)
        self._add(HOLDER, {"slice": holder})

    def _add_inputs(self, nodes: Fields, node: Int64, rows: Int64) -> None:
        """Add the inputs of operators; ``node`` is the node of the event of each row."""
        input_nodes, node_index = self._messages_in(nodes, INPUTS)
        inputs, input_node = self._messages_in(input_nodes, INNER)
        row_by_node = np.full(nodes.count, -1, np.int64)
        row_by_node[node] = rows
        operator_rows = row_by_node[node_index[input_node]]
        self._add("operator", operator_table(self.wire, inputs, operator_rows, self.strings))

    def _name_tracks(self) -> None:
        """Name the tracks as Paddle's JSON does."""
        for (pid, tid), code in self.tracks.items():
            on_device = code in self.device_tracks
            values: dict[str, str | int] = {
                "process_name": f"Device {pid} (GPU)" if on_device else f"Process {pid} (CPU)",
                "thread_name": f"stream {tid}" if on_device else unnamed_thread(tid),
            }
            if pid.isdecimal() and len(pid) < len(str(2**62)):
                values["process_sort_index"] = int(pid) + DEVICE_SORT_INDEX * on_device
            self.batch.declared |= {(key, pid, tid): value for key, value in values.items()}

    def _add(self, name: str, table: ColumnArrays) -> None:
        if next(iter(table.values())).size:
            self.batch.tables.setdefault(name, []).append(table)
