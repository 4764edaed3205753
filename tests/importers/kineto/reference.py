"""A slow and independent reading of Kineto JSON with the standard library.

:func:`expected` turns a decoded document (``parse_float=Decimal``) into plain rows;
:func:`actual` turns event columns into rows of the same shape. Times are absolute nanoseconds.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.columns import ABSENT, EventColumns

Rows = dict[str, list[tuple[Any, ...]]]

DEVICE_CATEGORIES = {
    "kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "cuda_sync",
    "graph_event_node", "graph_host_node",
}  # fmt: skip
HOST_CATEGORIES = {"cpu_op", "Operator", "user_annotation"}


def chunks_of(data: bytes, size: int = 1 << 16) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def read_bytes(data: bytes, size: int = 1 << 16) -> EventColumns:
    return import_trace(chunks_of(data, size), name="a trace")


def read_file(path: Path) -> EventColumns:
    return read_bytes(path.read_bytes())


def document(path: Path) -> Any:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=Decimal)


def _ns(value: Any) -> int:
    return int((Decimal(value) * 1000).to_integral_value())


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def expected(doc: Any) -> Rows:
    """The rows of every table, in file order."""
    events = doc if isinstance(doc, list) else doc["traceEvents"]
    base = 0 if isinstance(doc, list) else doc.get("baseTimeNanoseconds", 0)
    rows: Rows = {
        name: []
        for name in ("slices", "operator", "device", "python", "memory", "flows", "instants")
    }
    for event in events:
        args = event.get("args") or {}
        cat = event.get("cat")
        track = (str(event.get("pid", "")), str(event.get("tid", "")))
        if event.get("ph") == "X":
            slice_row = len(rows["slices"])
            external = args.get("External id", args.get("external id"))
            rows["slices"].append(
                (cat, event["name"], *track, base + _ns(event["ts"]), _ns(event["dur"]),
                 args.get("correlation"), external)
            )  # fmt: skip
            _add_details(rows, slice_row, cat, args)
        elif event.get("ph") == "i":
            time = base + _ns(event["ts"])
            if event["name"] in ("[memory]", "[OutOfMemory]"):
                keys = ("Device Type", "Device Id", "Addr", "Bytes")
                totals = ("Total Allocated", "Total Reserved")
                rows["memory"].append((*track, time, *(args.get(key) for key in (*keys, *totals))))
            else:
                rows["instants"].append((*track, event["name"], time))
        elif event.get("ph") in ("s", "f") and cat in ("fwdbwd", "forward_backward"):
            rows["flows"].append(
                (cat, str(event["id"]), event["ph"] == "s", *track, base + _ns(event["ts"]))
            )
    return rows


def _add_details(rows: Rows, slice_row: int, cat: Any, args: dict[str, Any]) -> None:
    if cat in HOST_CATEGORIES:
        stack = args.get("Call stack", "").rstrip("; ")
        operator = (
            _text(args.get("Input Dims", args.get("Input dims"))),
            _text(args.get("Input type")),
            _text(args.get("Concrete Inputs")),
            _text(stack),
            args.get("Sequence number"),
            args.get("Fwd thread id"),
            args.get("Record function id"),
        )
        if any(value is not None for value in operator):
            rows["operator"].append((slice_row, *operator))
    elif cat == "python_function":
        keys = ("Python id", "Python parent id", "Python module id")
        rows["python"].append((slice_row, *(args.get(key) for key in keys)))
    elif cat in DEVICE_CATEGORIES:
        rows["device"].append(
            (
                slice_row, args.get("device"), args.get("original_stream", args.get("stream")),
                _text(args.get("grid")), _text(args.get("block")),
                args.get("registers per thread"), args.get("shared memory"),
                _float(args.get("blocks per SM")), _float(args.get("warps per SM")),
                _float(args.get("est. achieved occupancy %")), args.get("bytes"),
            )
        )  # fmt: skip


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def actual(columns: EventColumns) -> Rows:
    """The rows that were read, in the shape of :func:`expected`."""
    view = _View(columns)
    slices = ("raw_category_code", "name_code", "track", "start_ns", "dur_ns")
    return {
        "slices": view.rows("slices", *slices, "correlation", "external_id"),
        "operator": view.rows(
            "operator", "slice", "input_shape_code", "input_type_code", "concrete_inputs_code",
            "call_stack_code", "sequence_number", "forward_thread", "record_function_id",
        ),
        "device": view.rows(
            "device", "slice", "device", "stream", "grid_code", "block_code",
            "registers_per_thread", "shared_memory_bytes", "blocks_per_sm", "warps_per_sm",
            "est_achieved_occupancy_pct", "bytes",
        ),
        "python": view.rows("python", "slice", "python_id", "python_parent_id", "module_id"),
        "memory": view.rows(
            "memory", "track", "time_ns", "device_type", "device", "address", "bytes",
            "total_allocated_bytes", "total_reserved_bytes",
        ),
        "flows": view.rows(
            "flows", "raw_category_code", "flow_id_code", "is_start", "track", "time_ns"
        ),
        "instants": view.rows("instants", "track", "name_code", "time_ns"),
    }  # fmt: skip


class _View:
    def __init__(self, columns: EventColumns) -> None:
        self.columns = columns

    def rows(self, table: str, *names: str) -> list[tuple[Any, ...]]:
        columns_of_rows: list[list[Any]] = []
        for name in names:
            values = self.columns.tables[table][name].tolist()
            if name == "track":
                tracks = [self.columns.tracks[value] for value in values]
                columns_of_rows += [
                    [track.pid for track in tracks],
                    [track.tid for track in tracks],
                ]
            else:
                columns_of_rows.append([self._plain(name, value) for value in values])
        return list(zip(*columns_of_rows, strict=True))

    def _plain(self, name: str, value: Any) -> Any:
        if name.endswith("_code"):
            return None if value < 0 else self.columns.strings[value]
        if name in ("start_ns", "time_ns"):
            return value + self.columns.base_ns
        if isinstance(value, float):
            return None if np.isnan(value) else value
        return None if value == ABSENT else value


def assert_same_columns(one: EventColumns, other: EventColumns) -> None:
    """Everything two readings of a file made is the same."""
    assert one.strings == other.strings
    assert one.tracks == other.tracks
    assert one.quality == other.quality
    assert one.info == other.info
    for name, table in one.tables.items():
        for column, values in table.items():
            np.testing.assert_array_equal(values, other.tables[name][column], f"{name}.{column}")
