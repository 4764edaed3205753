"""MindData's data pipeline: its operations, and the queues between them.

Format: docs/format-mindspore.md#data-pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.mindspore.numbers import MS, RATIO, decimal, integer, mean, number
from torch_tb_profiler.importers.mindspore.parsing import (
    UnreadableFileError,
    child,
    csv_rows,
    objects,
    parse_name,
)
from torch_tb_profiler.trace.quality import QualityReport

_LIST = re.compile(r"[0-9.eE+-]+")


class PipelineOperation(Struct, frozen=True):
    """An operation of the data pipeline.

    Attributes:
        number: Its id; the last operation has the smallest.
        type: ``"Map"``.
        workers: Number of its threads.
        parent: The operation that consumes its output.
        sizes: Sampled sizes of its output queue.
        interval_ms: Sampling interval.
        queue_mean: Mean size of the queue, as recorded.
        capacity: Capacity of the queue; None without a queue.
        queue_pct: Mean utilization of the queue.
    """

    number: int
    type: str
    workers: int | None
    parent: int | None
    sizes: tuple[Decimal, ...]
    interval_ms: Decimal | None
    queue_mean: float | None
    capacity: int | None
    queue_pct: float | None

    def row(self) -> dict[str, object]:
        """Its row of the side table ``pipeline``."""
        empty = sum(not size for size in self.sizes)
        share = Decimal(empty) / len(self.sizes) if self.sizes and self.capacity else None
        return {
            "operation": self.number,
            "type": self.type,
            "workers": self.workers,
            "parent": self.parent,
            "queue_mean": self.queue_mean,
            "queue_capacity": self.capacity,
            "queue_pct": self.queue_pct,
            "queue_empty_pct": number(share, RATIO),
        }


def read_raw_pipeline(text: str, quality: QualityReport) -> list[PipelineOperation]:
    """``minddata_pipeline_raw_*.csv``.

    Raises:
        UnreadableFileError: it has another header.
    """
    operations = []
    for cells in csv_rows(text, ("op_id", "op_type"), quality):
        operation, kind = integer(cells["op_id"]), parse_name(cells["op_type"])
        if operation is None or kind is None:
            quality.add("side_row_left_out")
            continue
        capacity = integer(cells.get("output_queue_length")) or None
        sizes = _LIST.findall(cells.get("output_queue_size", ""))
        operations.append(
            PipelineOperation(
                operation,
                kind,
                integer(cells.get("num_workers")),
                integer(cells.get("parent_id")),
                tuple(size for size in map(decimal, sizes) if size is not None),
                decimal(cells.get("sample_interval")),
                number(cells.get("output_queue_average_size")) if capacity else None,
                capacity,
                number(cells.get("output_queue_usage_rate"), RATIO) if capacity else None,
            )
        )
    return _unique_operations(operations, quality)


def read_pipeline(value: Any, quality: QualityReport) -> list[PipelineOperation]:
    """``pipeline_profiling_*.json``, whose operations have their children and queue sizes.

    Raises:
        UnreadableFileError: it has no operations.
    """
    entries = objects(child(value, "op_info"))
    if not entries:
        raise UnreadableFileError("it has no operations")
    interval_ms = decimal(child(value, "sampling_interval"))
    parents: dict[int, int] = {}
    for each in entries:
        number, children = integer(each.get("op_id")), each.get("children")
        for child_id in children if isinstance(children, list) else ():
            child_number = integer(child_id)
            if number is not None and child_number is not None:
                parents.setdefault(child_number, number)
    operations = []
    for each in entries:
        operation = _operation(each, parents, interval_ms)
        if operation is None:
            quality.add("side_row_left_out")
        else:
            operations.append(operation)
    return _unique_operations(operations, quality)


def _operation(
    entry: Mapping[str, Any], parents: Mapping[int, int], interval_ms: Decimal | None
) -> PipelineOperation | None:
    operation_number, kind = integer(entry.get("op_id")), parse_name(entry.get("op_type"))
    if operation_number is None or kind is None:
        return None
    queue = child(entry.get("metrics"), "output_queue")
    capacity = integer(child(queue, "length")) or None
    raw_sizes = child(queue, "size")
    sizes = map(decimal, raw_sizes if isinstance(raw_sizes, list) else ())
    known = [size for size in sizes if size is not None]
    mean_size = mean(known) if capacity else None
    return PipelineOperation(
        operation_number,
        kind.removesuffix("Op") or kind,
        integer(entry.get("num_workers")),
        parents.get(operation_number),
        tuple(known),
        interval_ms,
        number(mean_size),
        capacity,
        None if mean_size is None or capacity is None else number(mean_size / capacity, RATIO),
    )


def _unique_operations(
    operations: Sequence[PipelineOperation], quality: QualityReport
) -> list[PipelineOperation]:
    """Operations in order of their numbers; the first of each number."""
    by_number: dict[int, PipelineOperation] = {}
    for operation in operations:
        by_number.setdefault(operation.number, operation)
    quality.add("side_row_left_out", len(operations) - len(by_number))
    return [by_number[each] for each in sorted(by_number)]


def queue_sizes(operations: Sequence[PipelineOperation]) -> Iterator[dict[str, object]]:
    """The rows of the side table ``queue_sizes``: every sample of every queue."""
    for operation in operations:
        if operation.capacity is None or operation.interval_ms is None:
            continue
        for position, size in enumerate(operation.sizes):
            yield {
                "operation": operation.number,
                "time_us": number(position * operation.interval_ms, MS),
                "size": float(size),
            }
