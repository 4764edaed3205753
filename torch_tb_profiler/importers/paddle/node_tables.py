"""Messages of one kind → the tables that they fill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.paddle.blank import blank_table
from torch_tb_profiler.importers.paddle.event_types import MEMORY_TYPES, RESERVED
from torch_tb_profiler.importers.paddle.input_messages import shapes_of, types_of
from torch_tb_profiler.importers.paddle.inputs import stack_text
from torch_tb_profiler.importers.paddle.places import device_of
from torch_tb_profiler.importers.protobuf.texts import distinct_ranges, distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Int32,
    Int64,
)
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport

KERNEL, COPY, SET = 9, 10, 11
"""Fields of ``DeviceTraceEventProto``: what is known of a kernel, a copy, a set."""

SIZE = 1
"""Of a copy and of a set: its bytes."""


def within(wire: Wire, fields: Fields, number: int) -> tuple[Fields, Int64]:
    """The messages that stand in one field of others, and the index of the one that each is in."""
    picked = fields.pick(number, DELIMITED)
    return wire.fields(picked.start, picked.end), picked.message


def track_codes(tracks: Interner, process: Int64, thread: Int64) -> Int32:
    """The tracks of processes and threads."""
    processes, threads = np.unique(process), np.unique(thread)
    key = np.searchsorted(processes, process) * threads.size + np.searchsorted(threads, thread)
    keys = np.unique(key)
    of_process, of_thread = np.divmod(keys, max(threads.size, 1))
    pairs = zip(processes[of_process].tolist(), threads[of_thread].tolist(), strict=True)
    texts = [tuple("" if one == ABSENT else str(one) for one in pair) for pair in pairs]
    codes = np.array([tracks[text] for text in texts], np.int32)
    return codes[np.searchsorted(keys, key)]


def device_table(wire: Wire, work: Fields, rows: Int64, strings: Interner) -> ColumnArrays:
    """What is known of device work; ``rows`` are its slices, -1 for what is none."""
    table = blank_table("device", work.count)
    table["device"], table["stream"] = work.ints(5), work.ints(7)
    kernels, of_work = within(wire, work, KERNEL)
    for column, numbers in (("grid_code", (4, 5, 6)), ("block_code", (1, 2, 3))):
        table[column][of_work] = _triples(kernels, numbers, strings)
    dynamic, static = kernels.ints(7), kernels.ints(8)
    shared = np.where(dynamic == ABSENT, 0, dynamic) + np.where(static == ABSENT, 0, static)
    is_told = (dynamic != ABSENT) | (static != ABSENT)
    table["shared_memory_bytes"][of_work] = np.where(is_told, shared, ABSENT)
    table["registers_per_thread"][of_work] = kernels.ints(9)
    table["blocks_per_sm"][of_work] = kernels.floats(15)
    table["warps_per_sm"][of_work] = kernels.floats(16)
    table["est_achieved_occupancy_pct"][of_work] = kernels.floats(17) * 100
    for number in (COPY, SET):
        moved, of_work = within(wire, work, number)
        table["bytes"][of_work] = moved.ints(SIZE)
    table["slice"] = rows
    kept = rows >= 0
    return {name: column[kept] for name, column in table.items()}


def _triples(kernels: Fields, numbers: tuple[int, int, int], strings: Interner) -> Int32:
    """Three numbers each → the code of their text, ``"[32, 2, 1]"``; -1 unless all are there."""
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
    wire: Wire, events: Fields, tracks: Interner, quality: QualityReport
) -> ColumnArrays:
    """Memory events; those of the pool of an allocator change only the totals."""
    time, kind = events.ints(1), events.ints(2)
    quality.add("event_without_time", int((time < 0).sum()))
    is_odd = (kind < 0) | (kind >= len(MEMORY_TYPES))
    quality.add("argument_value", int(is_odd.sum()))
    is_pool = is_odd | np.isin(kind, [MEMORY_TYPES.index(word) for word in RESERVED])
    codes, places = distinct_texts(wire, *events.spans(7))
    devices = np.array([device_of(place) for place in places] + [(ABSENT, ABSENT)], np.int64)
    table = {
        "track": track_codes(tracks, events.ints(4), events.ints(5)),
        "time_ns": time,
        "device_type": devices[codes, 0],
        "device": devices[codes, 1],
        "address": np.where(is_pool, ABSENT, events.ints(3)),
        "bytes": np.where(is_pool, 0, _size(events.ints(6), quality)),
        "total_allocated_bytes": _size(events.ints(8), quality),
        "total_reserved_bytes": _size(events.ints(9), quality),
        "is_oom": np.zeros(events.count, np.int8),
    }
    kept = time >= 0
    return {name: column[kept] for name, column in table.items()}


def _size(values: Int64, quality: QualityReport) -> Int64:
    """Sizes; none that is beyond sense."""
    is_beyond = (np.abs(values) > MAX_BYTES) & (values != ABSENT)
    quality.add("argument_value", int(is_beyond.sum()))
    sizes: Int64 = np.where(is_beyond, ABSENT, values)
    return sizes


def operator_table(wire: Wire, inputs: Fields, rows: Int64, strings: Interner) -> ColumnArrays:
    """What is known of operators' inputs and callers; ``rows`` are their slices, -1 for none."""
    table = blank_table("operator", inputs.count)
    of_fields: tuple[tuple[str, int, Callable[[bytes], str | None]], ...] = (
        ("input_shape_code", 5, shapes_of),
        ("input_type_code", 6, types_of),
        ("call_stack_code", 7, lambda text: stack_text(text.decode("utf-8", "replace"))),
    )
    said = np.zeros(inputs.count, np.bool_)
    for column, number, text_of in of_fields:
        codes, messages = distinct_ranges(wire, *inputs.spans(number))
        texts = [text_of(message) for message in messages]
        of_text = np.array([-1 if not text else strings[text] for text in texts] + [-1], np.int32)
        table[column] = of_text[codes]
        said |= table[column] >= 0
    table["slice"] = rows
    kept = np.flatnonzero(said & (rows >= 0))
    _, last = np.unique(rows[kept][::-1], return_index=True)
    kept = kept[::-1][last]  # one row per operator: what it says last
    return {name: column[kept] for name, column in table.items()}
