"""Reads a ``.pb`` file: trees of threads in pieces, merged like Kineto's batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.assemble import assemble
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.header_types import typed_header
from torch_tb_profiler.importers.kineto.merge import EventBatchMerger
from torch_tb_profiler.importers.paddle.chrome import never_detected
from torch_tb_profiler.importers.paddle.event_types import CATEGORIES
from torch_tb_profiler.importers.paddle.held_memory import hold
from torch_tb_profiler.importers.paddle.inputs import give_to_operators
from torch_tb_profiler.importers.paddle.nodes import (
    HOLDER,
    LAUNCHED,
    LAUNCHING,
    read_nodes,
    unnamed_thread,
)
from torch_tb_profiler.importers.paddle.pieces import TreeFile
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, read_field
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, EventColumns

VERSION, EXTRA_INFO, DEVICE = 1, 4, 5
"""Fields of ``NodeTreesProto`` other than the trees."""

UTILIZATIONS = ("Process Cpu Utilization", "System Cpu Utilization")
"""The keys of its map that are read, in addition to thread numbers."""

DEVICE_KEYS = {
    1: "id",
    2: "name",
    3: "totalGlobalMem",
    4: "computeMajor",
    5: "computeMinor",
    6: "maxThreadsPerBlock",
    7: "maxThreadsPerMultiprocessor",
    8: "regsPerBlock",
    9: "regsPerMultiprocessor",
    10: "warpSize",
    11: "sharedMemPerBlock",
    12: "sharedMemPerMultiprocessor",
    13: "smCount",
    14: "sharedMemPerBlockOptin",
}
"""Field of ``DevicePropertyProto`` → its key in JSON."""


def read_trees(source: Source, reading: Reading) -> EventColumns:
    """Read a ``.pb`` as a stream.

    Raises:
        TraceFormatError: it has no events.
        StorageError, OSError: it cannot be read.
    """
    merger = EventBatchMerger()
    with closing(source.unpacked()) as unpacked:
        file = TreeFile(unpacked)
        for _, batch in reading.read_pieces(iter(file), read_nodes):
            merger.add(batch)
            reading.progress(source.taken_bytes)
    if file.is_truncated:
        merger.quality.add("truncated")
    if merger.is_empty:
        raise TraceFormatError(
            "no_events",
            f"{source.name} has no events.",
            "The recording process was probably stopped before it wrote the trace: export again.",
        )
    extra_info = dict(_pairs(file.fields))
    _name_threads(merger, extra_info)
    header = typed_header(_header(file.fields, extra_info), merger.quality)
    return assemble(merger, header, DIALECT)


def link_launches(columns: EventColumns, own: Mapping[str, ColumnArrays]) -> None:
    """Set the launch of each piece of work, the holder of each memory event, and the operators of
    inputs."""
    give_to_operators(columns.tables["operator"], columns.tables["slices"])
    if HOLDER in own:
        hold(columns, own[HOLDER]["slice"])
    if LAUNCHED in own:
        columns.launch = np.full(columns.tables["slices"]["name_code"].size, ABSENT, np.int64)
        columns.launch[own[LAUNCHED]["slice"]] = own[LAUNCHING]["slice"]


def _read_message(message: bytes) -> dict[int, Any]:
    """Field number → number or text of a small message."""
    values: dict[int, Any] = {}
    at = 0
    while at < len(message) and (field := read_field(message, at, len(message))) is not None:
        number, wire_type, value, start, at = field
        is_text = wire_type == DELIMITED
        values[number] = message[start:at].decode("utf-8", "replace") if is_text else value
    return values


def _pairs(fields: list[tuple[int, bytes]]) -> Iterator[tuple[str, str]]:
    for number, message in fields:
        if number == EXTRA_INFO:
            pair = _read_message(message)
            if isinstance(pair.get(1), str) and isinstance(pair.get(2), str):
                yield pair[1], pair[2]


def _name_threads(merger: EventBatchMerger, extra_info: Mapping[str, str]) -> None:
    """Append the names of threads to the names of their rows."""
    for (key, pid, tid), name in merger.declared.items():
        if key == "thread_name" and name == unnamed_thread(tid) and tid in extra_info:
            merger.declared[key, pid, tid] = name + extra_info[tid]


def _header(fields: list[tuple[int, bytes]], extra_info: Mapping[str, str]) -> dict[str, Any]:
    """The metadata of the file, with the keys of a JSON header."""
    versions = [text.decode("utf-8", "replace") for number, text in fields if number == VERSION]
    devices = [
        {key: values[field] for field, key in DEVICE_KEYS.items() if field in values}
        for values in (_read_message(message) for number, message in fields if number == DEVICE)
    ]
    header = {
        "schemaVersion": versions[-1] if versions else None,
        "deviceProperties": devices,
        "ExtraInfo": {key: extra_info[key] for key in UTILIZATIONS if key in extra_info},
    }
    return {key: value for key, value in header.items() if value}


DIALECT = Dialect(
    None,
    never_detected,
    format="paddle",
    categories=CATEGORIES,
    extra_tables=(LAUNCHED, LAUNCHING, HOLDER),
    recorder="paddle.profiler",
    finalize=link_launches,
)
"""How the columns of all nodes are finished."""
