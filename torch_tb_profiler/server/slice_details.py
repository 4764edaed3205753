"""One event for people: times, place, arguments, call stack, and what it is linked to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import polars as pl

from torch_tb_profiler.analysis.call_stacks import frames_of
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import no_device_time

NS_PER_US = 1000
MAX_LINKED = 100
"""Linked slices listed by name; one graph launch may own thousands. The count is exact."""

_PLUMBING = frozenset({"slice", "category", "name_code", "start_ns", "dur_ns", "launch", "owner"})
"""Columns of the detail tables that are not arguments of the event."""

_ARGUMENT_TABLES = ("operators", "device_work", "python", "collectives")


def slice_details(trace: Trace, slice_id: int) -> dict[str, Any]:
    """Everything known about one slice, JSON-ready.

    Args:
        trace: The trace.
        slice_id: Row of ``trace.slices``, which exists.

    Returns:
        ``no_device_time`` says why the device times are null where some would be expected.
    """
    row = trace.slices.row(slice_id, named=True)
    has_device_time = row["device_total_ns"] is not None
    unknown = no_device_time(trace) if has_device_time else None
    track = trace.tracks.filter(pl.col("track") == row["track"])
    return {
        "id": slice_id,
        "name": trace.text(row["name_code"]),
        "category": Category(row["category"]).name.lower(),
        "raw_category": trace.text(row["raw_category_code"]),
        "start_us": _us(row["start_ns"]),
        "dur_us": _us(row["dur_ns"]),
        "self_us": _us(row["self_ns"]),
        "device_self_us": None if unknown else _us(row["device_self_ns"]),
        "device_total_us": None if unknown else _us(row["device_total_ns"]),
        "no_device_time": unknown,
        "depth": row["depth"],
        "lane": row["lane"],
        "step": None if row["step"] is None else trace.steps["name"][row["step"]],
        "correlation": row["correlation"],
        "external_id": row["external_id"],
        "track": track.row(0, named=True) if track.height else None,
        "args": _arguments(trace, slice_id),
        "call_stack": [dataclasses.asdict(frame) for frame in frames_of(trace, slice_id)],
        "links": _links(trace, slice_id, row),
    }


def _us(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_US


def _arguments(trace: Trace, slice_id: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for table in _ARGUMENT_TABLES:
        frame: pl.DataFrame = getattr(trace, table)
        for row in frame.filter(pl.col("slice") == slice_id).head(1).iter_rows(named=True):
            for key, value in row.items():
                if value is None or key in _PLUMBING or key == "forward":
                    continue
                name = key.removesuffix("_code")
                arguments[name] = trace.text(value) if key.endswith("_code") else value
    return arguments


def _links(trace: Trace, slice_id: int, row: dict[str, Any]) -> dict[str, Any]:
    work = trace.device_work
    own_work = work.filter(pl.col("slice") == slice_id)
    forward = trace.operators.filter(pl.col("slice") == slice_id)["forward"]
    backward = trace.operators.filter(pl.col("forward") == slice_id)["slice"]
    children = trace.slices.filter(pl.col("parent") == slice_id)["id"]
    launched = work.filter(pl.col("launch") == slice_id)["slice"]
    owned = work.filter(pl.col("owner") == slice_id)["slice"]
    return {
        "parent": _linked(trace, [row["parent"]]),
        "absorbed_into": _linked(trace, [row["absorbed_into"]]),
        "frame": _linked(trace, [row["frame"]]),
        "children": _linked(trace, children),
        "launch": _linked(trace, own_work["launch"]),
        "owner": _linked(trace, own_work["owner"]),
        "launched": _linked(trace, launched),
        "device_work": _linked(trace, owned),
        "forward": _linked(trace, forward),
        "backward": _linked(trace, backward),
    }


def _linked(trace: Trace, ids: Iterable[int | None]) -> dict[str, Any]:
    known = [slice_id for slice_id in ids if slice_id is not None]
    shown = [
        {"id": slice_id, "name": trace.text(trace.slices["name_code"][slice_id])}
        for slice_id in known[:MAX_LINKED]
    ]
    return {"count": len(known), "slices": shown}
