"""Reads ``operator_memory.csv``, ``memory_record.csv`` and ``npu_module_mem.csv``."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.ascend.memory import BLOCKS, RECORDS
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.trace.columns import ABSENT, EventColumns
from torch_tb_profiler.trace.quality import QualityReport

KB, MB = 1024, 1024**2
DEVICE = r"(\d{1,4})\s*$"


def read_blocks(table: CsvTable, quality: QualityReport) -> pl.DataFrame:
    """The blocks of ``operator_memory.csv``, with the columns of ``memory.BLOCKS``; rows without a
    size or a time are counted."""
    frame = pl.DataFrame(
        {
            "name": table.texts("Name").fill_null(""),
            "device": _device(table),
            "bytes": _bytes(table, KB, "Size(KB)"),
            "start_ns": _times(table, "Allocation Time(us)"),
            "end_ns": _times(table, "Release Time(us)"),
            "start_allocated": _bytes(table, MB, "Allocation Total Allocated(MB)"),
            "start_reserved": _bytes(table, MB, "Allocation Total Reserved(MB)"),
            "end_allocated": _bytes(table, MB, "Release Total Allocated(MB)"),
            "end_reserved": _bytes(table, MB, "Release Total Reserved(MB)"),
        },
        schema=BLOCKS,
    )
    return _known(frame, ["bytes", "start_ns"], quality)


def read_records(table: CsvTable, quality: QualityReport) -> pl.DataFrame:
    """The totals of ``memory_record.csv``, with the columns of ``memory.RECORDS``; rows without a
    component or a time are counted."""
    frame = pl.DataFrame(
        {
            "component": table.texts("Component"),
            "device": _device(table),
            "time_ns": _times(table, "Timestamp(us)"),
            "allocated": _bytes(table, MB, "Total Allocated(MB)"),
            "reserved": _bytes(table, MB, "Total Reserved(MB)"),
            "active": _bytes(table, MB, "Total Active(MB)"),
        },
        schema=RECORDS,
    )
    return _known(frame, ["component", "time_ns"], quality)


def add_modules(columns: EventColumns, table: CsvTable, samples: SampleRows) -> None:
    """Add the memory of each software module; modules that never held any are left out."""
    frame = pl.DataFrame(
        {
            "module": table.texts("Component"),
            "device": table.texts("Device", "Device Type")
            .str.extract(DEVICE, 1)
            .cast(pl.Int64, strict=False)
            .fill_null(0),
            "time_ns": _times(table, "Timestamp(us)"),
            "bytes": _bytes(table, MB, "Total Reserved(MB)"),
        }
    )
    frame = _known(frame, frame.columns, columns.quality)
    for (module, device), rows in frame.group_by("module", "device", maintain_order=True):
        if rows["bytes"].max():
            time_ns = rows["time_ns"].to_numpy() - columns.base_ns
            source, metric = f"NPU {device}", f"module {module} reserved"
            samples.add(source, metric, "bytes", time_ns, rows["bytes"].to_numpy())


def _known(frame: pl.DataFrame, needed: list[str], quality: QualityReport) -> pl.DataFrame:
    known = frame.drop_nulls(needed)
    quality.add("side_row_left_out", frame.height - known.height)
    return known


def _device(table: CsvTable) -> pl.Series:
    number: pl.Series = (
        table.texts("Device Type").str.extract(DEVICE, 1).cast(pl.Int64, strict=False)
    )
    filled: pl.Series = number.fill_null(0)
    return filled


def _bytes(table: CsvTable, unit: int, header: str) -> pl.Series:
    size = table.texts(header).cast(pl.Float64, strict=False) * unit
    whole: pl.Series = size.round().cast(pl.Int64, strict=False)
    return whole


def _times(table: CsvTable, header: str) -> pl.Series:
    times = pl.Series(table.times_ns(header))
    return times.set(times == int(ABSENT), None)
