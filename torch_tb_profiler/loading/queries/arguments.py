"""Answer a request for the arguments of a slice, read from the trace file."""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
from torch_tb_profiler.importers.registry import importer_of, label_of
from torch_tb_profiler.importers.source import source_of
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.slices import check_slice
from torch_tb_profiler.loading.queries.traces import subject_trace, trace_ref
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.slices import SliceArgumentsAnswer
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError, changed_error, from_os_error
from torch_tb_profiler.storage.locations import FileState, Location, file_state
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.slice.arguments import recorded_arguments

LIMITS = SearchLimits(text_bytes=8 << 30, seconds=20.0)
"""How far a file is searched for one event."""

MAX_REMOTE_BYTES = 256 << 20
"""Maximum size of a remote file that is downloaded for one event."""

MAX_CACHED = 64
MAX_CACHED_CHARS = 1 << 18
"""Results larger than this are not cached."""

_DOWNLOAD = "Download the trace and open it in an editor, or open it from this machine's disk."


class _SearchCache:
    """The first successful searches, by file, its state and slice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_arguments: OrderedDict[tuple[str, str, int], EventArguments] = OrderedDict()

    def get(self, key: tuple[str, str, int]) -> EventArguments | None:
        with self._lock:
            return self._read_arguments.get(key)

    def put(self, key: tuple[str, str, int], arguments: EventArguments) -> None:
        with self._lock:
            self._read_arguments[key] = arguments
            while len(self._read_arguments) > MAX_CACHED:
                self._read_arguments.popitem(last=False)


_SEARCHES = _SearchCache()


def arguments_answer(
    catalog: Catalog, subject: Subject, slice_id: int, wait_s: float | None
) -> SliceArgumentsAnswer:
    """All arguments of one slice, read from its file.

    Raises:
        UnknownError: there is no such slice.
        LoadingError, NotReadyError: as ``queries.traces.subject_trace``.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    check_slice(trace, slice_id)
    arguments = _read_arguments(file, trace, slice_id)
    if isinstance(arguments, Problem):
        return SliceArgumentsAnswer(
            trace=trace_ref(file),
            slice=slice_id,
            state="missing",
            arguments=[],
            count=0,
            problem=arguments,
        )
    return SliceArgumentsAnswer(
        trace=trace_ref(file),
        slice=slice_id,
        state="found",
        arguments=recorded_arguments(arguments.arguments, arguments.known),
        count=len(arguments.arguments),
        problem=None,
    )


def _read_arguments(file: SpanFile, trace: Trace, slice_id: int) -> EventArguments | Problem:
    """The arguments of a slice, or why they cannot be read."""
    location = file.location
    try:
        state = file_state(location)
        key = (location.url + location.variant, state.version, slice_id)
        arguments = _SEARCHES.get(key)
        if arguments is not None:
            return arguments
        if location.filesystem is not None and state.size_bytes > MAX_REMOTE_BYTES:
            return _remote_too_large(location, state)
        arguments = _search(location, state, trace, slice_id)
    except StorageError as error:
        return Problem.of(error)
    except TraceFormatError as error:
        return Problem.of(error)
    except UnpackLimitError as error:
        return Problem("unpacks_too_far", f"{location.url} {error.reason}", error.hint)
    if arguments is None:
        label = label_of(trace.meta.format)
        message = (
            f"{location.url} is a {label} file: such files are not searched for single events."
        )
        hint = "The slice shows all arguments that are read; the recorder's own tools have more."
        return Problem("format_not_searched", message, hint)
    if arguments.end == "found":
        if sum(map(len, arguments.arguments.values())) <= MAX_CACHED_CHARS:
            _SEARCHES.put(key, arguments)
        return arguments
    return _failure(arguments, file, state)


def _search(
    location: Location, state: FileState, trace: Trace, slice_id: int
) -> EventArguments | None:
    source = source_of(location, state)
    try:
        return importer_of(source).find(source, event_query(trace, slice_id), LIMITS)
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise changed_error(location.url) from error
        raise from_os_error(error, location.url) from error


def _failure(arguments: EventArguments, file: SpanFile, state: FileState) -> Problem:
    """Why a search was unsuccessful."""
    url = file.location.url
    if arguments.end == "too_far":
        read = f"{arguments.text_bytes / 1e6:.0f} MB of text"
        message = (
            f"{url} was searched for {LIMITS.seconds:.0f} s ({read}) without reaching the event."
        )
        return Problem("too_far", message, _DOWNLOAD)
    if state != file.state:
        return Problem.of(changed_error(url))
    message = f"{url} does not contain this event as the trace has it."
    if arguments.end == "unclear":
        message = f"{url} contains several such events, and they cannot be distinguished."
    return Problem(f"event_{arguments.end}", message, _DOWNLOAD)


def _remote_too_large(location: Location, state: FileState) -> Problem:
    size, most = state.size_bytes >> 20, MAX_REMOTE_BYTES >> 20
    message = f"{location.url} is remote and has {size} MiB; up to {most} MiB are read."
    return Problem("too_far", message, _DOWNLOAD)


def event_query(trace: Trace, slice_id: int) -> EventQuery:
    """The query that identifies a slice among the events of its file."""
    row = trace.slices.row(slice_id, named=True)
    track = trace.tracks.row(row["track"], named=True)
    # Slices are ordered by track and start: those that share both are neighbours.
    edges = np.array([row["track"], row["track"] + 1], np.int32)
    first, last = np.searchsorted(trace.slices["track"].to_numpy(), edges).tolist()
    starts_ns = trace.slices["start_ns"].to_numpy()[first:last]
    low = first + int(np.searchsorted(starts_ns, row["start_ns"]))
    high = first + int(np.searchsorted(starts_ns, row["start_ns"], "right"))
    candidates = trace.slices[low:high]
    twins = candidates.filter(
        candidates["name_code"].eq_missing(row["name_code"])
        & candidates["raw_category_code"].eq_missing(row["raw_category_code"])
    )
    return EventQuery(
        pid=track["pid"],
        tid=track["tid"],
        name=trace.text(row["name_code"]) or "",
        raw_category=trace.text(row["raw_category_code"]) or None,
        start_ns=row["start_ns"],
        base_ns=trace.meta.base_ns,
        twins_dur_ns=tuple(twins["dur_ns"]),
        index=int(np.flatnonzero(twins["id"].to_numpy() == slice_id)[0]),
    )
