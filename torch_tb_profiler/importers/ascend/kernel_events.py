"""Events of a folder without a timeline: kernels of ``kernel_details.csv``, on their streams."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.importers.ascend.collectives import (
    OPERATION,
    CollectiveRows,
    collective_kind,
    collective_table,
)
from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.ascend.db_rows import SliceRows, TrackNumbers, build_slices
from torch_tb_profiler.importers.ascend.dialect import HARDWARE
from torch_tb_profiler.importers.ascend.kernels import unit_labels
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.ascend.timeline import devices_that_worked
from torch_tb_profiler.importers.kineto.batch import UNNAMED
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    EventColumns,
    Int32,
    Track,
    absent_table,
    empty_table,
)
from torch_tb_profiler.trace.info import Capability, NotRecorded, TraceInfo
from torch_tb_profiler.trace.limits import MAX_DEVICES

NO_TIMELINE = "the folder has no timeline (trace_view.json) and no database"
FROM_TIMELINE: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "launches", "copies", "steps", "ranges", "counters",
)  # fmt: skip
FROM_KERNELS: tuple[Capability, ...] = ("kernels", "communication")

HCCL, COMMUNICATION = "HCCL", "Communication"
SECOND_NS = 10**9


def read_kernel_events(
    details: CsvTable | None, device: int, others_start_ns: int | None
) -> EventColumns:
    """The kernels and collectives of ``kernel_details.csv`` as events; none without that file.

    Args:
        details: The file.
        device: The device of kernels of which the file names none.
        others_start_ns: The earliest time of other files, since the epoch.
    """
    strings, tracks = Strings([]), TrackNumbers()
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    columns = EventColumns("ascend", tables, strings.texts, tracks.tracks, 0, 1)
    work = _work(details, device, columns)
    missing = FROM_TIMELINE if work.height else (*FROM_TIMELINE, *FROM_KERNELS)
    columns.info = TraceInfo(
        not_recorded=tuple(NotRecorded(capability, NO_TIMELINE) for capability in missing)
    )
    starts = work["start_ns"].head(1).to_list()  # they ascend
    starts += [] if others_start_ns is None else [others_start_ns]
    columns.base_ns = min(starts, default=0) // SECOND_NS * SECOND_NS
    if not work.height:
        return columns
    rows = SliceRows(
        np.full(work.height, Category.KERNEL, np.int8),
        strings.codes_of(work["name"]),
        _tracks(work, tracks),
        work["start_ns"].to_numpy(),
        work["end_ns"].to_numpy(),
        np.full(work.height, ABSENT, np.int64),
        np.full(work.height, -1, np.int32),
    )
    tables["slices"] = build_slices([rows], columns.base_ns)
    tables["device"] = absent_table("device", work.height) | {
        "slice": np.arange(work.height),
        "device": work["device"].to_numpy(),
        "stream": work["stream"].fill_null(int(ABSENT)).to_numpy(),
    }
    collectives = np.flatnonzero(work["is_collective"].to_numpy())
    count = len(collectives)
    operations = CollectiveRows(
        collectives,
        strings.rewritten(rows.name_code[collectives], collective_kind),
        np.full(count, -1, np.int32),
        np.full(count, ABSENT, np.int64),
        np.full(count, -1, np.int32),
    )
    if count:
        tables["collective"] = collective_table(operations, strings)
    columns.info = replace(columns.info, devices=devices_that_worked(columns))
    return columns


def _work(details: CsvTable | None, device: int, columns: EventColumns) -> pl.DataFrame:
    """The rows with a time, in order of their starts, since the epoch."""
    schema = {
        "name": pl.String, "device": pl.Int64, "stream": pl.Int64, "start_ns": pl.Int64,
        "end_ns": pl.Int64, "is_collective": pl.Boolean,
    }  # fmt: skip
    if details is None:
        return pl.DataFrame(schema=schema)
    start, dur = (details.times_ns(f"{each}(us)") for each in ("Start Time", "Duration"))
    unit, name = unit_labels(details.texts("Accelerator Core")), details.texts("Name")
    frame = pl.DataFrame(
        {
            "name": name.fill_null(UNNAMED),
            "device": details.texts("Device_id").cast(pl.Int64, strict=False).fill_null(device),
            "stream": details.texts("Stream ID").cast(pl.Int64, strict=False),
            "start_ns": start,
            "end_ns": start + dur,
            "is_collective": (unit == HCCL).fill_null(False) | name.str.contains(OPERATION.pattern),
        },
        schema=schema,
    )
    has_time = pl.Series((start != ABSENT) & (dur != ABSENT)) & frame["device"].is_between(
        0, MAX_DEVICES, "left"
    )
    columns.quality.add("side_row_left_out", int((~has_time).sum()))
    columns.quality.add("missing_name", int((has_time & name.is_null()).sum()))
    return frame.filter(has_time).sort("start_ns", maintain_order=True)


def _tracks(work: pl.DataFrame, tracks: TrackNumbers) -> Int32:
    """Per kernel the row of its stream, per collective that of all collectives."""
    keys = ["device", "is_collective", "stream"]
    keyed = work.select(
        "device",
        "is_collective",
        stream=pl.when(pl.col("is_collective").not_()).then("stream").fill_null(int(ABSENT)),
    )
    numbers = {
        (device, is_collective, stream): tracks.number(_track(device, is_collective, stream))
        for device, is_collective, stream in keyed.unique(keys).sort(keys).iter_rows()
    }
    return np.array([numbers[key] for key in keyed.iter_rows()], np.int32)


def _track(device: int, is_collective: bool, stream: int) -> Track:
    is_stream = stream != ABSENT and not is_collective
    process = HCCL if is_collective else HARDWARE
    return Track(
        pid=f"{process} {device}",
        tid=str(stream) if is_stream else "",
        process_name=process,
        process_label=f"NPU {device}",
        thread_name=f"Stream {stream}" if is_stream else COMMUNICATION if is_collective else None,
        thread_sort_index=stream if is_stream else None,
    )
