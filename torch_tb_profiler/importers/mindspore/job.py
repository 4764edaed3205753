"""``parallel_strategy_*.json``: which rank the device was, and which ranks shared its stage.

The graph in the file is not read. Format: docs/format-mindspore.md#job.
"""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import whole
from torch_tb_profiler.importers.mindspore.texts import UnreadableError, child, name_of, objects
from torch_tb_profiler.trace.info import JobInfo, ProcessGroup
from torch_tb_profiler.trace.limits import MAX_RANKS


def read_job(value: Any) -> JobInfo:
    """The job: a group per stage.

    Raises:
        UnreadableError: it holds no configuration.
    """
    config = child(value, "config")
    if not isinstance(config, dict):
        raise UnreadableError("it holds no configuration")
    groups = tuple(
        ProcessGroup(
            name=f"stage {stage}",
            description=name_of(config.get("parallelType")),
            size=len(ranks),
            ranks=ranks,
        )
        for stage, each in enumerate(objects(config.get("stageDevices")))
        if (ranks := _ranks(each))
    )
    rank = whole(config.get("rankId"))
    return JobInfo(
        rank=rank if rank is not None and 0 <= rank < MAX_RANKS else None,
        group_count=len(groups) or None,
        groups=groups or None,
    )


def _ranks(stage: object) -> tuple[int, ...]:
    told = [whole(each.get("size")) for each in objects(child(stage, "dim"))]
    return tuple(rank for rank in told[:MAX_RANKS] if rank is not None and 0 <= rank < MAX_RANKS)
