"""Nodes of host threads → columns.

A node holds a host event, the calls into a device's runtime that were made in it, each with the
work that it launched, memory events, and what is known of an operator's inputs. Numbers of fields:
``docs/format-paddle.md#protobuf``, after Paddle's ``nodetree.proto``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.kineto.batch import UNNAMED, USABLE_NS, Batch
from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.paddle.event_types import RUNTIME, TYPES, WORDS
from torch_tb_profiler.importers.paddle.node_tables import (
    device_table,
    memory_table,
    operator_table,
    track_codes,
    within,
)
from torch_tb_profiler.importers.paddle.pieces import NodePiece
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int8, Int32, Int64

PARENT, EVENT, CALLS, MEMORY, INPUTS = 2, 3, 4, 5, 6
"""Fields of ``HostTraceEventNodeProto``."""

INNER, WORK = 1, 2
"""Fields of the nodes below it: the event itself; of a call, what it launched."""

LAUNCHED, LAUNCHING = "launched", "launching"
"""Tables beside those of ``EventColumns``: work and the call that launched it, row by row."""

CATEGORIES = np.array([int(WORDS.get(word.lower(), category_of(word))) for word in TYPES], np.int8)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Where the messages of one kind of event have what all slices have; None: nowhere."""

    type: int | None
    start: int
    end: int
    process: int
    thread: int
    correlation: int | None


HOST = _Numbers(2, 3, 4, 5, 6, None)
CALL = _Numbers(None, 2, 3, 4, 5, 6)
DEVICE = _Numbers(2, 3, 4, 5, 7, 8)
"""``HostTraceEventProto``, ``CudaRuntimeTraceEventProto``, ``DeviceTraceEventProto``, whose process
is a device and whose thread a stream. The name is field 1 of each."""


DEVICE_SORT_INDEX = 0x10000000
"""What Paddle adds to the number of a device, so that devices stand below the host."""


def unnamed_thread(tid: str) -> str:
    """What the row of a thread is called, before its own name."""
    return f"thread {tid}:"


def read_nodes(piece: NodePiece) -> Batch:
    """The columns of some nodes. Pure: may run in any process, in any order."""
    return _Maker(piece).batch


class _Maker:
    """The steps of making one batch; they share strings and tracks."""

    def __init__(self, piece: NodePiece) -> None:
        self.batch = Batch(has_fraction=True)
        self.wire = Wire(piece.data)
        self.strings = Interner()
        self.tracks = Interner()
        self.device_tracks: set[int] = set()
        self.count = 0
        self._nodes(self._told(self.wire.fields(piece.starts, piece.ends)))
        self._declare()
        self.batch.strings = list(self.strings)
        self.batch.tracks = list(self.tracks)

    def _told(self, fields: Fields) -> Fields:
        self.batch.quality.add("message_damaged", fields.broken)
        return fields

    def _within(self, fields: Fields, number: int) -> tuple[Fields, Int64]:
        inner, outer = within(self.wire, fields, number)
        return self._told(inner), outer

    def _nodes(self, nodes: Fields) -> None:
        host, node = self._within(nodes, EVENT)
        is_root = ((nodes.ints(PARENT)[node] == -1) & (host.ints(HOST.start) == 0)) & (
            host.ints(HOST.end) == -1
        )
        host_rows = self._slices(host, HOST, ~is_root)
        call_nodes, _ = self._within(nodes, CALLS)
        calls, call_node = self._within(call_nodes, INNER)
        call_rows = self._slices(calls, CALL)
        work_nodes, launched_by = self._within(call_nodes, WORK)
        work, work_node = self._within(work_nodes, INNER)
        work_rows = self._slices(work, DEVICE)
        self._add("device", device_table(self.wire, work, work_rows, self.strings))
        self._launches(work_rows, launched_by[work_node], call_rows, call_node)
        self._inputs(nodes, node, host_rows)
        memory_nodes, _ = self._within(nodes, MEMORY)
        memory, _ = self._within(memory_nodes, INNER)
        self._add("memory", memory_table(self.wire, memory, self.tracks, self.batch.quality))

    def _slices(self, events: Fields, at: _Numbers, wanted: Bools | None = None) -> Int64:
        """Add the slices of some events; the row of each, -1 for one that is none."""
        start = events.ints(at.start)
        usable = (start >= 0) & (start < USABLE_NS)
        wanted = np.ones(events.count, np.bool_) if wanted is None else wanted
        self.batch.quality.add("event_without_time", int((wanted & ~usable).sum()))
        kept = np.flatnonzero(wanted & usable)
        end = events.ints(at.end)[kept]
        dur = np.where(end == ABSENT, ABSENT, np.maximum(end, -1) - start[kept])
        word, category = self._types(events, at, kept)
        table: ColumnArrays = {
            "category": category,
            "raw_category_code": word,
            "name_code": self._names(events, kept),
            "track": track_codes(
                self.tracks, events.ints(at.process)[kept], events.ints(at.thread)[kept]
            ),
            "start_ns": start[kept],
            "dur_ns": dur,
            "correlation": np.full(kept.size, ABSENT, np.int64)
            if at.correlation is None
            else events.ints(at.correlation)[kept],
            "external_id": np.full(kept.size, ABSENT, np.int64),
            PHASE_COLUMN: np.zeros(kept.size, np.int8),
        }
        if at is DEVICE:
            self.device_tracks.update(np.unique(table["track"]).tolist())
        self._add("slices", table)
        rows = np.full(events.count, -1, np.int64)
        rows[kept] = self.count + np.arange(kept.size)
        self.count += kept.size
        return rows

    def _types(self, events: Fields, at: _Numbers, kept: Int64) -> tuple[Int32, Int8]:
        """Word and category of events."""
        if at.type is None:
            number = np.full(kept.size, TYPES.index(RUNTIME), np.int64)
        else:
            number = events.ints(at.type)[kept]
        distinct = np.unique(number)
        is_known = (distinct >= 0) & (distinct < len(TYPES))
        words = [
            TYPES[one] if known else f"type {one}" if one != ABSENT else None
            for one, known in zip(distinct.tolist(), is_known.tolist(), strict=True)
        ]
        codes = np.array([-1 if word is None else self.strings[word] for word in words], np.int32)
        category = np.full(distinct.size, UNKNOWN_CATEGORY, np.int8)
        category[is_known] = CATEGORIES[distinct[is_known]]
        place = np.searchsorted(distinct, number)
        return codes[place], category[place]

    def _names(self, events: Fields, kept: Int64) -> Int32:
        start, end = events.spans(1)
        codes, texts = distinct_texts(self.wire, start[kept], end[kept])
        unnamed = self.strings[UNNAMED] if not all(texts) or np.any(codes < 0) else -1
        named = np.array([self.strings[text] if text else unnamed for text in texts] + [unnamed])
        names: Int32 = named[codes].astype(np.int32)
        self.batch.quality.add("missing_name", int((names == unnamed).sum()))
        return names

    def _launches(self, work: Int64, launched_by: Int64, calls: Int64, call_node: Int64) -> None:
        """Which work belongs to which call, both by row; ``launched_by`` is the node of a call."""
        row_of_node = np.full(int(max(launched_by.max(initial=-1), call_node.max(initial=-1))) + 1,
                              -1, np.int64)  # fmt: skip
        row_of_node[call_node] = calls
        launch = row_of_node[launched_by]
        both = (work >= 0) & (launch >= 0)
        self._add(LAUNCHED, {"slice": work[both]})
        self._add(LAUNCHING, {"slice": launch[both]})

    def _inputs(self, nodes: Fields, node: Int64, rows: Int64) -> None:
        """What is known of the inputs of operators; ``node`` is that of the event of each row."""
        input_nodes, of_node = self._within(nodes, INPUTS)
        inputs, input_node = self._within(input_nodes, INNER)
        row_of_node = np.full(nodes.count, -1, np.int64)
        row_of_node[node] = rows
        of_row = row_of_node[of_node[input_node]]
        self._add("operator", operator_table(self.wire, inputs, of_row, self.strings))

    def _declare(self) -> None:
        """Name the rows as Paddle's JSON does."""
        for (pid, tid), code in self.tracks.items():
            on_device = code in self.device_tracks
            said: dict[str, str | int] = {
                "process_name": f"Device {pid} (GPU)" if on_device else f"Process {pid} (CPU)",
                "thread_name": f"stream {tid}" if on_device else unnamed_thread(tid),
            }
            if pid.isdecimal() and len(pid) < len(str(2**62)):
                said["process_sort_index"] = int(pid) + DEVICE_SORT_INDEX * on_device
            self.batch.declared |= {(what, pid, tid): value for what, value in said.items()}

    def _add(self, name: str, table: ColumnArrays) -> None:
        if next(iter(table.values())).size:
            self.batch.tables.setdefault(name, []).append(table)
