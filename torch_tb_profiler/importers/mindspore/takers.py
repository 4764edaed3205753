"""What is taken from each kind of file, and into which table it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from torch_tb_profiler.importers.mindspore import flops, operators, pipeline, queues
from torch_tb_profiler.importers.mindspore.collected import Collected
from torch_tb_profiler.importers.mindspore.cpu import Sample, read_cpu
from torch_tb_profiler.importers.mindspore.files import Kind
from torch_tb_profiler.importers.mindspore.job import read_job
from torch_tb_profiler.importers.mindspore.numbers import whole
from torch_tb_profiler.importers.mindspore.shapes import read_shapes
from torch_tb_profiler.importers.mindspore.step_trace import Step, read_step_trace
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.quality import QualityReport


@dataclass(slots=True)
class Taken:
    """What the files of a device say.

    Attributes:
        tables: Rows of side tables, and what was odd.
        samples: Samples of the host, of the process and of operations of the pipeline.
        job: The job, where a file tells of it.
        steps: The recorded steps, in ticks.
        zero_tick: The tick at which the timeline begins, where a file tells it.
        types: The type of each operator by its full name.
        operations: The operations of the pipeline.
    """

    tables: Collected
    samples: list[Sample] = field(default_factory=list)
    job: JobInfo | None = None
    steps: list[Step] = field(default_factory=list)
    zero_tick: int | None = None
    types: dict[str, str] = field(default_factory=dict)
    operations: list[pipeline.Operation] = field(default_factory=list)

    @property
    def quality(self) -> QualityReport:
        """What was odd."""
        return self.tables.quality


Rows = Iterable[dict[str, object]]
Taker = Callable[[Taken, str, Any], None]
"""Takes the content of a file (JSON or text) of a name; raises UnreadableError where it is
another."""


def _table(name: str, rows_of: Callable[[Taken, Any], Rows]) -> Taker:
    """A file that is rows of one side table."""

    def take(taken: Taken, source: str, content: Any) -> None:
        taken.tables.add(name, source, rows_of(taken, content))

    return take


def _take_step_trace(taken: Taken, source: str, content: str) -> None:
    told = read_step_trace(content, taken.quality)
    taken.steps = told.steps
    taken.tables.add("recorded_step_trace", source, told.rows)


def _take_cycles(taken: Taken, _source: str, content: str) -> None:
    taken.zero_tick = whole(content)


def _take_types(taken: Taken, _source: str, content: str) -> None:
    taken.types = operators.read_framework(content, taken.quality)


def _take_job(taken: Taken, _source: str, content: Any) -> None:
    taken.job = read_job(content)


def _take_raw_pipeline(taken: Taken, source: str, content: str) -> None:
    _take_operations(taken, source, pipeline.read_raw_pipeline(content, taken.quality))


def _take_pipeline(taken: Taken, source: str, content: Any) -> None:
    _take_operations(taken, source, pipeline.read_pipeline(content, taken.quality))


def _take_operations(taken: Taken, source: str, told: list[pipeline.Operation]) -> None:
    taken.operations = told
    taken.tables.add("pipeline", source, (operation.row() for operation in told))
    taken.tables.add("queue_sizes", source, pipeline.queue_sizes(told))


def _take_cpu(taken: Taken, source: str, content: Any) -> None:
    """The share of each operation goes into its row of the pipeline, which was read before."""
    types = {operation.number: operation.type for operation in taken.operations}
    use = read_cpu(content, types, taken.quality)
    taken.samples.extend(use.samples)
    shares = [
        (row, use.of_operations[row["operation"]])
        for row in taken.tables.rows.get("pipeline", ())
        if row["operation"] in use.of_operations
    ]
    for row, share in shares:
        row["cpu_pct"] = share
    if shares:
        taken.tables.sources["pipeline"].append(source)


TAKERS: tuple[tuple[Kind, Taker], ...] = (
    ("step_trace", _take_step_trace),
    ("cycles", _take_cycles),
    ("framework", _take_types),
    (
        "aicore_types",
        _table("recorded_operators", lambda taken, text: operators.read_types(text, taken.quality)),
    ),
    (
        "aicore_names",
        _table(
            "recorded_operators",
            lambda taken, text: operators.read_names(text, taken.types, taken.quality),
        ),
    ),
    (
        "compute_time",
        _table(
            "recorded_operators",
            lambda taken, text: operators.read_compute_times(text, taken.types, taken.quality),
        ),
    ),
    (
        "aicpu",
        _table("recorded_operators", lambda taken, text: operators.read_aicpu(text, taken.quality)),
    ),
    (
        "host_types",
        _table(
            "recorded_operators",
            lambda taken, text: operators.read_host_types(text, taken.quality),
        ),
    ),
    (
        "host_names",
        _table(
            "recorded_operators",
            lambda taken, text: operators.read_host_names(text, taken.quality),
        ),
    ),
    ("flops", _table("recorded_flops", lambda taken, text: flops.read_flops(text, taken.quality))),
    ("flops_scope", _table("recorded_flops", lambda _, value: flops.read_scopes(value))),
    ("flops_summary", _table("recorded_flops", lambda _, value: flops.read_summary(value))),
    ("pipeline_raw", _take_raw_pipeline),
    ("pipeline", _take_pipeline),
    ("cpu_utilization", _take_cpu),
    (
        "device_queue",
        _table("queues", lambda taken, text: queues.read_host_queue(text, taken.quality)),
    ),
    (
        "dataset_iterator",
        _table("queues", lambda taken, text: queues.read_host_queue(text, taken.quality)),
    ),
    (
        "aicpu_queue",
        _table(
            "queues",
            lambda taken, text: queues.read_device_queue(text, taken.quality, is_gpu=False),
        ),
    ),
    (
        "getnext",
        _table(
            "queues", lambda taken, text: queues.read_device_queue(text, taken.quality, is_gpu=True)
        ),
    ),
    (
        "shapes",
        _table("recorded_shapes", lambda taken, value: read_shapes(value, taken.quality)),
    ),
    ("parallel_strategy", _take_job),
)
"""Kind of file → what is taken from it, in an order in which each finds what it needs."""

INSTEAD: dict[Kind, Kind] = {
    "compute_time": "aicore_names",
    "pipeline": "pipeline_raw",
    "dataset_iterator": "device_queue",
    "getnext": "aicpu_queue",
}
"""Kind of file → the kind that tells the same and more, and is read instead where it is there."""
