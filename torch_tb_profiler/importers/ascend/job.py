"""Rank, groups, recording options and missing data, from the JSON files at the top of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from torch_tb_profiler.trace.info import (
    Capability,
    JobInfo,
    NotRecorded,
    ProcessGroup,
    RecordingSettings,
    TraceInfo,
)
from torch_tb_profiler.trace.limits import MAX_RANKS

MAX_GROUPS = 4096
LEVELS = ("level_none", "level0", "level1", "level2")
NOT_ON_NPU: tuple[Capability, ...] = ("occupancy", "blocks_per_sm", "shared_memory", "registers")
NOT_ON_NPU_REASON = "an NPU has no such metric"
NEEDED_OPTIONS: dict[Capability, tuple[str, str]] = {
    "input_shapes": ("record_shapes", "needs record_shapes=True"),
    "input_types": ("record_shapes", "needs record_shapes=True"),
    "call_stacks": ("with_stack", "needs with_stack=True"),
    "python": ("with_stack", "needs with_stack=True"),
    "modules": ("with_modules", "needs with_modules=True"),
    "memory": ("profile_memory", "needs profile_memory=True"),
}
"""What is missing → the option that was off, and the reason to show."""

NEEDED_LEVELS: tuple[tuple[int, tuple[Capability, ...], str], ...] = (
    (1, ("kernels", "copies", "launches"), "needs Level0"),
    (2, ("communication", "collective_sizes", "runtime"), "needs Level1"),
)
"""(level, what only this and higher levels record, the reason to show)."""

NO_METRICS = ("none", "aicorenone", "acl_aicore_none")


def with_job(info: TraceInfo, profiler_info: Any, metadata: Any, rank: int | None) -> TraceInfo:
    """``info`` completed from ``profiler_info`` and ``profiler_metadata``.

    Args:
        info: What is known from the events.
        profiler_info: The document of ``profiler_info_<rank>.json``; any JSON value.
        metadata: The document of ``profiler_metadata.json``; any JSON value.
        rank: The rank in a file's name.
    """
    document = profiler_info if isinstance(profiler_info, dict) else {}
    common = _nested(document, "config", "common_config")
    experimental = _nested(document, "config", "experimental_config")
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
        not_recorded=(*info.not_recorded, *_not_recorded(common, experimental)),
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
    """The groups by name; the keys contain host addresses and are left out."""
    described = _nested(metadata if isinstance(metadata, dict) else {}, "parallel_group_info")
    groups = []
    for value in list(described.values())[:MAX_GROUPS]:
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


def _not_recorded(
    common: Mapping[str, Any], experimental: Mapping[str, Any]
) -> tuple[NotRecorded, ...]:
    reasons: dict[Capability, str] = dict.fromkeys(NOT_ON_NPU, NOT_ON_NPU_REASON)
    for capability, (option, reason) in NEEDED_OPTIONS.items():
        if common.get(option) is False:
            reasons[capability] = reason
    level = _level(experimental.get("_profiler_level", experimental.get("profiler_level")))
    for needed, names, reason in NEEDED_LEVELS:
        if level is not None and level < needed:
            reasons |= dict.fromkeys(names, reason)
    metrics = experimental.get("_aic_metrics", experimental.get("aic_metrics"))
    if isinstance(metrics, str) and metrics.rpartition(".")[2].lower() in NO_METRICS:
        reasons["gpu_metrics"] = "needs aic_metrics"
    return tuple(NotRecorded(capability, reason) for capability, reason in reasons.items())


def _level(value: Any) -> int | None:
    name = value.rpartition(".")[2].lower() if isinstance(value, str) else ""
    return LEVELS.index(name) if name in LEVELS else None


def _nested(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
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
