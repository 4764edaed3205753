"""Messages of one kind → tables of the trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.paddle.devices import parse_device
from torch_tb_profiler.importers.paddle.event_types import MEMORY_TYPES, POOL_TYPES
from torch_tb_profiler.importers.paddle.held_memory import ABSENT_KIND
from torch_tb_profiler.importers.paddle.inputs import decode_shapes, decode_types, format_stack
from torch_tb_profiler.importers.protobuf.texts import distinct_ranges, distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Int32,
    Int64,
    absent_table,
)
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport

KERNEL, COPY, SET = 9, 10, 11
"""Fields of ``DeviceTraceEventProto``: the details of a kernel, a copy, a memset."""

SIZE = 1
"""Field of a copy or a memset: its bytes."""


def select_messages(wire: Wire, fields: Fields, number: int) -> tuple[Fields, Int64]:
    """The messages in one field of other messages, and the index of the message that contains
    each."""
    picked = fields.pick(number, DELIMITED)
    return wire.fields(picked.start, picked.end), picked.message


def track_codes(tracks: Interner, process: Int64, thread: Int64) -> Int32:
    """The track codes of processes and threads."""
    processes, threads = np.unique(process), np.unique(thread)
    key = np.searchsorted(processes, process) * threads.size + np.searchsorted(threads, thread)
    keys = np.unique(key)
    process_index, thread_index = np.divmod(keys, max(threads.size, 1))
    pairs = zip(processes[process_index].tolist(), threads[thread_index].tolist(), strict=True)
    texts = [tuple("" if value == ABSENT else str(value) for value in pair) for pair in pairs]
    codes = np.array([tracks[text] for text in texts], np.int32)
    return codes[np.searchsorted(keys, key)]


def device_table(wire: Wire, work: Fields, rows: Int64, strings: Interner) -> ColumnArrays:
    """The device table of device work; ``rows`` are its slices, -1 for work without a slice."""
    table = absent_table("device", work.count)
    table["device"], table["stream"] = work.ints(5), work.ints(7)
    kernels, work_index = select_messages(wire, work, KERNEL)
    for column, numbers in (("grid_code", (4, 5, 6)), ("block_code", (1, 2, 3))):
        table[column][work_index] = _encode_triples(kernels, numbers, strings)
    dynamic, static = kernels.ints(7), kernels.ints(8)
    shared = np.where(dynamic == ABSENT, 0, dynamic) + np.where(static == ABSENT, 0, static)
    is_known = (dynamic != ABSENT) | (static != ABSENT)
    table["shared_memory_bytes"][work_index] = np.where(is_known, shared, ABSENT)
    table["registers_per_thread"][work_index] = kernels.ints(9)
    table["blocks_per_sm"][work_index] = kernels.floats(15)
    table["warps_per_sm"][work_index] = kernels.floats(16)
    table["est_achieved_occupancy_pct"][work_index] = kernels.floats(17) * 100
    for number in (COPY, SET):
        operations, work_index = select_messages(wire, work, number)
        table["bytes"][work_index] = operations.ints(SIZE)
    table["slice"] = rows
    has_slice = rows >= 0
    return {name: column[has_slice] for name, column in table.items()}


def _encode_triples(kernels: Fields, numbers: tuple[int, int, int], strings: Interner) -> Int32:
    """The code of the text of three numbers each, ``"[32, 2, 1]"``; -1 if one is absent."""
    columns = [kernels.ints(number) for number in numbers]
    distinct = [np.unique(column) for column in columns]
    key = np.zeros(kernels.count, np.int64)
    for column, values in zip(columns, distinct, strict=True):
        key = key * values.size + np.searchsorted(values, column)
    keys, firsts = np.unique(key, return_index=True)
    threes = np.stack(columns)[:, firsts].T.tolist()
    texts = [None if ABSENT in three else str(three) for three in threes]
    codes = np.array([-1 if text is None else strings[text] for text in texts], np.int32)
    return codes[np.searchsorted(keys, key)]


def memory_table(
    wire: Wire, events: Fields, holder: Int64, tracks: Interner, quality: QualityReport
) -> tuple[ColumnArrays, Int64]:
    """The memory table, where events of the allocator's pool change only the totals, with the
    columns of ``held_memory``; and the slices that hold its events, of those in ``holder``."""
    time, kind = events.ints(1), events.ints(2)
    quality.add("event_without_time", int((time < 0).sum()))
    is_odd = (kind < 0) | (kind >= len(MEMORY_TYPES))
    quality.add("argument_value", int(is_odd.sum()))
    is_pool = is_odd | np.isin(kind, [MEMORY_TYPES.index(word) for word in POOL_TYPES])
    codes, device_texts = distinct_texts(wire, *events.spans(7))
    devices = np.array([parse_device(text) for text in device_texts] + [(ABSENT, ABSENT)], np.int64)
    size = _size(events.ints(6), quality)
    table = {
        "track": track_codes(tracks, events.ints(4), events.ints(5)),
        "time_ns": time,
        "device_type": devices[codes, 0],
        "device": devices[codes, 1],
        "address": np.where(is_pool, ABSENT, events.ints(3)),
        "bytes": np.where(is_pool, 0, size),
        "held_bytes": size,
        "kind": np.where(is_odd, ABSENT_KIND, kind).astype(np.int8),
        "total_allocated_bytes": _size(events.ints(8), quality),
        "total_reserved_bytes": _size(events.ints(9), quality),
        "peak_allocated_bytes": _size(events.ints(10), quality),
        "peak_reserved_bytes": _size(events.ints(11), quality),
        "is_oom": np.zeros(events.count, np.int8),
    }
    has_time = time >= 0
    return {name: column[has_time] for name, column in table.items()}, holder[has_time]


def _size(values: Int64, quality: QualityReport) -> Int64:
    """Sizes, absent where they are not plausible."""
    is_implausible = (np.abs(values) > MAX_BYTES) & (values != ABSENT)
    quality.add("argument_value", int(is_implausible.sum()))
    sizes: Int64 = np.where(is_implausible, ABSENT, values)
    return sizes


def operator_table(wire: Wire, inputs: Fields, rows: Int64, strings: Interner) -> ColumnArrays:
    """The operator table: inputs and callers; ``rows`` are the operators' slices, -1 for none."""
    table = absent_table("operator", inputs.count)
    readers: tuple[tuple[str, int, Callable[[bytes], str | None]], ...] = (
        ("input_shape_code", 5, decode_shapes),
        ("input_type_code", 6, decode_types),
        ("call_stack_code", 7, lambda text: format_stack(text.decode("utf-8", "replace"))),
    )
    has_any = np.zeros(inputs.count, np.bool_)
    for column, number, reader in readers:
        codes, messages = distinct_ranges(wire, *inputs.spans(number))
        texts = [reader(message) for message in messages]
        codes_by_text = np.array(
            [-1 if not text else strings[text] for text in texts] + [-1], np.int32
        )
        table[column] = codes_by_text[codes]
        has_any |= table[column] >= 0
    table["slice"] = rows
    selected = np.flatnonzero(has_any & (rows >= 0))
    _, last = np.unique(rows[selected][::-1], return_index=True)
    selected = selected[::-1][last]  # one row per operator, its last
    return {name: column[selected] for name, column in table.items()}
