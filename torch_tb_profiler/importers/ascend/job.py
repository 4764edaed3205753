"""What the files at the top of a folder say: rank, groups, what was recorded, and what was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from torch_tb_profiler.trace.info import (
    JobInfo,
    NotRecorded,
    ProcessGroup,
    RecordingSettings,
    TraceInfo,
    What,
)
from torch_tb_profiler.trace.limits import MAX_RANKS

MAX_GROUPS = 4096
LEVELS = ("level_none", "level0", "level1", "level2")
NPU_LACKS: tuple[What, ...] = ("occupancy", "blocks_per_sm", "shared_memory", "registers")
NO_SUCH = "an NPU has no such measure"
SETTINGS: dict[What, tuple[str, str]] = {
    "input_shapes": ("record_shapes", "needs record_shapes=True"),
    "input_types": ("record_shapes", "needs record_shapes=True"),
    "call_stacks": ("with_stack", "needs with_stack=True"),
    "python": ("with_stack", "needs with_stack=True"),
    "modules": ("with_modules", "needs with_modules=True"),
    "memory": ("profile_memory", "needs profile_memory=True"),
}
"""What a recording lacks where an option was off."""

BY_LEVEL: tuple[tuple[int, tuple[What, ...], str], ...] = (
    (1, ("kernels", "copies", "launches"), "needs Level0"),
    (2, ("communication", "collective_sizes", "runtime"), "needs Level1"),
)
"""Levels below the first one record none of these."""

NO_METRICS = ("none", "aicorenone", "acl_aicore_none")


def with_job(info: TraceInfo, told: Any, metadata: Any, rank: int | None) -> TraceInfo:
    """``info`` with what ``profiler_info`` and ``profiler_metadata`` say.

    Args:
        info: What the events told.
        told: The document of ``profiler_info_<rank>.json``, or anything.
        metadata: That of ``profiler_metadata.json``, or anything.
        rank: The rank in a file's name.
    """
    document = told if isinstance(told, dict) else {}
    common = _part(document, "config", "common_config")
    special = _part(document, "config", "experimental_config")
    own = _rank(document.get("rank_id"))
    groups = _groups(metadata)
    version = document.get("torch_npu_version") or document.get("ms_version")
    return msgspec.structs.replace(
        info,
        recorder_version=version if isinstance(version, str) else info.recorder_version,
        job=_job(rank if own is None else own, groups) or info.job,
        recording=RecordingSettings(
            **{key: _flag(common, key) for key in RecordingSettings.__struct_fields__}
        ),
        not_recorded=(*info.not_recorded, *_lacks(common, special)),
    )


def _job(rank: int | None, groups: tuple[ProcessGroup, ...]) -> JobInfo | None:
    if rank is None and not groups:
        return None
    sizes = [group.size for group in groups if group.size is not None]
    world = max(sizes, default=None)
    return JobInfo(
        backend="hccl" if groups else None,
        rank=rank,
        world_size=world,
        group_count=len(groups) or None,
        groups=groups or None,
    )


def _groups(metadata: Any) -> tuple[ProcessGroup, ...]:
    """Groups by their names: keys are made of addresses of hosts, and stay out."""
    given = _part(metadata if isinstance(metadata, dict) else {}, "parallel_group_info")
    groups = []
    for value in list(given.values())[:MAX_GROUPS]:
        if not isinstance(value, dict):
            continue
        name, ranks = value.get("group_name"), value.get("global_ranks")
        members = [_rank(each) for each in ranks] if isinstance(ranks, list) else []
        known = tuple(each for each in members if each is not None)
        groups.append(
            ProcessGroup(
                name=name[:200] if isinstance(name, str) else None,
                size=len(known) or None,
                ranks=known or None,
            )
        )
    return tuple(groups)


def _lacks(common: Mapping[str, Any], special: Mapping[str, Any]) -> tuple[NotRecorded, ...]:
    reasons: dict[What, str] = dict.fromkeys(NPU_LACKS, NO_SUCH)
    for what, (option, reason) in SETTINGS.items():
        if common.get(option) is False:
            reasons[what] = reason
    level = _level(special.get("_profiler_level", special.get("profiler_level")))
    for needed, whats, reason in BY_LEVEL:
        if level is not None and level < needed:
            reasons |= dict.fromkeys(whats, reason)
    metrics = special.get("_aic_metrics", special.get("aic_metrics"))
    if isinstance(metrics, str) and metrics.rpartition(".")[2].lower() in NO_METRICS:
        reasons["gpu_metrics"] = "needs aic_metrics"
    return tuple(NotRecorded(what, reason) for what, reason in reasons.items())


def _level(value: Any) -> int | None:
    name = value.rpartition(".")[2].lower() if isinstance(value, str) else ""
    return LEVELS.index(name) if name in LEVELS else None


def _part(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    part: Any = document
    for key in keys:
        part = part.get(key) if isinstance(part, dict) else None
    return part if isinstance(part, dict) else {}


def _flag(common: Mapping[str, Any], key: str) -> bool | None:
    value = common.get(key)
    return value if isinstance(value, bool) else None


def _rank(value: Any) -> int | None:
    is_rank = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_RANKS
    return value if is_rank else None
