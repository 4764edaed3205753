"""The device side of a database: tasks, kernels and collectives."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.ascend.collectives import (
    CollectiveRows,
    collective_kind,
    collective_table,
)
from torch_tb_profiler.importers.ascend.db_host import with_times
from torch_tb_profiler.importers.ascend.db_rows import DatabaseTexts, SliceRows, TrackNumbers
from torch_tb_profiler.importers.ascend.dialect import HARDWARE, task_category
from torch_tb_profiler.importers.ascend.kernels import unit_labels
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Int32,
    Int64,
    Track,
    absent_table,
)
from torch_tb_profiler.trace.lookup import positions_in

TASKS, COMPUTE, OPERATIONS, PARTS = (
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO",
)  # fmt: skip
HCCL = "HCCL"
NO_CONTEXT = 0xFFFFFFFF
"""The context id of a task that is not part of another task."""


class DeviceRows(Struct):
    """Tasks of devices.

    Attributes:
        rows: The slices.
        task: Number of the task in the recording.
        device: Device number.
        stream: Stream number.
        blocks: Number of blocks of a kernel; ABSENT for others.
        kernels: Kernels with the columns ``type``, ``unit`` and ``dur_us`` of ``kernels.KERNELS``.
    """

    rows: SliceRows
    task: Int64
    device: Int64
    stream: Int64
    blocks: Int64
    kernels: pl.DataFrame


def read_tasks(database: Database, texts: DatabaseTexts, tracks: TrackNumbers) -> DeviceRows:
    """All tasks in table order; kernels have their own name, other tasks that of their type."""
    wanted = (
        "startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId",
        "taskId", "contextId",
    )  # fmt: skip
    stored = _drop_split_tasks(with_times(database.ints(TASKS, wanted)))
    compute = database.ints(
        COMPUTE, ("name", "globalTaskId", "blockDim", "blockNum", "taskType", "opType")
    )
    known, first = np.unique(compute["globalTaskId"], return_index=True)
    row = np.append(first, -1)[positions_in(known, stored["globalTaskId"])]
    is_kernel = row >= 0
    name_id = np.where(is_kernel, np.append(compute["name"], ABSENT)[row], stored["taskType"])
    name = texts.codes(name_id)
    blocks = np.where(compute["blockDim"] == ABSENT, compute["blockNum"], compute["blockDim"])
    blocks = np.append(blocks, ABSENT)[row]
    kernels = _kernels(texts, stored, compute, row[is_kernel], is_kernel)
    category = _categories(texts, name)
    category[is_kernel] = Category.KERNEL
    track = _stream_tracks(stored["deviceId"], stored["streamId"], tracks)
    rows = SliceRows(
        category, name, track, stored["startNs"], stored["endNs"], stored["connectionId"],
        np.full(len(name), -1, np.int32),
    )  # fmt: skip
    return DeviceRows(
        rows, stored["globalTaskId"], stored["deviceId"], stored["streamId"], blocks, kernels
    )


def _drop_split_tasks(stored: dict[str, Int64]) -> dict[str, Int64]:
    """All tasks except those whose parts (same stream and number, each with a context) are
    listed."""
    keys = np.stack(
        [stored[name] for name in ("deviceId", "streamId", "taskId", "connectionId")], axis=1
    )
    _, task = np.unique(keys, axis=0, return_inverse=True)
    task = task.reshape(-1)
    context = stored["contextId"]
    is_part = (context != NO_CONTEXT) & (context != ABSENT)
    has_parts = np.bincount(task, weights=is_part, minlength=1) > 0
    is_selected = is_part | ~has_parts[task]
    return {name: values[is_selected] for name, values in stored.items()}


def _kernels(
    texts: DatabaseTexts,
    stored: dict[str, Int64],
    compute: dict[str, Int64],
    row: Int64,
    is_kernel: np.ndarray,
) -> pl.DataFrame:
    def texts_of(ids: Int64) -> pl.Series:
        distinct, inverse = np.unique(ids, return_inverse=True)
        return pl.Series(texts.texts(distinct), dtype=pl.String).gather(inverse)

    return pl.DataFrame(
        {
            "type": texts_of(compute["opType"][row]),
            "unit": unit_labels(texts_of(compute["taskType"][row])),
            "dur_us": (stored["endNs"] - stored["startNs"])[is_kernel] / 1000,
        }
    )


def _categories(texts: DatabaseTexts, name: Int32) -> np.ndarray:
    distinct, inverse = np.unique(name, return_inverse=True)
    names = [texts.strings.texts[code] if code >= 0 else "" for code in distinct.tolist()]
    kinds = np.array([task_category(each) for each in names], np.int8)
    return kinds[inverse] if len(kinds) else np.empty(0, np.int8)


def _stream_tracks(device: Int64, stream: Int64, tracks: TrackNumbers) -> Int32:
    keys = np.stack([device, stream], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    numbers = [
        tracks.number(
            Track(
                pid=f"NPU {number}",
                tid=str(stream_id),
                process_name=HARDWARE,
                process_label=f"NPU {number}",
                thread_name=f"Stream {stream_id}",
                thread_sort_index=stream_id if stream_id != ABSENT else None,
            )
        )
        for number, stream_id in distinct.tolist()
    ]
    return np.array([*numbers, -1], np.int32)[inverse.reshape(-1)]


class Collectives(Struct):
    """Collectives of HCCL.

    Attributes:
        rows: The slices.
        group: Group number, 0 … in the order of the groups' first collectives.
        dtype: Code of the data type.
        count: Number of elements.
    """

    rows: SliceRows
    group: Int64
    dtype: Int32
    count: Int64

    def table(self, first: int, texts: DatabaseTexts) -> ColumnArrays:
        """The collective table.

        Args:
            first: Row of their first slice in the trace.
            texts: The texts.
        """
        strings = texts.strings
        count = int(self.group.max(initial=-1)) + 1
        labels = strings.codes([f"Group {number}" for number in range(count)])
        operations = CollectiveRows(
            np.arange(first, first + len(self.rows)),
            strings.rewritten(self.rows.name_code, collective_kind),
            self.dtype,
            self.count,
            np.append(labels, np.int32(-1))[self.group],
        )
        return collective_table(operations, strings)


def read_collectives(
    database: Database, texts: DatabaseTexts, tracks: TrackNumbers, device: int
) -> Collectives:
    """All collectives, each on the track of its group. Groups are numbered: their names contain
    host addresses."""
    wanted = ("opName", "startNs", "endNs", "connectionId", "groupName", "dataType", "count")
    stored = with_times(database.ints(OPERATIONS, wanted))
    _, first, inverse = np.unique(stored["groupName"], return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[inverse] if len(first) else inverse
    numbers = [
        tracks.number(
            Track(
                pid=f"{HCCL} {device}",
                tid=str(number),
                process_name=HCCL,
                process_label=f"NPU {device}",
                thread_name=f"Group {number} Communication",
            )
        )
        for number in range(len(first))
    ]
    count = len(stored["startNs"])
    rows = SliceRows(
        np.full(count, Category.KERNEL, np.int8),
        texts.codes(stored["opName"]),
        np.array([*numbers, -1], np.int32)[group],
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        np.full(count, -1, np.int32),
    )
    names: dict[object, object] = dict(database.rows("ENUM_HCCL_DATA_TYPE", ("id", "name")))
    type_ids, inverse = np.unique(stored["dataType"], return_inverse=True)
    type_names = [names.get(type_id) for type_id in type_ids.tolist()]
    dtypes = texts.strings.codes([name if isinstance(name, str) else None for name in type_names])
    dtype = np.append(dtypes, np.int32(-1))[inverse]
    return Collectives(rows, group.astype(np.int64), dtype, stored["count"])


def read_collective_parts(
    database: Database, tasks: DeviceRows, texts: DatabaseTexts, tracks: TrackNumbers
) -> SliceRows:
    """The tasks of collectives, on the tracks of their planes; the collective itself is the device
    work."""
    stored = database.ints(PARTS, ("globalTaskId", "taskType", "planeId"))
    known, first = np.unique(tasks.task, return_index=True)
    position = positions_in(known, stored["globalTaskId"])
    is_known = position >= 0
    row = first[position[is_known]]
    distinct, inverse = np.unique(stored["planeId"][is_known], return_inverse=True)
    device = int(tasks.device[row[0]]) if len(row) else 0
    numbers = [
        tracks.number(
            Track(
                pid=f"{HCCL} {device}",
                tid=f"plane {plane}",
                process_name=HCCL,
                process_label=f"NPU {device}",
                thread_name=f"Plane {plane}",
            )
        )
        for plane in distinct.tolist()
    ]
    count = len(row)
    return SliceRows(
        np.full(count, Category.DEVICE_OTHER, np.int8),
        texts.codes(stored["taskType"][is_known]),
        np.array([*numbers, -1], np.int32)[inverse],
        tasks.rows.start_ns[row],
        tasks.rows.end_ns[row],
        np.full(count, ABSENT, np.int64),
        np.full(count, -1, np.int32),
    )


def device_table(
    tasks: DeviceRows, first: int, collectives: Collectives, start: int
) -> ColumnArrays:
    """Device, stream and blocks of tasks and collectives.

    Args:
        tasks: The tasks.
        first: Row of their first slice.
        collectives: The collectives.
        start: Row of the first slice of a collective.
    """
    counts = len(tasks.rows), len(collectives.rows)
    total = sum(counts)
    device = int(tasks.device[0]) if counts[0] else 0
    table = absent_table("device", total)
    table["slice"] = np.concatenate(
        (np.arange(first, first + counts[0]), np.arange(start, start + counts[1]))
    )
    table["device"] = np.concatenate((tasks.device, np.full(counts[1], device)))
    table["stream"] = np.concatenate((tasks.stream, collectives.group))
    return table


def kernel_blocks(tasks: DeviceRows, first: int) -> tuple[Int64, Int64]:
    """Rows of kernels in the slice table, and the number of blocks of each."""
    rows = np.flatnonzero(tasks.blocks > 0)
    return rows + first, tasks.blocks[rows]
