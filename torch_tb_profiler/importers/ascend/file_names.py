"""Names of the files in a profiler folder: names contain a rank, and differ between versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

OUTPUT = "ASCEND_PROFILER_OUTPUT"
RAW = re.compile(r"(?:FRAMEWORK|PROF_[^/]*)/")
DATABASE = re.compile(r"ascend_(?:pytorch|mindspore)_profiler(?:_(?P<rank>\d+))?\.db")
ANALYSIS = "analysis.db"
TIMELINE = re.compile(r"trace_view\.json(?:\.gz)?")
INFO = re.compile(r"profiler_info(?:_(?P<rank>\d+))?\.json")
METADATA = "profiler_metadata.json"
TABLES = re.compile(
    r"(?:kernel_details|op_statistic|step_trace_time|operator_memory|memory_record|npu_module_mem"
    r"|operator_details|api_statistic)\.csv|communication(?:_matrix)?\.json"
)
"""The text files that are read without a timeline."""


def base_name(path: str) -> str:
    """The last component of a path inside a folder."""
    return path.rpartition("/")[2]


def _without_raw(paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if not RAW.match(path))


def find_file(paths: Iterable[str], name: str | re.Pattern[str]) -> str | None:
    """The path of the first file with this name, raw data excluded; None if there is none."""
    for path in _without_raw(paths):
        base = base_name(path)
        if base == name if isinstance(name, str) else name.fullmatch(base):
            return path
    return None


def find_database(files: Mapping[str, Any]) -> str | None:
    """The path of the database with the events; None if there is none."""
    return find_file(files, DATABASE)


def find_timeline(files: Mapping[str, Any]) -> str | None:
    """The path of the JSON timeline; None if there is none."""
    return find_file(files, TIMELINE)


def is_raw_only(paths: Iterable[str]) -> bool:
    """Whether a folder holds raw recorded data but no analysed output."""
    paths = list(paths)
    return any(RAW.match(path) for path in paths) and not any(
        path.startswith(f"{OUTPUT}/") for path in paths
    )
