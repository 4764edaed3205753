"""A trace, or a part of it, as Chrome JSON for Perfetto and other viewers, with GPU counters.

Written from the model, so every input format becomes readable there, nothing but known arguments
leaves, and names and arguments are those of Kineto: our own importer reads the result back. Format: "Trace Event Format" (Google); arguments: Kineto's
``output_json.cpp``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.selection import Selection, selected_steps, time_range
from torch_tb_profiler.reports.chrome_counters import counter_events
from torch_tb_profiler.reports.chrome_header import chrome_header
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

NS_PER_US = 1000
SLICES_AT_ONCE = 20_000
"""Slices that are Python objects at one time."""

CATEGORY_NAMES = {
    Category.OPERATOR: "cpu_op",
    Category.PYTHON_OPERATOR: "python",
    Category.ANNOTATION: "user_annotation",
    Category.STEP: "user_annotation",
    Category.DATALOADER: "user_annotation",
    Category.OPTIMIZER: "user_annotation",
    Category.MODULE: "python_function",
    Category.PYTHON_FUNCTION: "python_function",
    Category.RUNTIME: "cuda_runtime",
    Category.KERNEL: "kernel",
    Category.MEMCPY: "gpu_memcpy",
    Category.MEMSET: "gpu_memset",
    Category.DEVICE_ANNOTATION: "gpu_user_annotation",
    Category.DEVICE_SYNC: "cuda_sync",
    Category.DEVICE_OTHER: "gpu_other",
    Category.OVERHEAD: "overhead",
    Category.SPAN: "Trace",
    Category.HOST_OTHER: "host_other",
}
"""Category for slices of files that write none."""

ARGUMENT_NAMES = {
    "operators": {
        "input_shape_code": "Input Dims",
        "input_type_code": "Input type",
        "concrete_inputs_code": "Concrete Inputs",
        "call_stack_code": "Call stack",
        "module_hierarchy_code": "Module Hierarchy",
        "sequence_number": "Sequence number",
        "forward_thread": "Fwd thread id",
        "record_function_id": "Record function id",
    },
    "device_work": {
        "device": "device",
        "stream": "stream",
        "grid_code": "grid",
        "block_code": "block",
        "registers_per_thread": "registers per thread",
        "shared_memory_bytes": "shared memory",
        "blocks_per_sm": "blocks per SM",
        "warps_per_sm": "warps per SM",
        "est_achieved_occupancy_pct": "est. achieved occupancy %",
        "graph_node": "graph node id",
        "bytes": "bytes",
    },
    "python": {
        "python_id": "Python id",
        "python_parent_id": "Python parent id",
        "module_id": "Python module id",
    },
    "collectives": {
        "collective_code": "Collective name",
        "dtype_code": "dtype",
        "in_nelems": "In msg nelems",
        "out_nelems": "Out msg nelems",
        "group_size": "Group size",
        "group_code": "Process Group Name",
        "group_description_code": "Process Group Description",
        "group_ranks_code": "Process Group Ranks",
        "sequence": "Seq",
        "src_rank": "Src Rank",
        "dst_rank": "Dst Rank",
    },
}
"""Table of the model → column → Kineto's name of the argument."""

LISTS = {"Input Dims", "Input type", "Concrete Inputs", "grid", "block"}
"""Arguments that the model keeps as text of a list."""

Event = dict[str, Any]


def chrome_json(trace: Trace, selection: Selection) -> Iterator[bytes]:
    """The slices, memory events and counters that overlap ``selection``, piece by piece.

    Raises:
        SelectionError: the selection names steps the trace does not have (before the first piece).
    """
    windows = selected_windows(trace, selection)
    return _pieces(trace, windows)


def selected_windows(trace: Trace, selection: Selection) -> tuple[Int64, Int64]:
    """Starts and ends, sorted and disjoint, of the time a selection is about; stretched steps.

    Raises:
        SelectionError: as :func:`views.selection.selected_steps`.
    """
    first, last = trace.meta.start_ns, trace.meta.end_ns + 1
    if selection.steps is None:
        start, end = np.array([first], np.int64), np.array([last], np.int64)
    else:
        steps = trace.steps.filter(pl.Series(selected_steps(trace, selection)))
        start, end = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        start = np.maximum(start, first_ns)
    if last_ns is not None:
        end = np.minimum(end, last_ns)
    kept = end > start
    return start[kept], end[kept]


def _pieces(trace: Trace, windows: tuple[Int64, Int64]) -> Iterator[bytes]:
    header = chrome_header(trace.meta)
    tracks = _Tracks(trace)
    yield msgspec.json.encode(header)[:-1] + b',"traceEvents":[\n'
    yield _encoded(tracks.declarations())
    ids = np.flatnonzero(_overlapping(trace.slices, windows))
    for first in range(0, len(ids), SLICES_AT_ONCE):
        yield b",\n" + _encoded(_slice_events(trace, tracks, ids[first : first + SLICES_AT_ONCE]))
    for events in (
        _flow_events(trace, tracks, ids),
        _memory_events(trace, tracks, windows),
        counter_events(trace, tracks.process_of_device, windows),
    ):
        if events:
            yield b",\n" + _encoded(events)
    yield b"\n]}\n"


def _encoded(events: list[Event]) -> bytes:
    return b",\n".join(msgspec.json.encode(event) for event in events)


def _overlapping(slices: pl.DataFrame, windows: tuple[Int64, Int64]) -> np.ndarray[Any, Any]:
    """Mask of the slices that share a moment with a window; those of no length lie in one."""
    start = slices["start_ns"].to_numpy()
    end = np.maximum(start + slices["dur_ns"].to_numpy(), start + 1)
    window = np.searchsorted(windows[1], start, side="right")  # first that ends after the start
    starts = np.append(windows[0], np.iinfo(np.int64).max)
    mask: np.ndarray[Any, Any] = starts[window] < end
    return mask


class _Tracks:
    """Where events stand: process and thread as the viewers know them."""

    def __init__(self, trace: Trace) -> None:
        self._rows = trace.tracks.sort("sort_index").to_dicts()
        self.place = {
            row["track"]: (_number(row["pid"]), _number(row["tid"])) for row in self._rows
        }
        self.process_of_device = {
            row["device"]: _number(row["pid"])
            for row in self._rows
            if row["is_device"] and row["device"] is not None
        }

    def declarations(self) -> list[Event]:
        """Names and order of all processes and threads."""
        events: list[Event] = []
        for order, row in enumerate(self._rows):
            pid, tid = self.place[row["track"]]
            arguments = {
                "process_name": {"name": row["process_name"]},
                "process_labels": {"labels": row["process_label"]},
                "process_sort_index": {"sort_index": order},
                "thread_name": {"name": row["thread_name"]},
                "thread_sort_index": {"sort_index": order},
            }
            events.extend(
                {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}
                for name, args in arguments.items()
                if None not in args.values()
            )
        return events


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() and len(text) <= 15 else text


def _slice_events(trace: Trace, tracks: _Tracks, ids: Int64) -> list[Event]:
    slices = trace.slices[ids]
    arguments = _arguments(trace, ids)
    columns = ("track", "category", "raw_category_code", "name_code", "start_ns", "dur_ns")
    events: list[Event] = []
    for slice_id, row in zip(ids.tolist(), slices.select(columns).iter_rows(), strict=True):
        track, category, raw_category, name, start_ns, dur_ns = row
        pid, tid = tracks.place[track]
        event: Event = {
            "ph": "X",
            "cat": trace.text(raw_category) or CATEGORY_NAMES[Category(category)],
            "name": trace.text(name),
            "pid": pid,
            "tid": tid,
            "ts": start_ns / NS_PER_US,
            "dur": dur_ns / NS_PER_US,
        }
        if slice_id in arguments:
            event["args"] = arguments[slice_id]
        events.append(event)
    return events


def _arguments(trace: Trace, ids: Int64) -> dict[int, Event]:
    """Slice id → its arguments, of the slices that have any."""
    arguments: dict[int, Event] = {}
    wanted = pl.DataFrame({"slice": ids})
    own = trace.slices.select("id", "correlation", "external_id")[ids].rename({"id": "slice"})
    _fill(arguments, trace, own, {"correlation": "correlation", "external_id": "External id"})
    for table, names in ARGUMENT_NAMES.items():
        frame: pl.DataFrame = getattr(trace, table)
        _fill(arguments, trace, frame.join(wanted, on="slice", how="semi"), names)
    return arguments


def _fill(
    arguments: dict[int, Event], trace: Trace, frame: pl.DataFrame, names: dict[str, str]
) -> None:
    for column, name in names.items():
        rows = frame.select("slice", column).drop_nulls()
        values = rows[column].to_list()
        if column.endswith("_code"):
            texts = {code: _decoded(name, trace.text(code)) for code in set(values)}
            values = [texts[code] for code in values]
        for slice_id, value in zip(rows["slice"].to_list(), values, strict=True):
            if value is not None:
                arguments.setdefault(slice_id, {})[name] = value


def _decoded(name: str, text: str | None) -> Any:
    """A list when the argument is one and its text can be read as one, else the text."""
    if text is None or name not in LISTS:
        return text
    try:
        return json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return text


def _flow_events(trace: Trace, tracks: _Tracks, ids: Int64) -> list[Event]:
    """Arrows from launches to their device work and from forward to backward operators."""
    work = trace.device_work.select(source="launch", target="slice")
    backward = trace.operators.select(source="forward", target="slice")
    events: list[Event] = []
    for category, pairs in (("ac2g", work), ("fwdbwd", backward)):
        inside = pairs.drop_nulls().filter(
            pl.col("source").is_in(ids.tolist()) & pl.col("target").is_in(ids.tolist())
        )
        for number, ends in enumerate(inside.iter_rows()):
            for phase, slice_id in zip("sf", ends, strict=True):
                pid, tid = tracks.place[trace.slices["track"][slice_id]]
                event: Event = {
                    "ph": phase,
                    "cat": category,
                    "name": category,
                    "id": number,
                    "pid": pid,
                    "tid": tid,
                    "ts": trace.slices["start_ns"][slice_id] / NS_PER_US,
                }
                events.append(event if phase == "s" else {**event, "bp": "e"})
    return events


def _memory_events(trace: Trace, tracks: _Tracks, windows: tuple[Int64, Int64]) -> list[Event]:
    names = {
        "device_type": "Device Type",
        "device": "Device Id",
        "address": "Addr",
        "bytes": "Bytes",
        "total_allocated_bytes": "Total Allocated",
        "total_reserved_bytes": "Total Reserved",
    }
    instants = trace.memory.with_columns(start_ns=pl.col("time_ns"), dur_ns=pl.lit(0, pl.Int64))
    inside = instants.filter(pl.Series(_overlapping(instants, windows)))
    events: list[Event] = []
    for row in inside.iter_rows(named=True):
        pid, tid = tracks.place[row["track"]]
        args = {name: row[column] for column, name in names.items() if row[column] is not None}
        events.append(
            {
                "ph": "i",
                "s": "t",
                "name": "[OutOfMemory]" if row["is_oom"] else "[memory]",
                "pid": pid,
                "tid": tid,
                "ts": row["time_ns"] / NS_PER_US,
                "args": args,
            }
        )
    return events
