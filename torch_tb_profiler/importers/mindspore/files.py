"""Which files there are, by their names, and which of them are those of one device.

Format: docs/format-mindspore.md#files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.storage.names import NamePattern

Kind = Literal[
    "step_trace", "aicore_types", "aicore_names", "aicpu", "compute_time", "host_types",
    "host_names", "framework",
    "flops", "flops_scope", "flops_summary", "pipeline_raw", "pipeline", "cpu_utilization",
    "device_queue", "dataset_iterator", "aicpu_queue", "getnext", "shapes", "parallel_strategy",
    "cycles", "ascend_timeline", "gpu_timeline", "timeline", "memory_usage", "unread",
]  # fmt: skip

NAMES: tuple[tuple[str, Kind], ...] = (
    ("step_trace_raw_*_detail_time.csv", "step_trace"),
    ("aicore_intermediate_*_type.csv", "aicore_types"),
    ("aicore_intermediate_*_detail.csv", "aicore_names"),
    ("aicpu_intermediate_*.csv", "aicpu"),
    ("output_op_compute_time_*.txt", "compute_time"),
    ("cpu_op_type_info_*.csv", "host_types"),
    ("cpu_op_detail_info_*.csv", "host_names"),
    ("framework_raw_*.csv", "framework"),
    ("flops_*.txt", "flops"),
    ("flops_scope_*.json", "flops_scope"),
    ("flops_summary_*.json", "flops_summary"),
    ("minddata_pipeline_raw_*.csv", "pipeline_raw"),
    ("pipeline_profiling_*.json", "pipeline"),
    ("minddata_cpu_utilization_*.json", "cpu_utilization"),
    ("device_queue_profiling_*.txt", "device_queue"),
    ("dataset_iterator_profiling_*.txt", "dataset_iterator"),
    ("minddata_aicpu_*.txt", "aicpu_queue"),
    ("minddata_getnext_profiling_*.txt", "getnext"),
    ("dynamic_shape_info_*.json", "shapes"),
    ("parallel_strategy_*.json", "parallel_strategy"),
    ("min_cycle_counter_*.txt", "cycles"),
    ("ascend_timeline_display_*.json", "ascend_timeline"),
    ("gpu_timeline_display_*.json", "gpu_timeline"),
    ("timeline_display_*.json", "timeline"),
    ("memory_usage_*.pb", "memory_usage"),
    ("ascend_timeline_summary_*.json", "unread"),
    ("gpu_timeline_summary_*.json", "unread"),
    ("timeline_summary_*.json", "unread"),
    ("step_trace_point_info_*.json", "unread"),
    ("output_timeline_data_*.txt", "unread"),
    ("output_op_compute_time_detail_*.txt", "unread"),
)
"""Names of files, ``*`` for the number of the device, and what they hold. What is unread tells
again what others do."""

_NEVER = "(?:(?!)(?P<stamp>))?"
"""Nothing in these names says when they were written."""


def _pattern(shown: str) -> NamePattern:
    start, _, end = shown.partition("*")
    text = rf"{re.escape(start)}(?P<worker>[0-9]{{1,9}}){_NEVER}{re.escape(end)}"
    return NamePattern(shown, re.compile(text, re.ASCII))


_PATTERNS: tuple[tuple[NamePattern, Kind], ...] = tuple((_pattern(n), kind) for n, kind in NAMES)

MEMBERS: tuple[NamePattern, ...] = tuple(pattern for pattern, _ in _PATTERNS)


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a device.

    Attributes:
        name: Its own name, without folders.
        open: Begins to read it.
    """

    name: str
    open: Callable[[], Source]


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The files of one device.

    Attributes:
        device: Its number, as the names have it.
        members: The file of each kind there is.
        left_out: Names of files of other devices, or that hold the same in another folder.
    """

    device: int
    members: Mapping[Kind, Member]
    left_out: tuple[str, ...]


def files_of_device(files: Mapping[str, Callable[[], Source]]) -> DeviceFiles | None:
    """The files of the device with the smallest number; None where none is of any.

    Args:
        files: Path → what begins to read the file.
    """
    found: dict[int, dict[Kind, Member]] = {}
    left_out: list[str] = []
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        name = path.rpartition("/")[2]
        told = _told(name)
        if told is None:
            continue
        device, kind = told
        members = found.setdefault(device, {})
        if kind in members and kind != "unread":
            left_out.append(path)
            continue
        members[kind] = Member(name, files[path])
    if not found:
        return None
    device = min(found)
    for number, members in found.items():
        if number != device:
            left_out.extend(member.name for member in members.values())
    return DeviceFiles(device, found[device], tuple(left_out))


def _told(name: str) -> tuple[int, Kind] | None:
    for pattern, kind in _PATTERNS:
        parsed = pattern.parse(name)
        if parsed is not None:
            return int(parsed.worker), kind
    return None
