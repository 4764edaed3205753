"""The data of one device, and how each kind of file is read into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.importers.mindspore import flops, operators, pipeline, queues
from torch_tb_profiler.importers.mindspore.cluster_steps import cluster_of, read_cluster_steps
from torch_tb_profiler.importers.mindspore.communication import read_communication
from torch_tb_profiler.importers.mindspore.cpu import CpuSample, read_cpu_utilization
from torch_tb_profiler.importers.mindspore.files import FileKind
from torch_tb_profiler.importers.mindspore.job import read_job, read_strategies
from torch_tb_profiler.importers.mindspore.memory_record import TOTALS, read_memory_record
from torch_tb_profiler.importers.mindspore.memory_usage import read_memory_usage
from torch_tb_profiler.importers.mindspore.numbers import integer
from torch_tb_profiler.importers.mindspore.parsing import child, parse_name
from torch_tb_profiler.importers.mindspore.shapes import read_shapes
from torch_tb_profiler.importers.mindspore.step_trace import RecordedStep, read_step_trace
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

PRIVATE_USE = 20
"""The ``c10::DeviceType`` of NPUs in PyTorch."""


class SideTableRows(Struct):
    """Collects the rows of side tables.

    Attributes:
        quality: Issues of the data.
        rows: Side table → its rows, each with some of the table's columns.
        sources: Side table → names of the files its rows come from.
        frames: Side tables that were built as a whole.
    """

    quality: QualityReport
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    frames: tuple[SideTable, ...] = ()

    def add(self, table: str, source: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add the rows of a file to a side table; the file is a source only if it has rows."""
        count = len(self.rows.setdefault(table, []))
        self.rows[table].extend(rows)
        if len(self.rows[table]) > count and source not in self.sources.get(table, ()):
            self.sources.setdefault(table, []).append(source)

    def side_tables(self) -> tuple[SideTable, ...]:
        """The side tables that have rows."""
        of_rows = (
            SideTable(
                name, ", ".join(self.sources[name]), pl.DataFrame(rows, schema=SIDE_SCHEMAS[name])
            )
            for name, rows in self.rows.items()
            if rows
        )
        return (*of_rows, *(table for table in self.frames if table.frame.height))


class DeviceData(Struct):
    """The content of the files of a device.

    Attributes:
        tables: Rows of side tables.
        samples: CPU samples of the host, the process and the pipeline's operations.
        job: The job, if known.
        steps: The recorded steps, in ticks.
        zero_tick: The tick at which the timeline begins, if known.
        device: The number of the device.
        device_bytes: The memory of the device, if known.
        memory_record: Totals of the memory pool, as
            :func:`~torch_tb_profiler.importers.mindspore.memory_record.read_memory_record` returns.
        types: Full name of an operator → its type.
        operator_details: Name of an operator without its scope → JSON of its inputs and outputs.
        points: ``"forward start"`` and ``"backward end"`` → full name of the operator.
        operations: The operations of the data pipeline.
    """

    tables: SideTableRows
    device: int = 0
    device_bytes: int | None = None
    memory_record: pl.DataFrame | None = None
    samples: list[CpuSample] = field(default_factory=list)
    job: JobInfo | None = None
    steps: list[RecordedStep] = field(default_factory=list)
    zero_tick: int | None = None
    types: dict[str, str] = field(default_factory=dict)
    operator_details: dict[str, str] = field(default_factory=dict)
    points: dict[str, str] = field(default_factory=dict)
    operations: list[pipeline.PipelineOperation] = field(default_factory=list)

    @property
    def quality(self) -> QualityReport:
        """Issues of the data."""
        return self.tables.quality


TableRows = Iterable[dict[str, object]]
FileReader = Callable[[DeviceData, str, Any], None]
"""Adds the content of a file (JSON or text) with a name to the data; raises UnreadableFileError if
the content has another form."""


def _table(name: str, rows_of: Callable[[DeviceData, Any], TableRows]) -> FileReader:
    """A reader for files that are rows of a side table."""

    def read(data: DeviceData, source: str, content: Any) -> None:
        data.tables.add(name, source, rows_of(data, content))

    return read


def _read_steps(data: DeviceData, source: str, content: str) -> None:
    step_trace = read_step_trace(content, data.quality)
    data.steps = step_trace.steps
    data.tables.add("recorded_step_trace", source, step_trace.rows)
    data.tables.add("recorded_mean_step", source, step_trace.mean)


def _read_zero_tick(data: DeviceData, _source: str, content: str) -> None:
    data.zero_tick = integer(content)


def _read_operator_types(data: DeviceData, _source: str, content: str) -> None:
    data.types, data.operator_details = operators.read_framework(content, data.quality)


def _read_points(data: DeviceData, _source: str, content: Any) -> None:
    names = {"forward start": child(content, "fp_start"), "backward end": child(content, "bp_end")}
    data.points = {mark: name for mark, text in names.items() if (name := parse_name(text))}


def _read_memory_usage(data: DeviceData, source: str, content: bytes) -> None:
    usage = read_memory_usage(content, data.operator_details, data.points, data.quality)
    data.device_bytes = usage.device_bytes
    data.tables.frames += (
        SideTable("memory_tensors", source, usage.tensors),
        SideTable("memory_operators", source, usage.operators),
    )


def _read_memory_record(data: DeviceData, source: str, content: str) -> None:
    data.memory_record = read_memory_record(content, data.quality)
    peaks = {f"peak_{name}_bytes": data.memory_record[name].max() for name in TOTALS[:2]}
    row = {"device_type": PRIVATE_USE, "device": data.device, **peaks}
    data.tables.add("recorded_memory_peaks", source, [row])


def _read_job(data: DeviceData, source: str, content: Any) -> None:
    data.job = read_job(content)
    data.tables.add("parallel_strategy", source, read_strategies(content))


def _read_communication(data: DeviceData, source: str, content: str) -> None:
    communication = read_communication(content, data.quality)
    data.tables.add("recorded_collectives", source, communication.collectives)
    data.tables.add("links", source, communication.links)


def _read_cluster_steps(data: DeviceData, source: str, content: str) -> None:
    """Also complete the job, which is read before, by what the name of the file says."""
    cluster = cluster_of(source)
    rows = read_cluster_steps(content, cluster, len(data.steps), data.quality)
    data.tables.add("cluster_steps", source, rows)
    if cluster is not None:
        job = data.job or JobInfo()
        rank = cluster.rank if job.rank is None else job.rank
        data.job = replace(job, rank=rank, world_size=cluster.ranks)


def _read_raw_pipeline(data: DeviceData, source: str, content: str) -> None:
    _add_operations(data, source, pipeline.read_raw_pipeline(content, data.quality))


def _read_pipeline(data: DeviceData, source: str, content: Any) -> None:
    _add_operations(data, source, pipeline.read_pipeline(content, data.quality))


def _add_operations(
    data: DeviceData, source: str, operations: list[pipeline.PipelineOperation]
) -> None:
    data.operations = operations
    data.tables.add("pipeline", source, (operation.row() for operation in operations))
    data.tables.add("queue_sizes", source, pipeline.queue_sizes(operations))


def _read_cpu(data: DeviceData, source: str, content: Any) -> None:
    """Also set the CPU utilization of each operation in its row of ``pipeline``, which is read
    before."""
    types = {operation.number: operation.type for operation in data.operations}
    utilization = read_cpu_utilization(content, types, data.quality)
    data.samples.extend(utilization.samples)
    rows = [
        (row, utilization.operation_pct[row["operation"]])
        for row in data.tables.rows.get("pipeline", ())
        if row["operation"] in utilization.operation_pct
    ]
    for row, pct in rows:
        row["cpu_pct"] = pct
    if rows:
        data.tables.sources["pipeline"].append(source)


FILE_READERS: tuple[tuple[FileKind, FileReader], ...] = (
    ("step_trace", _read_steps),
    ("cycles", _read_zero_tick),
    ("framework", _read_operator_types),
    ("points", _read_points),
    ("memory_usage", _read_memory_usage),
    ("memory_record", _read_memory_record),
    (
        "aicore_types",
        _table("recorded_operators", lambda data, text: operators.read_types(text, data.quality)),
    ),
    (
        "aicore_names",
        _table(
            "recorded_operators",
            lambda data, text: operators.read_names(text, data.types, data.quality),
        ),
    ),
    (
        "compute_time",
        _table(
            "recorded_operators",
            lambda data, text: operators.read_compute_times(text, data.types, data.quality),
        ),
    ),
    (
        "aicpu",
        _table("recorded_operators", lambda data, text: operators.read_aicpu(text, data.quality)),
    ),
    (
        "host_types",
        _table(
            "recorded_operators",
            lambda data, text: operators.read_host_types(text, data.quality),
        ),
    ),
    (
        "host_names",
        _table(
            "recorded_operators",
            lambda data, text: operators.read_host_names(text, data.quality),
        ),
    ),
    ("flops", _table("recorded_flops", lambda data, text: flops.read_flops(text, data.quality))),
    ("flops_scope", _table("recorded_flops", lambda _, value: flops.read_scopes(value))),
    ("flops_summary", _table("recorded_flops", lambda _, value: flops.read_model_flops(value))),
    ("pipeline_raw", _read_raw_pipeline),
    ("pipeline", _read_pipeline),
    ("cpu_utilization", _read_cpu),
    (
        "device_queue",
        _table("queues", lambda data, text: queues.read_host_queue(text, data.quality)),
    ),
    (
        "dataset_iterator",
        _table("queues", lambda data, text: queues.read_host_queue(text, data.quality)),
    ),
    (
        "aicpu_queue",
        _table(
            "queues",
            lambda data, text: queues.read_device_queue(text, data.quality, is_gpu=False),
        ),
    ),
    (
        "getnext",
        _table(
            "queues", lambda data, text: queues.read_device_queue(text, data.quality, is_gpu=True)
        ),
    ),
    (
        "shapes",
        _table("recorded_shapes", lambda data, value: read_shapes(value, data.quality)),
    ),
    ("parallel_strategy", _read_job),
    ("communication", _read_communication),
    ("cluster_steps", _read_cluster_steps),
)
"""(kind of file, its reader), in an order in which each reader has the data it needs."""

PREFERRED_KINDS: dict[FileKind, FileKind] = {
    "compute_time": "aicore_names",
    "pipeline": "pipeline_raw",
    "dataset_iterator": "device_queue",
    "getnext": "aicpu_queue",
}
"""Kind of file → the kind that has the same data and more, and is read instead if present."""
