"""MindData's pipeline: its operations, the queues between them, and their use of the CPU.

Format: docs/format-mindspore.md#data-pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import MS, RATIO, decimal, mean, number, whole
from torch_tb_profiler.importers.mindspore.texts import (
    UnreadableError,
    child,
    csv_rows,
    name_of,
    objects,
)
from torch_tb_profiler.trace.quality import QualityReport

_LIST = re.compile(r"[0-9.eE+-]+")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the pipeline.

    Attributes:
        number: Its id; the last operation has the smallest.
        type: ``"Map"``.
        workers: Its threads.
        parent: The operation that takes what this one makes.
        sizes: Of the queue behind it, whenever it was looked at.
        interval_ms: How often that was.
        queue_mean: Mean of the sizes as the file tells it.
        capacity: Of the queue; None where none is behind it.
        queue_pct: Mean share of the queue that is full.
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


def read_raw_pipeline(text: str, quality: QualityReport) -> list[Operation]:
    """``minddata_pipeline_raw_*.csv``.

    Raises:
        UnreadableError: it has another head.
    """
    operations = []
    for cells in csv_rows(text, ("op_id", "op_type"), quality):
        operation, kind = whole(cells["op_id"]), name_of(cells["op_type"])
        if operation is None or kind is None:
            quality.add("side_row_left_out")
            continue
        capacity = whole(cells.get("output_queue_length")) or None
        sizes = _LIST.findall(cells.get("output_queue_size", ""))
        operations.append(
            Operation(
                operation,
                kind,
                whole(cells.get("num_workers")),
                whole(cells.get("parent_id")),
                tuple(size for size in map(decimal, sizes) if size is not None),
                decimal(cells.get("sample_interval")),
                number(cells.get("output_queue_average_size")) if capacity else None,
                capacity,
                number(cells.get("output_queue_usage_rate"), RATIO) if capacity else None,
            )
        )
    return _without_repeated(operations, quality)


def read_pipeline(value: Any, quality: QualityReport) -> list[Operation]:
    """``pipeline_profiling_*.json``, whose operations name their children and queue sizes.

    Raises:
        UnreadableError: it holds no operations.
    """
    told = objects(child(value, "op_info"))
    if not told:
        raise UnreadableError("it holds no operations")
    interval_ms = decimal(child(value, "sampling_interval"))
    parents: dict[int, int] = {}
    for each in told:
        own, children = whole(each.get("op_id")), each.get("children")
        for inner in children if isinstance(children, list) else ():
            number_of_child = whole(inner)
            if own is not None and number_of_child is not None:
                parents.setdefault(number_of_child, own)
    operations = []
    for each in told:
        operation = _operation(each, parents, interval_ms)
        if operation is None:
            quality.add("side_row_left_out")
        else:
            operations.append(operation)
    return _without_repeated(operations, quality)


def _operation(
    told: Mapping[str, Any], parents: Mapping[int, int], interval_ms: Decimal | None
) -> Operation | None:
    own, kind = whole(told.get("op_id")), name_of(told.get("op_type"))
    if own is None or kind is None:
        return None
    queue = child(told.get("metrics"), "output_queue")
    capacity = whole(child(queue, "length")) or None
    listed = child(queue, "size")
    sizes = map(decimal, listed if isinstance(listed, list) else ())
    known = [size for size in sizes if size is not None]
    middle = mean(known) if capacity else None
    return Operation(
        own,
        kind.removesuffix("Op") or kind,
        whole(told.get("num_workers")),
        parents.get(own),
        tuple(known),
        interval_ms,
        number(middle),
        capacity,
        None if middle is None or capacity is None else number(middle / capacity, RATIO),
    )


def _without_repeated(operations: Sequence[Operation], quality: QualityReport) -> list[Operation]:
    """Each operation once, the first of its number, in order of numbers."""
    by_number: dict[int, Operation] = {}
    for operation in operations:
        by_number.setdefault(operation.number, operation)
    quality.add("side_row_left_out", len(operations) - len(by_number))
    return [by_number[each] for each in sorted(by_number)]


def queue_sizes(operations: Sequence[Operation]) -> Iterator[dict[str, object]]:
    """The rows of the side table ``queue_sizes``: every look at every queue."""
    for operation in operations:
        if operation.capacity is None or operation.interval_ms is None:
            continue
        for place, size in enumerate(operation.sizes):
            yield {
                "operation": operation.number,
                "time_us": number(place * operation.interval_ms, MS),
                "size": float(size),
            }
