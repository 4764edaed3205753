"""The text files of a folder: the timeline, and what the other files add."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.ascend import file_names, summaries
from torch_tb_profiler.importers.ascend.call_files import sum_calls, sum_operators
from torch_tb_profiler.importers.ascend.collectives import set_groups
from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.ascend.kernel_events import read_kernel_events
from torch_tb_profiler.importers.ascend.kernel_files import add_cache_rates, add_kernels
from torch_tb_profiler.importers.ascend.kernels import sum_by_unit_and_type
from torch_tb_profiler.importers.ascend.memory import BLOCKS as BLOCK_ROWS
from torch_tb_profiler.importers.ascend.memory import RECORDS, add_blocks, add_records
from torch_tb_profiler.importers.ascend.memory_files import add_modules, read_blocks, read_records
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.ascend.side_files import SideFiles
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.side_tables import SideTable

STEPS, OPERATORS, KERNELS = "step_trace_time.csv", "op_statistic.csv", "kernel_details.csv"
DETAILS, CALLS = "operator_details.csv", "api_statistic.csv"
TIMES, MATRIX = "communication.json", "communication_matrix.json"
BLOCKS, RECORD, MODULES, CACHE = (
    "operator_memory.csv", "memory_record.csv", "npu_module_mem.csv", "l2_cache.csv",
)  # fmt: skip


def read_text_folder(
    source: Folder, timeline: str | None, files: SideFiles, reading: Reading
) -> EventColumns:
    """Read the trace from the text files; missing and damaged files are quality issues.

    Args:
        source: The folder.
        timeline: The path of its timeline. Without one, or if it is damaged from its start, kernels
            are the only events.
        files: Its other files.
        reading: How it is read.

    Raises:
        TraceFormatError: the timeline is not a trace, and there are no tables.
        StorageError, OSError: a file cannot be read.
    """
    details = files.table(KERNELS, "Name", "Start Time(us)", "Duration(us)")
    memory = _read_memory(files)
    columns = None if timeline is None else _read_timeline(source, timeline, files, reading)
    has_timeline = columns is not None
    if columns is None:
        columns = read_kernel_events(details, memory.device, memory.start_ns)
    strings = Strings(columns.strings)
    samples = SampleRows(strings)
    side = [
        *_kernels(columns, details, files, samples),
        *_steps(files),
        *_communication(columns, files, strings),
    ]
    _add_memory(columns, memory, files, samples)
    samples.append_to(columns)
    if not has_timeline:
        side = _with_calls(side, files)
    columns.side = (*columns.side, *side)
    return columns


def _read_timeline(
    source: Folder, timeline: str, files: SideFiles, reading: Reading
) -> EventColumns | None:
    """The timeline; None if it is none, and there are tables."""
    try:
        return reader.read(source.files[timeline](), reading)
    except TraceFormatError as error:
        if file_names.find_file(source.files, file_names.TABLES) is None:
            raise
        files.quality.add("ascend_file_unreadable", 1, error.message)
        return None


def _with_calls(side: list[SideTable], files: SideFiles) -> list[SideTable]:
    """The side tables, with what only a timeline has else: operators and calls, summed by name."""
    operators = [table for table in side if table.name == "recorded_operators"]
    for name, needed, rows_of in (
        (DETAILS, ("Name", "Host Self Duration(us)"), sum_operators),
        (CALLS, ("Level", "API Name", "Time(us)"), sum_calls),
    ):
        table = files.table(name, *needed, is_usual=False)
        if table is not None:
            rows = rows_of(table, files.quality)
            operators.append(summaries.side_table_of_frame("recorded_operators", name, rows))
    others = [table for table in side if table.name != "recorded_operators"]
    operators = [table for table in operators if table.frame.height]
    if not operators:
        return others
    source = ", ".join(table.source for table in operators)
    joined = pl.concat(table.frame for table in operators)
    return [SideTable("recorded_operators", source, joined), *others]


def _steps(files: SideFiles) -> list[SideTable]:
    table = files.table(STEPS, "Step", "Computing")
    return [] if table is None else [summaries.steps(table, STEPS)]


def _kernels(
    columns: EventColumns, details: CsvTable | None, files: SideFiles, samples: SampleRows
) -> list[SideTable]:
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


class _Memory(Struct, frozen=True):
    """Blocks and totals by component, empty where there is no file of them."""

    blocks: pl.DataFrame
    records: pl.DataFrame

    @property
    def start_ns(self) -> int | None:
        """The earliest time, since the epoch."""
        starts = (self.blocks["start_ns"].min(), self.records["time_ns"].min())
        return min((start for start in starts if isinstance(start, int)), default=None)

    @property
    def device(self) -> int:
        """The only device; 0 where there is none, or several."""
        devices = {*self.blocks["device"], *self.records["device"]}
        return int(devices.pop()) if len(devices) == 1 else 0


def _read_memory(files: SideFiles) -> _Memory:
    totals = files.table(RECORD, "Component", "Timestamp(us)", is_usual=False)
    blocks = files.table(BLOCKS, "Name", "Size(KB)", "Allocation Time(us)", is_usual=False)
    return _Memory(
        pl.DataFrame(schema=BLOCK_ROWS) if blocks is None else read_blocks(blocks, files.quality),
        pl.DataFrame(schema=RECORDS) if totals is None else read_records(totals, files.quality),
    )


def _add_memory(
    columns: EventColumns, memory: _Memory, files: SideFiles, samples: SampleRows
) -> None:
    add_blocks(columns, memory.blocks, memory.records, samples.strings)
    add_records(columns, memory.records, samples)
    modules = files.table(MODULES, "Component", "Timestamp(us)", is_usual=False)
    if modules is not None:
        add_modules(columns, modules, samples)
