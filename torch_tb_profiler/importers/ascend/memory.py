"""Device memory blocks and totals by component → the memory table and samples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend.chain import NONE
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, EventColumns, Int32, Int64, Track

PRIVATE_USE = 20
"""The ``c10::DeviceType`` of NPUs in PyTorch."""

ALL = "PTA+GE"
"""The component whose totals cover both PyTorch (PTA) and the graph engine (GE)."""

BLOCKS: dict[str, type[pl.DataType]] = {
    "name": pl.String,
    "device": pl.Int64,
    "bytes": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "start_allocated": pl.Int64,
    "start_reserved": pl.Int64,
    "end_allocated": pl.Int64,
    "end_reserved": pl.Int64,
}
"""One row per block; times since the epoch, the end is null if it was never released."""

RECORDS: dict[str, type[pl.DataType]] = {
    "component": pl.String,
    "device": pl.Int64,
    "time_ns": pl.Int64,
    "allocated": pl.Int64,
    "reserved": pl.Int64,
    "active": pl.Int64,
}
"""One row per time and component; totals in bytes."""


def add_blocks(
    columns: EventColumns, blocks: pl.DataFrame, records: pl.DataFrame, strings: Strings
) -> None:
    """Append two memory events per block, its allocation and its release, in place.

    The files pair allocations with releases and have no addresses: the block's number is used as
    its address. The totals of an event are those of :data:`ALL` at that time if they were recorded,
    else those of the block's own component.
    """
    if blocks.is_empty():
        return
    events = _events(blocks, records)
    at_ns = events["at_ns"].to_numpy() - columns.base_ns
    track = _tracks(columns, events["name"], at_ns, strings)
    added: ColumnArrays = {
        "track": track,
        "time_ns": events["time_ns"].to_numpy() - columns.base_ns,
        "device_type": np.full(events.height, PRIVATE_USE, np.int64),
        "device": _int64(events["device"]),
        "address": _int64(events["block"]),
        "bytes": _int64(events["bytes"]),
        "total_allocated_bytes": _int64(events["all"].fill_null(events["allocated"])),
        "total_reserved_bytes": _int64(events["all_reserved"].fill_null(events["reserved"])),
        "is_oom": np.zeros(events.height, np.int8),
    }
    memory = columns.tables["memory"]
    columns.tables["memory"] = {
        name: np.concatenate((memory[name], added[name])).astype(memory[name].dtype)
        for name in memory
    }


def _events(blocks: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """The allocations, then the releases, with the totals at their times."""
    blocks = blocks.with_row_index("block", offset=1)
    parts = [
        blocks.select(
            "name",
            "device",
            "block",
            time_ns=f"{end}_ns",
            at_ns="start_ns",
            bytes=pl.col("bytes") * sign,
            allocated=f"{end}_allocated",
            reserved=f"{end}_reserved",
        )
        for end, sign in (("start", 1), ("end", -1))
    ]
    events = pl.concat(parts).drop_nulls("time_ns")
    totals = records.filter(pl.col("component") == ALL).unique(
        ["device", "time_ns"], keep="last", maintain_order=True
    )
    return events.join(
        totals.select("device", "time_ns", all="allocated", all_reserved="reserved"),
        on=["device", "time_ns"],
        how="left",
        maintain_order="left",
    )


def add_records(columns: EventColumns, records: pl.DataFrame, samples: SampleRows) -> None:
    """Add the totals of each component as samples of its device."""
    for (component, device), rows in records.group_by("component", "device", maintain_order=True):
        for measure in ("allocated", "reserved", "active"):
            known = rows.drop_nulls(measure)
            samples.add(
                f"NPU {device}",
                f"{component} {measure}",
                "bytes",
                known["time_ns"].to_numpy() - columns.base_ns,
                known[measure].to_numpy(),
            )


def _int64(values: pl.Series) -> Int64:
    integers: Int64 = values.cast(pl.Int64).fill_null(int(ABSENT)).to_numpy()
    return integers


def _tracks(columns: EventColumns, names: pl.Series, time_ns: Int64, strings: Strings) -> Int32:
    """Per block the thread on which an operator of the same name runs at that time. All other
    blocks get a separate track, so that they are not attributed to an unrelated operator."""
    slices = columns.tables["slices"]
    operators = np.flatnonzero(slices["category"] == Category.OPERATOR)
    by_name = {name: strings.code(name) for name in names.unique(maintain_order=True).to_list()}
    wanted = names.replace_strict(by_name, return_dtype=pl.Int64).to_numpy()
    track = np.full(len(wanted), NONE, np.int32)
    if len(operators):
        start = slices["start_ns"][operators]
        clock = TrackClock(np.concatenate((start, time_ns)), len(strings.texts))
        keys = clock.keys(slices["name_code"][operators], start)
        order = np.argsort(keys, kind="stable")
        position = np.searchsorted(keys[order], clock.keys(wanted, time_ns), "right") - 1
        row = np.append(operators[order], NONE)[position]
        is_inside = (position >= 0) & (slices["name_code"][row] == wanted)
        is_inside &= time_ns <= slices["start_ns"][row] + slices["dur_ns"][row]
        track[is_inside] = slices["track"][row[is_inside]]
    if (track == NONE).any():
        track[track == NONE] = len(columns.tracks)
        columns.tracks.append(_memory_track(columns.tracks, operators, slices["track"]))
    return track


def _memory_track(tracks: Iterable[Track], operators: Int64, track: Int32) -> Track:
    host = list(tracks)[int(track[operators[0]])] if len(operators) else Track("0", "")
    return Track(pid=host.pid, tid="memory", process_name=host.process_name, thread_name="Memory")
