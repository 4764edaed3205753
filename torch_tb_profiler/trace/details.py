"""The detail tables: per-kind columns with slice ids of the trace and links of their own."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import ABSENT, DEVICE_COLUMNS, EventColumns, Int64, Table
from torch_tb_profiler.trace.devices import device_and_stream
from torch_tb_profiler.trace.links import Links
from torch_tb_profiler.trace.model import DEVICE_WORK
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.nulls import NO_LINK, absent_marker, table_to_frame, to_frame
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.sums import resolve


def by_slice(table: Table, new_id: Int64) -> Table:
    """A table of details with its ``slice`` column in ids of the trace, ordered by it."""
    slice_id = new_id[table["slice"]]
    order = np.argsort(slice_id, kind="stable")
    return {name: (slice_id if name == "slice" else c)[order] for name, c in table.items()}


def build_device_work(
    events: EventColumns,
    slices: OrderedSlices,
    links: Links,
    owner: Int64,
    tracks: pl.DataFrame,
) -> pl.DataFrame:
    """The ``device_work`` table; ``owner`` is aligned with ``links.work``."""
    details, work, launch = events.tables["device"], links.work, links.launch
    device, stream = device_and_stream(slices, details, tracks, work)
    delay = np.maximum(slices.start_ns[work] - slices.start_ns[launch], 0)
    columns = {
        "slice": work,
        "category": slices.category[work],
        "name_code": slices.name_code[work],
        "start_ns": slices.start_ns[work],
        "dur_ns": slices.dur_ns[work],
        "device": device,
        "stream": stream,
        "launch": launch,
        "owner": owner,
        "orphan_reason": np.where(launch < 0, 1, 2) * (owner < 0),
        "launch_delay_ns": np.where(launch >= 0, delay, ABSENT),
    }
    absent = {"device": int(ABSENT), "stream": int(ABSENT), "launch_delay_ns": int(ABSENT)}
    absent |= {"launch": NO_LINK, "owner": NO_LINK}
    row_of = np.full(len(slices.start_ns), len(details["slice"]))
    row_of[slices.new_id[details["slice"]]] = np.arange(len(details["slice"]))
    for name, dtype in DEVICE_COLUMNS.items():
        if name in columns:
            continue
        marker = absent_marker(name, details)
        missing = np.array([np.nan if marker is None else marker], dtype)
        columns[name] = np.concatenate((details[name], missing))[row_of[work]]
        if marker is not None:
            absent[name] = marker
    reasons = columns["orphan_reason"]
    frame = to_frame(columns, {**DEVICE_WORK, "orphan_reason": pl.Int8}, absent)
    names = pl.Series([None, "no_launch", "no_operator"], dtype=pl.String)
    return frame.with_columns(names.gather(reasons).alias("orphan_reason"))


def build_memory(
    events: EventColumns, nodes: Forest, frames: Forest, absorber: Int64
) -> pl.DataFrame:
    """The ``memory`` table in time order, with the innermost node and python frame around each."""
    table = events.tables["memory"]
    order = np.argsort(table["time_ns"], kind="stable")
    table = {name: values[order] for name, values in table.items()}
    owner = resolve(absorber, nodes.innermost(table["track"], table["time_ns"]))
    frame = frames.innermost(table["track"], table["time_ns"])
    return table_to_frame(table).with_columns(
        pl.Series("owner", owner).replace(NO_LINK, None),
        pl.Series("frame", frame).replace(NO_LINK, None),
    )
