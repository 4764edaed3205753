"""Memory snapshots of the process of a local trace, joined to it when it is opened.

A snapshot is looked for in the folder of the trace, and in the folders where torchtitan writes it
(``memory_snapshot/iteration_10`` beside ``traces/iteration_10``); of equal rank the one of the same
iteration first. Which of them is of the process, its allocations and times decide. Definitions:
``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from torch_tb_profiler.importers.sidecars.names import select_rank
from torch_tb_profiler.importers.snapshot import ENDINGS, FORMAT
from torch_tb_profiler.loading.opening.neighbours import (
    format_by_head,
    names_in,
    noted,
    rank_of_trace,
)
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.locations import Location
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)

MAX_HEADS = 16
"""Files whose beginning is inspected."""

MAX_OPENED = 2
"""Snapshots that are opened for one trace."""

SNAPSHOT_FOLDERS = ("memory_snapshot", "memory_snapshots")
"""Folders of snapshots beside the folder of traces."""

JOINED_CODE, NOT_JOINED_CODE = "snapshot_joined", "snapshot_not_joined"

_NUMBER = re.compile(r"(?:step|iteration|iter)[_-]?(\d{1,12})", re.IGNORECASE)

OpenTrace = Callable[[Location], Trace]
"""Opens a recording; raises OpenError."""


def join_memory_snapshot(trace: Trace, location: Location, open_trace: OpenTrace) -> Trace:
    """``trace`` with the memory snapshot of its process.

    Args:
        trace: The trace, from which nothing was derived yet.
        location: Its file.
        open_trace: Opens the snapshot.

    Returns:
        The trace; unchanged if there is no snapshot, if it is not local, or is one itself.
    """
    if location.filesystem is not None or location.is_folder or _has_snapshot(trace):
        return trace
    try:
        reasons = []
        for other in _snapshots(trace, location):
            result = _joined(trace, other, open_trace)
            if isinstance(result, Trace):
                return result
            reasons.append(f"{other.name}: {result}")
        for reason in reasons:
            trace = noted(trace, NOT_JOINED_CODE, reason)
    except Exception:
        _LOGGER.exception("memory snapshots beside %s were not joined", location.url)
    return trace


def _has_snapshot(trace: Trace) -> bool:
    return "snapshot_segments" in trace.side


def _snapshots(trace: Trace, location: Location) -> list[Location]:
    """The snapshots that may be of the process, those of its iteration first."""
    folder, own = os.path.split(location.path)
    paths = list(_paths(folder))
    if not paths:
        return []
    rank = rank_of_trace(trace, own)
    number = _number(location.path)
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(os.path.basename(path), []).append(path)
    selected = [path for name in select_rank(by_name, rank) for path in by_name[name]]
    selected.sort(key=lambda path: (_number(path) != number, os.path.dirname(path) != folder, path))
    chosen: list[Location] = []
    for path in selected[:MAX_HEADS]:
        other = replace(location, url=path, path=path, variant="")
        if len(chosen) < MAX_OPENED and format_by_head(other) == FORMAT.name:
            chosen.append(other)
    return chosen


def _paths(folder: str) -> Iterator[str]:
    """Files that may be snapshots: in the folder of the trace, and below those of torchtitan."""
    yield from (path for path in _listed(folder) if path.endswith(ENDINGS))
    for above in (os.pardir, os.path.join(os.pardir, os.pardir)):
        for name in SNAPSHOT_FOLDERS:
            root = os.path.normpath(os.path.join(folder, above, name))
            for path in _listed(root):
                if path.endswith(ENDINGS):
                    yield path
                else:
                    yield from (each for each in _listed(path) if each.endswith(ENDINGS))


def _listed(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in names_in(folder)]


def _number(path: str) -> int | None:
    """The step or iteration in a path, the last one."""
    numbers = _NUMBER.findall(path)
    return int(numbers[-1]) if numbers else None


def _joined(trace: Trace, other: Location, open_trace: OpenTrace) -> Trace | str:
    """The trace with a snapshot, or the reason why it has none."""
    from torch_tb_profiler.analysis.memory.snapshot.joining import join_snapshot  # noqa: PLC0415

    try:
        snapshot = open_trace(other)
    except OpenError as error:
        return error.problem.message
    result = join_snapshot(trace, snapshot, other.name)
    if isinstance(result, str):
        return f"{result}."
    return noted(result, JOINED_CODE, other.name)
