"""``parallel_strategy_*.json``: the rank of the device, and the ranks of each stage.

The graph in the file is not read. Format: docs/format-mindspore.md#job.
"""

from __future__ import annotations

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
