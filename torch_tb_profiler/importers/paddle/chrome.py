"""Paddle's dialect of Chrome JSON.

It differs from Kineto's in three ways: names end with the duration, a thread has a row for each of
two layers, and arguments have other names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers.kineto.batch import PRECEDING
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.dialect import Dialect, SliceArguments
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.event_structs import StructArguments
from torch_tb_profiler.importers.kineto.structs import (
    DEVICE_FIELDS,
    ArgumentField,
    ArgumentFields,
    decoder,
)
from torch_tb_profiler.importers.kineto.tables import device_table
from torch_tb_profiler.importers.kineto.values import (
    Interner,
    float_column,
    int_column,
    text_codes,
)
from torch_tb_profiler.importers.paddle.devices import parse_device
from torch_tb_profiler.importers.paddle.event_types import CATEGORIES, MEMORY_TYPES, POOL_TYPES
from torch_tb_profiler.importers.paddle.exact_starts import (
    EXACT_KEY,
    EXACT_START,
    exact_starts,
    holders,
    refine_memory,
    refine_starts,
)
from torch_tb_profiler.importers.paddle.held_memory import ABSENT_KIND, hold
from torch_tb_profiler.importers.paddle.inputs import (
    format_shapes,
    format_stack,
    format_types,
    parameter_values,
)
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int64,
    Track,
    absent_table,
)
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport

DURATION = re.compile(r"\[[\d.]+ (ns|us|ms|s)\]$")
"""The duration at the end of every name."""

LAYER = re.compile(r"\((Python|C\+\+)\)$")
"""The layer at the end of a thread's number and name; a thread has a row for each layer."""

_COMMON: ArgumentFields = {
    "start": ArgumentField("start_time", None),
    "link": ArgumentField("correlation id", ABSENT),
}
_OPERATOR: ArgumentFields = {
    "shapes": ArgumentField("input_shapes", None),
    "types": ArgumentField("input_dtypes", None),
    "stack": ArgumentField("callstack", None),
}
_OCCUPANCY: ArgumentFields = {
    "theoretical_occupancy_pct": ArgumentField("theoretical achieved occupancy %", float("nan"))
}
_MEMORY: ArgumentFields = {
    "device": ArgumentField("place", None),
    "address": ArgumentField("addr", ABSENT),
    "bytes": ArgumentField("increase_bytes", ABSENT),
    "total_allocated_bytes": ArgumentField("current_allocated", ABSENT),
    "total_reserved_bytes": ArgumentField("current_reserved", ABSENT),
    "peak_allocated_bytes": ArgumentField("peak_allocated", ABSENT),
    "peak_reserved_bytes": ArgumentField("peak_reserved", ABSENT),
}
_DECODERS = {
    EventKind.HOST_SLICE: decoder("PaddleOperator", _COMMON, _OPERATOR),
    EventKind.DEVICE_SLICE: decoder("PaddleWork", _COMMON, DEVICE_FIELDS, _OCCUPANCY),
}
_OTHERS = decoder("PaddleSlice", _COMMON)
_MEMORY_EVENTS = decoder("PaddleMemory", _MEMORY)


def without_duration(name: str) -> str:
    """``"conv2d[2.765 ms]"`` → ``"conv2d"``."""
    return DURATION.sub("", name)


def merge_layers(track: Track) -> Track:
    """The thread of a row without its layer: C++ ranges nest in Python ranges."""
    name = track.thread_name
    return replace(
        track,
        tid=LAYER.sub("", track.tid),
        thread_name=None if name is None else LAYER.sub("", name),
    )


def read_slices(
    kind: EventKind, raws: list[msgspec.Raw], rows: Int64, strings: Interner, quality: QualityReport
) -> SliceArguments:
    """Read the arguments of slices."""
    args = decode_args(_DECODERS.get(kind, _OTHERS), raws, quality)
    tables: dict[str, ColumnArrays | None] = {
        EXACT_START: exact_starts([arg.start for arg in args], rows)
    }
    if kind == EventKind.HOST_SLICE:
        tables["operator"] = _operator_table(args, rows, strings)
    if kind == EventKind.DEVICE_SLICE:
        tables["device"] = _device_table(args, rows, strings, quality)
    links = int_column([arg.link for arg in args], quality, _COMMON["link"].key)
    return SliceArguments(links, tables)


def _operator_table(args: Sequence[Any], rows: Int64, strings: Interner) -> ColumnArrays:
    texts = {
        "input_shape_code": [format_shapes(parameter_values(arg.shapes)) for arg in args],
        "input_type_code": [format_types(parameter_values(arg.types)) for arg in args],
        "call_stack_code": [format_stack(str(arg.stack)) if arg.stack else None for arg in args],
    }
    codes = {name: text_codes(values, strings) for name, values in texts.items()}
    has_any = np.logical_or.reduce([column >= 0 for column in codes.values()])
    table = absent_table("operator", int(has_any.sum()))
    return table | {"slice": rows[has_any]} | {name: codes[name][has_any] for name in codes}


def _device_table(
    args: Sequence[Any], rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """Like Kineto's, with Paddle's key of the occupancy."""
    occupancy = float_column(
        [arg.theoretical_occupancy_pct for arg in args],
        quality,
        _OCCUPANCY["theoretical_occupancy_pct"].key,
    )
    for arg, pct in zip(args, occupancy.tolist(), strict=True):
        arg.est_achieved_occupancy_pct = pct
    return device_table(StructArguments(args), rows, strings, quality)


def read_memory(raws: list[msgspec.Raw], words: list[Any], quality: QualityReport) -> ColumnArrays:
    """Read the arguments of memory events; events of the allocator's pool change only the
    totals."""
    args = decode_args(_MEMORY_EVENTS, raws, quality)
    columns = {
        name: int_column(
            [getattr(arg, name) for arg in args],
            quality,
            field.key,
            2**63 - 1 if name == "address" else MAX_BYTES,
        )
        for name, field in _MEMORY.items()
        if name != "device"
    }
    is_pool = np.array([word in POOL_TYPES for word in words], np.bool_)
    columns["held_bytes"] = columns["bytes"].copy()
    kinds = [MEMORY_TYPES.index(word) if word in MEMORY_TYPES else ABSENT_KIND for word in words]
    columns["kind"] = np.array(kinds, np.int8)
    columns["bytes"][is_pool] = 0
    columns["address"][is_pool] = ABSENT
    devices = np.array([parse_device(str(arg.device)) for arg in args], np.int64).reshape(-1, 2)
    return {"device_type": devices[:, 0], "device": devices[:, 1], **columns}


def refine_times(columns: EventColumns, own: Mapping[str, ColumnArrays]) -> None:
    """Set the times of slices and memory events below the microsecond. The empty event at the end
    of each file is not an issue."""
    empty = columns.quality.counts.pop("empty_event", 1)
    columns.quality.add("empty_event", empty - 1)
    slices, memory = columns.tables["slices"], columns.tables["memory"]
    if EXACT_START in own:
        refine_starts(slices, own[EXACT_START])
    if PRECEDING in own:
        holder = holders(slices, memory, own[PRECEDING]["slice"])
        refine_memory(slices, memory, holder)
        hold(columns, holder)


def never_detected(_header: Mapping[str, Any], _tracks: Sequence[Track]) -> bool:
    """Always false: files of this format are read with this dialect from the start."""
    return False


DIALECT = Dialect(
    None,
    never_detected,
    format="paddle",
    rename=without_duration,
    categories=CATEGORIES,
    thread_of=merge_layers,
    read_slices=read_slices,
    read_memory=read_memory,
    exact_start_key=EXACT_KEY,
    known_keys=frozenset(
        field.key
        for fields in (_COMMON, _OPERATOR, _OCCUPANCY, _MEMORY)
        for field in fields.values()
    ),
    extra_tables=(EXACT_START, PRECEDING),
    recorder="paddle.profiler",
    finalize=refine_times,
)
