"""Which operation of a data pipeline limits all others, derived from the fill of the queues.

Definition: ``docs/views-data.md#bottleneck``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.data_loading import classify_operation, data_loading


class Bottleneck(Struct, frozen=True):
    """Operations that are the bottleneck, and the fill of their queues.

    Attributes:
        operations: Their numbers; several where several read.
        before_pct: How full the emptiest queue before them is; None where none is before them.
        behind_pct: How full the fullest queue behind them is; None where none is.
    """

    operations: tuple[int, ...]
    before_pct: float | None
    behind_pct: float | None


class Pipeline(Struct, frozen=True):
    """Operations from the last to the first: none comes before the one that takes what it makes.

    Attributes:
        parents: Number → the operation that takes what it makes, None of the last.
        types: Number → type.
        queue_pct: Number → how full the queue behind it is, None where none is.
    """

    parents: Mapping[int, int | None]
    types: Mapping[int, str]
    queue_pct: Mapping[int, float | None]


def pipeline_of(frame: pl.DataFrame) -> Pipeline:
    """The pipeline of a side table; what has no parent there, or is its own, is a last one."""
    rows = {row["operation"]: row for row in frame.rows(named=True)[::-1]}
    children: dict[int | None, list[int]] = {}
    for number, row in sorted(rows.items()):
        above = row["parent"] if row["parent"] in rows else None
        children.setdefault(above, []).append(number)
    parents: dict[int, int | None] = {}
    _walk(children.get(None, []), children, parents)
    for number in sorted(rows):  # what takes from itself is reached from nowhere
        _walk([number], children, parents)
    return Pipeline(
        parents,
        {number: row["type"] or "" for number, row in rows.items()},
        {number: row["queue_pct"] for number, row in rows.items()},
    )


def _walk(
    last: Sequence[int],
    children: Mapping[int | None, list[int]],
    parents: dict[int, int | None],
) -> None:
    """Add what can be reached from last operations, each once."""
    waiting: list[tuple[int, int | None]] = [(number, None) for number in reversed(last)]
    while waiting:
        number, above = waiting.pop()
        if number not in parents:
            parents[number] = above
            waiting.extend((child, number) for child in reversed(children.get(number, ())))


def bottlenecks(pipeline: Pipeline) -> list[Bottleneck]:
    """The bottlenecks of a pipeline, from its end to its beginning."""
    full, empty = data_loading().full_pct, data_loading().empty_pct
    before, behind = _emptiest_before(pipeline), _fullest_behind(pipeline)
    result = []
    for number, parent in pipeline.parents.items():
        emptiest, own = before.get(number), pipeline.queue_pct[number]
        if emptiest is None or emptiest < full:
            continue
        is_middle = own is not None and own < empty
        if is_middle or (parent is None and own is None and _all_full(pipeline, number, full)):
            result.append(Bottleneck((number,), emptiest, own))
    taken = set(pipeline.parents.values())
    first = [
        number
        for number in pipeline.parents
        if number not in taken and behind.get(number, empty) < empty
    ]
    if first:
        result.append(Bottleneck(tuple(first), None, max(behind[number] for number in first)))
    return result


def _emptiest_before(pipeline: Pipeline) -> dict[int, float]:
    """Per operation the emptiest of the queues before it; what has none is looked through."""
    emptiest: dict[int, float] = {}
    for number, parent in list(pipeline.parents.items())[::-1]:
        own = pipeline.queue_pct[number]
        nearest = emptiest.get(number) if own is None else own
        if parent is not None and nearest is not None:
            emptiest[parent] = min(nearest, emptiest.get(parent, nearest))
    return emptiest


def _fullest_behind(pipeline: Pipeline) -> dict[int, float]:
    """Per operation the fullest of all queues behind it, its own among them."""
    fullest: dict[int, float] = {}
    for number, parent in pipeline.parents.items():
        own = pipeline.queue_pct[number]
        above = None if parent is None else fullest.get(parent)
        known = [pct for pct in (own, above) if pct is not None]
        if known:
            fullest[number] = max(known)
    return fullest


def _all_full(pipeline: Pipeline, last: int, full: float) -> bool:
    """Whether every queue is full, and the last operation does something."""
    queues = [pct for pct in pipeline.queue_pct.values() if pct is not None]
    return min(queues) >= full and classify_operation(pipeline.types[last]).kind != "control"
