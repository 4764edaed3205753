"""The kinds of files, by their names, and the files of one device.

Format: docs/format-mindspore.md#files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.storage.names import NamePattern

FileKind = Literal[
    "step_trace", "aicore_types", "aicore_names", "aicpu", "compute_time", "host_types",
    "host_names", "framework",
    "flops", "flops_scope", "flops_summary", "pipeline_raw", "pipeline", "cpu_utilization",
    "device_queue", "dataset_iterator", "aicpu_queue", "getnext", "shapes", "parallel_strategy",
    "cluster_steps", "communication", "points", "memory_record",
    "cycles", "ascend_timeline", "gpu_timeline", "timeline", "memory_usage", "unread",
]  # fmt: skip

NAMES: tuple[tuple[str, FileKind], ...] = (
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
    ("hccl_raw_*.csv", "communication"),
    ("min_cycle_counter_*.txt", "cycles"),
    ("ascend_timeline_display_*.json", "ascend_timeline"),
    ("gpu_timeline_display_*.json", "gpu_timeline"),
    ("timeline_display_*.json", "timeline"),
    ("memory_usage_*.pb", "memory_usage"),
    ("cpu_ms_memory_record_*.txt", "memory_record"),
    ("step_trace_point_info_*.json", "points"),
    ("ascend_timeline_summary_*.json", "unread"),
    ("gpu_timeline_summary_*.json", "unread"),
    ("timeline_summary_*.json", "unread"),
    ("output_timeline_data_*.txt", "unread"),
    ("output_op_compute_time_detail_*.txt", "unread"),
)
"""(file name with ``*`` for the device number, kind). Files of the kind ``unread`` repeat the data
of others."""

_NEVER = "(?:(?!)(?P<stamp>))?"
"""An empty group: these names have no time stamp."""


def _pattern(display: str) -> NamePattern:
    start, _, end = display.partition("*")
    text = rf"{re.escape(start)}(?P<worker>[0-9]{{1,9}}){_NEVER}{re.escape(end)}"
    return NamePattern(display, re.compile(text, re.ASCII))


CLUSTER_STEPS = re.compile(
    r"(?:ascend|gpu)_cluster_analyse_(?P<mode>[a-z]+(?:-[a-z]+)*)"
    rf"_(?P<stages>[0-9]{{1,9}})_(?P<ranks>[0-9]{{1,9}})_(?P<worker>[0-9]{{1,9}}){_NEVER}\.csv",
    re.ASCII,
)
"""The name of a file with the steps of a rank: how the job is parallel, the number of pipeline
stages and of ranks, the rank."""

_PATTERNS: tuple[tuple[NamePattern, FileKind], ...] = (
    *((_pattern(n), kind) for n, kind in NAMES),
    (NamePattern("ascend_cluster_analyse_*.csv", CLUSTER_STEPS), "cluster_steps"),
)

TIMELINES: tuple[FileKind, ...] = ("ascend_timeline", "timeline", "gpu_timeline")
"""The timelines, best first."""

MEMBERS: tuple[NamePattern, ...] = tuple(pattern for pattern, _ in _PATTERNS)


class ProfilerFile(Struct, frozen=True):
    """A file of a device.

    Attributes:
        name: Its base name.
        open: Opens it.
    """

    name: str
    open: Callable[[], Source]


class DeviceFiles(Struct, frozen=True):
    """The files of one device.

    Attributes:
        device: The number in the names of the files.
        by_kind: Kind → its file.
        left_out: Names of files of other devices, and of duplicates in other folders.
    """

    device: int
    by_kind: Mapping[FileKind, ProfilerFile]
    left_out: tuple[str, ...]


def select_device_files(files: Mapping[str, Callable[[], Source]]) -> DeviceFiles | None:
    """The files of the device with the smallest number; None if no file belongs to a device.

    Args:
        files: Path → function that opens the file.
    """
    by_device: dict[int, dict[FileKind, ProfilerFile]] = {}
    left_out: list[str] = []
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        name = path.rpartition("/")[2]
        parsed = _parse_name(name)
        if parsed is None:
            continue
        device, kind = parsed
        by_kind = by_device.setdefault(device, {})
        if kind in by_kind and kind != "unread":
            left_out.append(path)
            continue
        by_kind[kind] = ProfilerFile(name, files[path])
    if not by_device:
        return None
    device = min(by_device)
    for number, by_kind in by_device.items():
        if number != device:
            left_out.extend(file.name for file in by_kind.values())
    return DeviceFiles(device, by_device[device], tuple(left_out))


def kind_of(name: str) -> FileKind | None:
    """The kind of a file by its base name; None if it is no file of the profiler."""
    parsed = _parse_name(name)
    return None if parsed is None else parsed[1]


def _parse_name(name: str) -> tuple[int, FileKind] | None:
    for pattern, kind in _PATTERNS:
        parsed = pattern.parse(name)
        if parsed is not None:
            return int(parsed.worker), kind
    return None
