"""``parallel_strategy_*.json``: the rank of the device, the ranks of each stage, and how operators
are divided.

Format: docs/format-mindspore.md#job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import integer
from torch_tb_profiler.importers.mindspore.parsing import (
    UnreadableFileError,
    child,
    objects,
    parse_name,
)
from torch_tb_profiler.trace.info import JobInfo, ProcessGroup
from torch_tb_profiler.trace.limits import MAX_RANKS


def read_job(value: Any) -> JobInfo:
    """Read the job, with a process group for each stage.

    Raises:
        UnreadableFileError: it has no configuration.
    """
    config = child(value, "config")
    if not isinstance(config, dict):
        raise UnreadableFileError("it has no configuration")
    groups = tuple(
        ProcessGroup(
            name=f"stage {stage}",
            description=parse_name(config.get("parallelType")),
            size=len(ranks),
            ranks=ranks,
        )
        for stage, each in enumerate(objects(config.get("stageDevices")))
        if (ranks := _ranks(each))
    )
    rank = integer(config.get("rankId"))
    return JobInfo(
        rank=rank if rank is not None and 0 <= rank < MAX_RANKS else None,
        group_count=len(groups) or None,
        groups=groups or None,
    )


def _ranks(stage: object) -> tuple[int, ...]:
    ranks = [integer(each.get("size")) for each in objects(child(stage, "dim"))]
    return tuple(rank for rank in ranks[:MAX_RANKS] if rank is not None and 0 <= rank < MAX_RANKS)


STRATEGY_ATTRIBUTES = ("gen_strategy", "in_strategy", "strategy")
"""Attributes of an operator with the number of parts of each dimension of its inputs."""

MAX_TEXT = 200
"""Characters of a name or a strategy."""


def read_strategies(value: Any) -> list[dict[str, object]]:
    """Rows of ``parallel_strategy``: operators of the graph that state a strategy, alike ones as
    one row; one row without an operator where none does.

    Raises:
        UnreadableFileError: it has no configuration.
    """
    config = child(value, "config")
    if not isinstance(config, dict):
        raise UnreadableFileError("it has no configuration")
    stage = integer(config.get("stageId"))
    whole: dict[str, object] = {
        "stage": stage if stage is not None and 0 <= stage < MAX_RANKS else None,
        "mode": parse_name(config.get("parallelType")),
    }
    counts: dict[tuple[str | None, str], int] = {}
    examples: dict[tuple[str | None, str], str | None] = {}
    for node in objects(child(child(value, "graph"), "node")):
        strategy = _strategy(node)
        if strategy is not None:
            key = (parse_name(node.get("opType")), strategy)
            counts[key] = counts.get(key, 0) + 1
            examples.setdefault(key, parse_name(node.get("fullName")))
    rows: list[dict[str, object]] = [
        {
            **whole,
            "type": kind and kind[:MAX_TEXT],
            "strategy": strategy,
            "operators": count,
            "example": (name := examples[kind, strategy]) and name[:MAX_TEXT],
        }
        for (kind, strategy), count in counts.items()
    ]
    return rows or [whole]


def _strategy(node: Any) -> str | None:
    """``"((2,1,1,1),(1,1,1,1))"``: of each input the parts of each dimension; None without one."""
    attributes = {each.get("name"): each.get("value") for each in objects(child(node, "attribute"))}
    stated = next((name for name in STRATEGY_ATTRIBUTES if name in attributes), None)
    inputs = [] if stated is None else [[*_parts(each)] for each in _values(attributes[stated])]
    if not any(inputs):
        return None
    texts = [f"({','.join(map(str, parts))})" for parts in inputs]
    return f"({','.join(texts)})"[:MAX_TEXT]


def _values(value: object) -> list[Any]:
    return list(objects(child(value, "values")))


def _parts(value: object) -> Iterator[int]:
    for each in _values(value):
        parts = integer(each.get("intVal"))
        if parts is not None and 0 < parts <= MAX_RANKS:
            yield parts
