"""The device side of a database: tasks, kernels and collectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend.collectives import Operations, collective_table, kind_of
from torch_tb_profiler.importers.ascend.db_host import usable
from torch_tb_profiler.importers.ascend.db_parts import Rows, Texts, Tracks
from torch_tb_profiler.importers.ascend.dialect import HARDWARE, task_category
from torch_tb_profiler.importers.ascend.kernels import units_of
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    Int32,
    Int64,
    Track,
)
from torch_tb_profiler.trace.lookup import place_in

TASKS, COMPUTE, OPERATIONS, PARTS = (
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO",
)  # fmt: skip
HCCL = "HCCL"
WHOLE = 0xFFFFFFFF
"""The context of a task that is no part of another one."""


@dataclass(slots=True)
class DeviceRows:
    """Tasks of devices.

    Attributes:
        rows: The slices.
        task: The number of each in the whole recording.
        device: Its device.
        stream: Its stream.
        blocks: Blocks of a kernel.
        kernels: Kernels, as ``kernels.KERNELS`` has them.
    """

    rows: Rows
    task: Int64
    device: Int64
    stream: Int64
    blocks: Int64
    kernels: pl.DataFrame


def task_rows(database: Database, texts: Texts, tracks: Tracks) -> DeviceRows:
    """Every task, in the order of the table; kernels by their names, others by their kind."""
    wanted = (
        "startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId",
        "taskId", "contextId",
    )  # fmt: skip
    stored = _without_wholes(usable(database.ints(TASKS, wanted)))
    compute = database.ints(
        COMPUTE, ("name", "globalTaskId", "blockDim", "blockNum", "taskType", "opType")
    )
    known, first = np.unique(compute["globalTaskId"], return_index=True)
    place = place_in(known, stored["globalTaskId"])
    row = np.append(first, -1)[place]
    is_kernel = row >= 0
    name_id = np.where(is_kernel, np.append(compute["name"], ABSENT)[row], stored["taskType"])
    name = texts.codes(name_id)
    blocks = np.where(compute["blockDim"] == ABSENT, compute["blockNum"], compute["blockDim"])
    blocks = np.append(blocks, ABSENT)[row]
    described = _described(texts, stored, compute, row[is_kernel], is_kernel)
    category = _categories(texts, name)
    category[is_kernel] = Category.KERNEL
    track = _streams(stored["deviceId"], stored["streamId"], tracks)
    rows = Rows(
        category, name, track, stored["startNs"], stored["endNs"], stored["connectionId"],
        np.full(len(name), -1, np.int32),
    )  # fmt: skip
    return DeviceRows(
        rows, stored["globalTaskId"], stored["deviceId"], stored["streamId"], blocks, described
    )


def _without_wholes(stored: dict[str, Int64]) -> dict[str, Int64]:
    """The tasks but those whose parts (of one stream and number, each with a context) are there."""
    keys = np.stack(
        [stored[name] for name in ("deviceId", "streamId", "taskId", "connectionId")], axis=1
    )
    _, task = np.unique(keys, axis=0, return_inverse=True)
    task = task.reshape(-1)
    context = stored["contextId"]
    is_part = (context != WHOLE) & (context != ABSENT)
    has_parts = np.bincount(task, weights=is_part, minlength=1) > 0
    kept = is_part | ~has_parts[task]
    return {name: values[kept] for name, values in stored.items()}


def _described(
    texts: Texts, stored: dict[str, Int64], compute: dict[str, Int64], row: Int64, of: np.ndarray
) -> pl.DataFrame:
    def shown(ids: Int64) -> pl.Series:
        distinct, place = np.unique(ids, return_inverse=True)
        known = pl.Series(texts.texts(distinct), dtype=pl.String)
        return known.gather(place)

    took = (stored["endNs"] - stored["startNs"])[of]
    return pl.DataFrame(
        {
            "type": shown(compute["opType"][row]),
            "unit": units_of(shown(compute["taskType"][row])),
            "dur_us": took / 1000,
        }
    )


def _categories(texts: Texts, name: Int32) -> np.ndarray:
    distinct, place = np.unique(name, return_inverse=True)
    shown = [texts.strings.texts[code] if code >= 0 else "" for code in distinct.tolist()]
    kinds = np.array([task_category(each) for each in shown], np.int8)
    return kinds[place] if len(kinds) else np.empty(0, np.int8)


def _streams(device: Int64, stream: Int64, tracks: Tracks) -> Int32:
    keys = np.stack([device, stream], axis=1)
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    numbers = [
        tracks.number(
            Track(
                pid=f"NPU {number}",
                tid=str(one),
                process_name=HARDWARE,
                process_label=f"NPU {number}",
                thread_name=f"Stream {one}",
                thread_sort_index=one if one != ABSENT else None,
            )
        )
        for number, one in distinct.tolist()
    ]
    return np.array([*numbers, -1], np.int32)[place.reshape(-1)]


@dataclass(slots=True)
class Collectives:
    """The collectives of HCCL.

    Attributes:
        rows: The slices.
        group: Number of the group of each, 0 …, in order of their first collective.
        dtype: Code of the data type.
        count: Elements.
    """

    rows: Rows
    group: Int64
    dtype: Int32
    count: Int64

    def table(self, first: int, texts: Texts) -> ColumnArrays:
        """The collective table.

        Args:
            first: The first of their slices in the trace.
            texts: The texts.
        """
        strings = texts.strings
        count = int(self.group.max(initial=-1)) + 1
        labels = strings.codes([f"Group {number}" for number in range(count)])
        operations = Operations(
            np.arange(first, first + len(self.rows)),
            strings.rewritten(self.rows.name_code, kind_of),
            self.dtype,
            self.count,
            np.append(labels, np.int32(-1))[self.group],
        )
        return collective_table(operations, strings)


def collective_rows(database: Database, texts: Texts, tracks: Tracks, device: int) -> Collectives:
    """The collectives, each on the row of its group. A group's own name is made of the address of
    a host: it is a number here."""
    wanted = ("opName", "startNs", "endNs", "connectionId", "groupName", "dataType", "count")
    stored = usable(database.ints(OPERATIONS, wanted))
    _, first, place = np.unique(stored["groupName"], return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[place] if len(first) else place
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
    rows = Rows(
        np.full(count, Category.KERNEL, np.int8),
        texts.codes(stored["opName"]),
        np.array([*numbers, -1], np.int32)[group],
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        np.full(count, -1, np.int32),
    )
    names: dict[object, object] = dict(database.rows("ENUM_HCCL_DATA_TYPE", ("id", "name")))
    numbers_of, of = np.unique(stored["dataType"], return_inverse=True)
    shown = [names.get(number) for number in numbers_of.tolist()]
    dtypes = texts.strings.codes([each if isinstance(each, str) else None for each in shown])
    dtype = np.append(dtypes, np.int32(-1))[of]
    return Collectives(rows, group.astype(np.int64), dtype, stored["count"])


def part_rows(database: Database, tasks: DeviceRows, texts: Texts, tracks: Tracks) -> Rows:
    """What collectives are made of, on the rows of their planes: told again, no work."""
    stored = database.ints(PARTS, ("globalTaskId", "taskType", "planeId"))
    known, first = np.unique(tasks.task, return_index=True)
    place = place_in(known, stored["globalTaskId"])
    kept = place >= 0
    row = first[place[kept]]
    planes = stored["planeId"][kept]
    distinct, of = np.unique(planes, return_inverse=True)
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
    return Rows(
        np.full(count, Category.DEVICE_OTHER, np.int8),
        texts.codes(stored["taskType"][kept]),
        np.array([*numbers, -1], np.int32)[of],
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
        first: The first of their slices.
        collectives: The collectives.
        start: The first of theirs.
    """
    counts = len(tasks.rows), len(collectives.rows)
    total = sum(counts)
    device = int(tasks.device[0]) if counts[0] else 0
    table: ColumnArrays = {}
    for name, of in TABLE_COLUMNS["device"].items():
        absent = ABSENT if of is np.int64 else (np.nan if of is np.float64 else -1)
        table[name] = np.full(total, absent, of)
    table["slice"] = np.concatenate(
        (np.arange(first, first + counts[0]), np.arange(start, start + counts[1]))
    )
    table["device"] = np.concatenate((tasks.device, np.full(counts[1], device)))
    table["stream"] = np.concatenate((tasks.stream, collectives.group))
    return table


def kernel_blocks(tasks: DeviceRows, first: int) -> tuple[Int64, Int64]:
    """Slices of kernels, and how many blocks each ran in."""
    rows = np.flatnonzero(tasks.blocks > 0)
    return rows + first, tasks.blocks[rows]
