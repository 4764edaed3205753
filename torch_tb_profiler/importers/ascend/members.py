"""The files of a folder, by what they are: names carry a rank, and folders differ with versions."""

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


def base_of(path: str) -> str:
    """The last part of a path inside a folder."""
    return path.rpartition("/")[2]


def _readable(paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if not RAW.match(path))


def named(paths: Iterable[str], name: str | re.Pattern[str]) -> str | None:
    """The first file of a name that is no raw data."""
    for path in _readable(paths):
        base = base_of(path)
        if base == name if isinstance(name, str) else name.fullmatch(base):
            return path
    return None


def database_of(files: Mapping[str, Any]) -> str | None:
    """The database with the events."""
    return named(files, DATABASE)


def timeline_of(files: Mapping[str, Any]) -> str | None:
    """The timeline as text."""
    return named(files, TIMELINE)


def is_raw_only(paths: Iterable[str]) -> bool:
    """Whether a folder holds what was recorded, and nothing that was made of it."""
    paths = list(paths)
    return any(RAW.match(path) for path in paths) and not any(
        path.startswith(f"{OUTPUT}/") for path in paths
    )
