"""Device metrics of a database (frequency, bandwidth, caches, memory) → samples."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.ascend.db_rows import DatabaseTexts
from torch_tb_profiler.importers.ascend.memory import BLOCKS, RECORDS
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Int64

BYTES_PER_S = "bytes/s"
PERCENT = "%"
MEASURE_SUFFIXES = ("_ratio", "_rate")
PERCENT_PER_UNIT = 100.0


class DeviceMetric(Struct, frozen=True):
    """A metric that a table holds over time.

    Attributes:
        table: Name of the table.
        column: Column with the values.
        metric: Name of the metric; braces are replaced by ``parts``.
        unit: Unit of the values.
        parts: Columns that identify a series.
    """

    table: str
    column: str
    metric: str
    unit: str
    parts: tuple[str, ...] = ()


MEASURES: tuple[DeviceMetric, ...] = (
    DeviceMetric("AICORE_FREQ", "freq", "AI Core Freq", "MHz"),
    DeviceMetric("HBM", "bandwidth", "HBM {}/{}", BYTES_PER_S, ("hbmId", "type")),
    DeviceMetric("LLC", "hitRate", "LLC {} {}/Hit Rate", PERCENT, ("llcId", "mode")),
    DeviceMetric("LLC", "throughput", "LLC {} {}/Throughput", BYTES_PER_S, ("llcId", "mode")),
    DeviceMetric("NPU_MEM", "ddr", "NPU MEM {}/DDR", "bytes", ("type",)),
    DeviceMetric("NPU_MEM", "hbm", "NPU MEM {}/HBM", "bytes", ("type",)),
    DeviceMetric("SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel", "Stars Soc Info L2 Buffer Bw Level", ""),
    DeviceMetric("SOC_BANDWIDTH_LEVEL", "mataBwLevel", "Stars Soc Info Mata Bw Level", ""),
)
"""The metrics, named as in the text files."""

LABELS = {"read": "Read", "write": "Write", "app": "APP", "device": "Device"}

TEXT_ID_COLUMNS = ("type", "mode")
"""Columns that hold ids of texts."""


def add_measures(
    database: Database, texts: DatabaseTexts, samples: SampleRows, base_ns: int
) -> None:
    """Add every metric of :data:`MEASURES` that the database has."""
    for measure in MEASURES:
        if measure.column not in database.tables.get(measure.table, ()):
            continue
        stored = database.ints(measure.table, ("timestampNs", "deviceId", *measure.parts))
        value = database.floats(measure.table, (measure.column,))[measure.column]
        frame = pl.DataFrame(stored).with_columns(value=pl.Series(value))
        frame = frame.with_columns(
            _texts_of(texts, frame[part]).alias(part)
            for part in measure.parts
            if part in TEXT_ID_COLUMNS
        )
        frame = frame.filter(pl.col("timestampNs") != int(ABSENT))
        for key, rows in frame.group_by(["deviceId", *measure.parts], maintain_order=True):
            labels = [LABELS.get(str(part), str(part)) for part in key[1:]]
            samples.add(
                f"NPU {key[0]}",
                measure.metric.format(*labels),
                measure.unit,
                rows["timestampNs"].to_numpy() - base_ns,
                rows["value"].to_numpy(),
            )


def _texts_of(texts: DatabaseTexts, ids: pl.Series) -> pl.Series:
    distinct = ids.unique()
    known = texts.texts(distinct.to_numpy())
    text_by_id = dict(zip(distinct.to_list(), known, strict=True))
    texts_per_row: pl.Series = ids.replace_strict(text_by_id, default=None, return_dtype=pl.String)
    return texts_per_row


def add_kernel_measures(
    database: Database, texts: DatabaseTexts, samples: SampleRows, task: Int64, start_ns: Int64
) -> None:
    """Add the utilization of the core's units, at the starts of the tasks.

    Args:
        task: Task numbers.
        start_ns: Start of each task, from the base of the trace.
    """
    stored = database.ints("TASK_PMU_INFO", ("globalTaskId", "name"))
    value = database.floats("TASK_PMU_INFO", ("value",))["value"]
    starts = pl.DataFrame({"task": task, "start_ns": start_ns}).unique(
        "task", keep="first", maintain_order=True
    )
    frame = pl.DataFrame({"task": stored["globalTaskId"], "name": stored["name"], "value": value})
    names = frame["name"].unique(maintain_order=True)
    name_texts = texts.texts(names.to_numpy())
    for number, name in zip(names.to_list(), name_texts, strict=True):
        if name is None or not name.endswith(MEASURE_SUFFIXES):
            continue
        metric_rows = frame.filter(pl.col("name") == number)
        rows = metric_rows.join(starts, on="task", how="inner", maintain_order="left")
        values = rows["value"].to_numpy() * PERCENT_PER_UNIT
        samples.add("AI Core", name, PERCENT, rows["start_ns"].to_numpy(), values)


def add_modules(database: Database, samples: SampleRows, base_ns: int) -> None:
    """Add the memory of each software module; modules that never held any are left out."""
    names: dict[object, object] = dict(database.rows("ENUM_MODULE", ("id", "name")))
    stored = database.ints(
        "NPU_MODULE_MEM", ("moduleId", "timestampNs", "totalReserved", "deviceId")
    )
    frame = pl.DataFrame(stored).filter(pl.col("timestampNs") != int(ABSENT))
    for (module, device), rows in frame.group_by("moduleId", "deviceId", maintain_order=True):
        if (rows["totalReserved"] > 0).any():
            time_ns = rows["timestampNs"].to_numpy() - base_ns
            metric = f"module {names.get(module, module)} reserved"
            samples.add(f"NPU {device}", metric, "bytes", time_ns, rows["totalReserved"].to_numpy())


def read_blocks(database: Database, texts: DatabaseTexts) -> pl.DataFrame:
    """The blocks of ``OP_MEMORY`` (``memory.BLOCKS``)."""
    columns = {
        "bytes": "size",
        "start_ns": "allocationTime",
        "end_ns": "releaseTime",
        "start_allocated": "allocationTotalAllocated",
        "start_reserved": "allocationTotalReserved",
        "end_allocated": "releaseTotalAllocated",
        "end_reserved": "releaseTotalReserved",
        "device": "deviceId",
    }
    stored = database.ints("OP_MEMORY", ("name", *columns.values()))
    numbers = {key: _nullable(stored[name]) for key, name in columns.items()}
    names = _texts_of(texts, pl.Series(stored["name"])).fill_null("")
    frame = pl.DataFrame({"name": names, **numbers}).select(list(BLOCKS))
    return frame.cast(pl.Schema(BLOCKS)).drop_nulls(["bytes", "start_ns"])


def read_records(database: Database, texts: DatabaseTexts) -> pl.DataFrame:
    """The totals of ``MEMORY_RECORD`` (``memory.RECORDS``)."""
    columns = {
        "device": "deviceId",
        "time_ns": "timestamp",
        "allocated": "totalAllocated",
        "reserved": "totalReserved",
        "active": "totalActive",
    }
    stored = database.ints("MEMORY_RECORD", ("component", *columns.values()))
    numbers = {key: _nullable(stored[name]) for key, name in columns.items()}
    names = _texts_of(texts, pl.Series(stored["component"]))
    frame = pl.DataFrame({"component": names, **numbers}).select(list(RECORDS))
    return frame.cast(pl.Schema(RECORDS)).drop_nulls(["component", "time_ns"])


def _nullable(values: Int64) -> pl.Series:
    series = pl.Series(values)
    return series.set(series == int(ABSENT), None)
