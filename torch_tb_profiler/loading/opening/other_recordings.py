"""Recordings of other profilers in the folder of a local trace, joined to it when it is opened.

Nsight Systems or rocprof may have watched the process of a trace at the same time. Which of the
recordings in its folder did, its kernels decide
(:mod:`torch_tb_profiler.analysis.recording.other_recording`). As with sidecar files, the cached
trace is that of its own file. Definitions: ``docs/two-profilers.md``.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.importers.registry import FORMATS, label_of
from torch_tb_profiler.importers.sidecars.names import select_rank
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

MAX_OPENED = 4
"""Other recordings that are opened for one trace."""

JOINED_CODE, NOT_JOINED_CODE = "other_recording_joined", "other_recording_not_joined"

MAX_HEADS = 32
"""Files whose beginning is inspected."""

_JOINED = [each for each in FORMATS if each.joins_traces]
_JOINED_FORMATS = frozenset(each.name for each in _JOINED)
_ENDINGS = tuple(ending for each in _JOINED for ending in each.endings)
_OTHER_NAMES = tuple(pattern for each in FORMATS if not each.joins_traces for pattern in each.files)

_NUMBER = re.compile(r"\d+")

OpenTrace = Callable[[Location], Trace]
"""Opens a recording; raises OpenError."""


def join_other_recordings(trace: Trace, location: Location, open_trace: OpenTrace) -> Trace:
    """``trace`` with what other recordings of its process add to it.

    Args:
        trace: The trace, from which nothing was derived yet.
        location: Its file.
        open_trace: Opens another recording.

    Returns:
        The trace; unchanged if there are none, if it is not local, or if it is itself of a format
        that is joined to others.
    """
    if location.filesystem is not None or location.is_folder:
        return trace
    if trace.meta.format in _JOINED_FORMATS or trace.device_work.is_empty():
        return trace
    try:
        others = _others(trace, location)
        for other in others[:MAX_OPENED]:
            trace = _joined(trace, other, open_trace)
        for other in others[MAX_OPENED:]:
            text = f"{other.name}: only {MAX_OPENED} are tried; name it by the rank or process id"
            trace = noted(trace, NOT_JOINED_CODE, text)
    except Exception:
        _LOGGER.exception("other recordings beside %s were not joined", location.url)
    return trace


def _others(trace: Trace, location: Location) -> list[Location]:
    """The recordings in the folder that may be of the trace's process, first those with its id in
    their name, as rocprofv3 gives them (``908_results.json``)."""
    folder, own = os.path.split(location.path)
    named = [name for name in names_in(folder) if name != own and _may_be_joined(name)]
    rank = rank_of_trace(trace, own)
    chosen: dict[str, Location] = {}
    processes = _processes(trace)
    by_process = sorted(
        select_rank(named, rank), key=lambda name: processes.isdisjoint(_NUMBER.findall(name))
    )
    for name in by_process[:MAX_HEADS]:
        path = os.path.join(folder, name)
        other = replace(location, url=path, path=path, variant="")
        stem = name.partition(".")[0]
        if stem not in chosen and format_by_head(other) in _JOINED_FORMATS:
            chosen[stem] = other
    return list(chosen.values())


def _processes(trace: Trace) -> set[str]:
    """The ids of the processes of the host, as the trace writes them."""
    return set(trace.tracks.filter(pl.col("device").is_null())["pid"].to_list())


def _may_be_joined(name: str) -> bool:
    """Whether a name is no other format's own, and has an ending of those that are joined."""
    return name.endswith(_ENDINGS) and not any(each.parse(name) for each in _OTHER_NAMES)


def _joined(trace: Trace, other: Location, open_trace: OpenTrace) -> Trace:
    from torch_tb_profiler.analysis.recording.other_recording.joined import (  # noqa: PLC0415
        join,
        kernels_of,
    )
    from torch_tb_profiler.analysis.recording.other_recording.matching import (  # noqa: PLC0415
        MatchFailure,
        match_kernels,
    )

    try:
        recording = open_trace(other)
    except OpenError as error:
        return noted(trace, NOT_JOINED_CODE, f"{other.name}: {error.problem.message}")
    title = f"{label_of(recording.meta.format)}: {other.name}"
    own, others = kernels_of(trace), kernels_of(recording)
    match = match_kernels(own[0], others[0])
    if isinstance(match, MatchFailure):
        return noted(trace, NOT_JOINED_CODE, f"{other.name}: {match.text}")
    joined = join(trace, recording, match, (own[1], others[1]), title)
    return noted(joined, JOINED_CODE, f"{title}: {match.text}")
