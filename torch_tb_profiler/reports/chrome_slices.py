"""Slices as complete events of a Chrome trace, with the arguments that Kineto writes.

Names of arguments: Kineto's ``output_json.cpp``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from torch_tb_profiler.reports.chrome_tracks import ChromeTracks, Event
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

SLICES_AT_ONCE = 20_000
"""Slices whose arguments are Python objects at one time."""

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
    Category.OTHER_RECORDING: "other_recording",
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
        "graph": "graph id",
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
        "in_splits_code": "In split size",
        "out_splits_code": "Out split size",
        "sequence": "Seq",
        "comms_id": "Comms Id",
        "src_rank": "Src Rank",
        "dst_rank": "Dst Rank",
    },
}
"""Table of the model → column → Kineto's name of the argument."""

LISTS = {"Input Dims", "Input type", "Concrete Inputs", "grid", "block"}
"""Arguments that the model keeps as text of a list."""

UNSIGNED = {"Comms Id"}
"""Arguments of 64 bits without a sign, which the model keeps as their two's complement."""


def slice_events(trace: Trace, tracks: ChromeTracks, ids: Int64) -> Iterator[Event]:
    """The slices ``ids``, in their order."""
    for first in range(0, len(ids), SLICES_AT_ONCE):
        yield from _slice_events(trace, tracks, ids[first : first + SLICES_AT_ONCE])


def _slice_events(trace: Trace, tracks: ChromeTracks, ids: Int64) -> Iterator[Event]:
    slices = trace.slices[ids]
    arguments = _arguments(trace, ids)
    columns = ("track", "category", "raw_category_code", "name_code", "start_ns", "dur_ns")
    for slice_id, row in zip(ids.tolist(), slices.select(columns).iter_rows(), strict=True):
        track, category, raw_category, name, start_ns, dur_ns = row
        pid, tid = tracks.ids[track]
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
        yield event


def _arguments(trace: Trace, ids: Int64) -> dict[int, Event]:
    """Slice id → its arguments, of the slices that have any."""
    arguments: dict[int, Event] = {}
    chosen = pl.DataFrame({"slice": ids})
    own = trace.slices.select("id", "correlation", "external_id")[ids].rename({"id": "slice"})
    _fill(arguments, trace, own, {"correlation": "correlation", "external_id": "External id"})
    for table, names in ARGUMENT_NAMES.items():
        frame: pl.DataFrame = getattr(trace, table)
        _fill(arguments, trace, frame.join(chosen, on="slice", how="semi"), names)
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
        elif name in UNSIGNED:
            values = [value % 2**64 for value in values]
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
