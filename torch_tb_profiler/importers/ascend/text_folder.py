"""The text files of a folder: the timeline, and what the other files add."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.importers.ascend import summaries
from torch_tb_profiler.importers.ascend.collectives import set_groups
from torch_tb_profiler.importers.ascend.kernel_files import add_cache_rates, add_kernels
from torch_tb_profiler.importers.ascend.kernels import sum_by_unit_and_type
from torch_tb_profiler.importers.ascend.memory import RECORDS, add_blocks, add_records
from torch_tb_profiler.importers.ascend.memory_files import add_modules, read_blocks, read_records
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.ascend.side_files import SideFiles
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.side_tables import SideTable

STEPS, OPERATORS, KERNELS = "step_trace_time.csv", "op_statistic.csv", "kernel_details.csv"
TIMES, MATRIX = "communication.json", "communication_matrix.json"
BLOCKS, RECORD, MODULES, CACHE = (
    "operator_memory.csv", "memory_record.csv", "npu_module_mem.csv", "l2_cache.csv",
)  # fmt: skip


def read_text_folder(
    source: Folder, timeline: str, files: SideFiles, reading: Reading
) -> EventColumns:
    """Read the trace from the text files; missing and damaged files are quality issues.

    Args:
        source: The folder.
        timeline: The path of its timeline.
        files: Its other files.
        reading: How it is read.

    Raises:
        TraceFormatError: the timeline is not a trace.
        StorageError, OSError: a file cannot be read.
    """
    columns = reader.read(source.files[timeline](), reading)
    strings = Strings(columns.strings)
    samples = SampleRows(strings)
    side = [
        *_kernels(columns, files, samples),
        *_steps(files),
        *_communication(columns, files, strings),
    ]
    _memory(columns, files, samples)
    samples.append_to(columns)
    columns.side = (*columns.side, *side)
    return columns


def _steps(files: SideFiles) -> list[SideTable]:
    table = files.table(STEPS, "Step", "Computing")
    return [] if table is None else [summaries.steps(table, STEPS)]


def _kernels(columns: EventColumns, files: SideFiles, samples: SampleRows) -> list[SideTable]:
    details = files.table(KERNELS, "Name", "Start Time(us)", "Duration(us)")
    kernels = None if details is None else add_kernels(columns, details, samples)
    if details is not None and details.has("Stream ID", "Task ID"):
        rates = files.table(CACHE, "Stream Id", "Task Id", "Op Name", is_usual=False)
        if rates is not None:
            add_cache_rates(columns, rates, details, samples)
    sums = files.table(OPERATORS, "OP Type", "Count", "Total Time(us)")
    if sums is not None:
        return [summaries.operators(sums, OPERATORS)]
    if kernels is None:
        return []
    return [
        summaries.side_table_of_frame("recorded_operators", KERNELS, sum_by_unit_and_type(kernels))
    ]


def _communication(columns: EventColumns, files: SideFiles, strings: Strings) -> list[SideTable]:
    times, matrix = files.document(TIMES), files.document(MATRIX)
    collectives = summaries.collectives(times, TIMES)
    links = [*summaries.links(matrix), *summaries.transports(times)]
    link_table = summaries.side_table("links", f"{MATRIX}, {TIMES}", links)
    tables = [table for table in (collectives, link_table) if table is not None]
    set_groups(columns, collectives, link_table, strings)
    return tables


def _memory(columns: EventColumns, files: SideFiles, samples: SampleRows) -> None:
    totals = files.table(RECORD, "Component", "Timestamp(us)", is_usual=False)
    records = pl.DataFrame(schema=RECORDS) if totals is None else read_records(totals)
    blocks = files.table(BLOCKS, "Name", "Size(KB)", "Allocation Time(us)", is_usual=False)
    if blocks is not None:
        add_blocks(columns, read_blocks(blocks), records, samples.strings)
    add_records(columns, records, samples)
    modules = files.table(MODULES, "Component", "Timestamp(us)", is_usual=False)
    if modules is not None:
        add_modules(columns, modules, samples)
