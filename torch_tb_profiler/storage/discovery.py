"""Finding traces: a folder tree becomes runs, workers and spans.

Each folder that holds traces is a run; a trace's name gives worker and stamp; a worker's stamps in
order, as numbers, are its spans 1, 2, 3 …; a trace without stamp is the span ``default``. Two of
one stamp are two spans (``1`` and ``1-gz``); one unreadable folder does not hide the others. Which
names are those of traces, files or folders, the formats say (:class:`TraceNames`).
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torch_tb_profiler.storage.deadlines import (
    LISTING_LIMITS,
    ask,
    call,
    key_of,
    progressed,
    remote_timeout_s,
)
from torch_tb_profiler.storage.errors import (
    StorageError,
    from_os_error,
    from_remote_error,
    no_bucket,
    remote_errors,
)
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.locations import (
    FileState,
    Location,
    can_read_ranges,
    file_state,
    is_inside,
    joined_state,
    local_state,
    remote_state,
    valid_text,
)
from torch_tb_profiler.storage.names import TraceName, TraceNames, natural_key

_LOGGER = logging.getLogger(__name__)

DEFAULT_SPAN = "default"
MAX_LEFT_OUT = 20
"""Sentences kept about what was left out; more would hide the first ones."""


@dataclass(frozen=True, slots=True)
class SpanFile:
    """One trace (a file, or a folder) in its place: the names of run, worker and span, and its
    state when found."""

    run: str
    worker: str
    span: str
    location: Location
    state: FileState


@dataclass(slots=True)
class Discovery:
    """What a logdir holds.

    Attributes:
        files: Every trace file, by run, worker and time.
        left_out: Sentences about what was seen and not read (links out, no permission).
        unfinished: Names of the files that are being written; they are not among ``files``.
        others: The first few files that may open when named, but have not the names of traces.
    """

    files: list[SpanFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def leave_out(self, sentence: str) -> None:
        """Remember one more thing that was left out."""
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(sentence)

    def see_other(self, shown: str) -> None:
        """Remember a file that might be a trace."""
        if len(self.others) < MAX_LEFT_OUT:
            self.others.append(shown)


@dataclass(frozen=True, slots=True)
class _Match:
    folder: str  # relative to the logdir, "/" between parts, "" for the logdir itself
    location: Location
    state: FileState
    name: TraceName


def discover(
    place: Location, names: TraceNames, finished: FinishedFiles | None = None
) -> Discovery:
    """All traces of a logdir, or the one file that ``place`` is.

    Local folders are walked once each and no folder link is followed: a link into the logdir
    leads to what is listed anyway, and one out of it is out of bounds. Remote ones, files too,
    cost one recursive listing.

    Args:
        place: The logdir, or a remote file.
        names: Which files and folders are traces.
        finished: Leaves out the files that it knows to be written still; None takes all.

    Raises:
        StorageError: ``place`` does not exist or cannot be listed at all.
    """
    if names.folder(place.name) is not None:
        return Discovery(files=[single_file(replace(place, is_folder=True), names)])
    result = Discovery()
    by_run: dict[str, list[_Match]] = {}
    if place.filesystem is None:
        matches = _LocalScan(place, names, result, finished).traces()
    else:
        listing = _remote_listing(place, result)
        if place.path.rstrip("/") in listing:
            return Discovery(files=[single_file(place, names)])
        matches = _remote_traces(place, names, listing, result)
    for match in matches:
        by_run.setdefault(match.folder, []).append(match)
    if "" in by_run:
        own_name = "." if place.name in by_run else place.name or "."
        by_run[own_name] = by_run.pop("")
    for run in sorted(by_run, key=natural_key):
        result.files.extend(_spans_of_run(run, by_run[run]))
    return result


def single_file(location: Location, names: TraceNames) -> SpanFile:
    """The span that a directly named file is, whatever its name, or a folder that is a trace.

    Raises:
        StorageError: it is missing, unreadable or no regular file.
    """
    name = names.named_directly(location.name)
    folder = location.path.replace("\\", "/").rstrip("/").rpartition("/")[0]
    run = valid_text(folder.rpartition("/")[2]) or "."
    span = DEFAULT_SPAN if name.stamp is None else "1"
    return SpanFile(run, name.worker, span, location, file_state(location))


def is_folder(place: Location) -> bool:
    """True when ``place`` is a folder (or a prefix) that can be listed.

    Raises:
        StorageError: the remote store cannot be reached, or has nothing of that name.
    """
    if place.filesystem is None:
        return os.path.isdir(place.path)
    with remote_errors(place.url):
        try:
            return bool(ask(place.filesystem, "info", place.path)["type"] == "directory")
        except FileNotFoundError:
            _check_bucket(place)
            raise


@dataclass(frozen=True, slots=True)
class _LocalScan:
    """One walk through a folder of this machine."""

    place: Location
    names: TraceNames
    result: Discovery
    finished: FinishedFiles | None

    def traces(self) -> Iterator[_Match]:
        root = os.path.realpath(self.place.path)
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(os.path.join(root, folder) if folder else root) as entries:
                    listed = list(entries)
            except OSError as error:
                shown = f"{self.place.url}/{valid_text(folder)}" if folder else self.place.url
                problem = from_os_error(error, shown)
                if not folder:
                    raise problem from error
                self.result.leave_out(problem.message)
                continue
            for entry in listed:
                path = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    if self._is_run_folder(entry):
                        pending.append(path)
                        continue
                    match = self._trace(entry, folder, root)
                except OSError as error:  # it went, or became something else, since it was listed
                    self.result.leave_out(from_os_error(error, valid_text(path)).message)
                except StorageError as error:  # a file in a folder that is a trace
                    self.result.leave_out(error.message)
                else:
                    if match is not None:
                        yield match

    def _is_run_folder(self, entry: os.DirEntry[str]) -> bool:
        return entry.is_dir(follow_symlinks=False) and self.names.folder(entry.name) is None

    def _trace(self, entry: os.DirEntry[str], folder: str, root: str) -> _Match | None:
        """The trace that ``entry`` is, if it is one and done.

        Raises:
            OSError: it cannot be looked at.
            StorageError: it is a folder, and a file in it cannot.
        """
        base_name = valid_text(entry.name)
        shown = f"{valid_text(folder)}/{base_name}" if folder else base_name
        is_folder = entry.is_dir(follow_symlinks=False)
        name = self.names.folder(base_name) if is_folder else self.names.file(base_name)
        if entry.is_symlink() and not is_inside(entry.path, root):
            if name is not None or os.path.isdir(entry.path):
                sentence = f"{shown} is a link that leads out of the logdir; not followed."
                self.result.leave_out(sentence)
            return None
        if name is None:
            if base_name.endswith(self.names.endings):
                self.result.see_other(shown)
            return None
        location = replace(
            self.place,
            url=valid_text(entry.path),
            path=entry.path,
            root=root,
            is_folder=is_folder,
        )
        status = entry.stat()
        if not is_folder and not stat.S_ISREG(status.st_mode):
            return None
        if not self._is_finished(location, status):
            self.result.unfinished.append(shown)
            return None
        state = file_state(location) if is_folder else local_state(status)
        return _Match(valid_text(folder).replace(os.sep, "/"), location, state, name)

    def _is_finished(self, location: Location, status: os.stat_result) -> bool:
        if self.finished is None:
            return True
        state = file_state(location) if location.is_folder else None
        return self.finished.is_finished(location.path, status, state)


def _remote_listing(place: Location, result: Discovery) -> dict[str, dict[str, Any]]:
    """Path → info of every object below ``place``, or of the one object that it is."""
    filesystem = place.filesystem
    with remote_errors(place.url):
        filesystem.invalidate_cache(place.path)
        try:
            listing = _found_below(place, result)
        except FileNotFoundError:
            _check_bucket(place)
            raise
        if not listing:
            _check_bucket(place)
            if not ask(filesystem, "exists", place.path):
                raise FileNotFoundError(place.path)
        # adlfs answers for a single file with a list of its path.
        return listing if isinstance(listing, dict) else {path: {} for path in listing}


def _found_below(place: Location, result: Discovery) -> Any:
    """What ``find`` says of a place, within the limits of a listing."""
    filesystem, total_s = place.filesystem, LISTING_LIMITS * remote_timeout_s()
    if getattr(filesystem, "async_impl", False):
        return ask(filesystem, "find", place.path, total_s=total_s, detail=True)
    return call(key_of(filesystem), lambda: _walked(place, result), remote_timeout_s(), total_s)


def _walked(place: Location, result: Discovery) -> dict[str, dict[str, Any]]:
    """As ``find`` of a store that lists folder by folder; one that cannot be listed is left out."""
    listing: dict[str, dict[str, Any]] = {}
    pending = [place.path]
    while pending:
        folder = pending.pop()
        try:
            entries = place.filesystem.ls(folder, detail=True)
        except OSError as error:
            if folder == place.path:
                if place.filesystem.isfile(folder):
                    return {folder.rstrip("/"): {}}
                raise
            below = folder.removeprefix(place.path.rstrip("/"))
            result.leave_out(from_remote_error(error, f"{place.url.rstrip('/')}{below}").message)
            continue
        progressed()
        for entry in entries:
            path = entry["name"].rstrip("/")
            if entry["type"] != "directory":
                listing[path] = entry
            elif path != folder.rstrip("/"):
                pending.append(path)
    return listing


def _check_bucket(place: Location) -> None:
    """Tell a missing bucket from a missing prefix, where the store lets us look at buckets.

    Raises:
        StorageError: the bucket does not exist.
    """
    if not can_read_ranges(place.filesystem):
        return
    bucket = place.path.strip("/").partition("/")[0]
    try:
        ask(place.filesystem, "info", bucket)
    except FileNotFoundError as error:
        raise no_bucket(place.url, bucket) from error
    except Exception as error:  # each client has its own; who may read may not see the bucket
        _LOGGER.debug("bucket %s cannot be looked at: %s", bucket, type(error).__name__)


def _remote_traces(
    place: Location, names: TraceNames, listing: dict[str, dict[str, Any]], result: Discovery
) -> Iterator[_Match]:
    prefix, url = place.path.rstrip("/"), place.url.rstrip("/")
    folders: dict[str, list[tuple[str, FileState]]] = {}
    for path, info in listing.items():
        relative = path.removeprefix(prefix).strip("/")
        folder, _, base_name = relative.rpartition("/")
        above = _trace_folder(folder, names)
        if above is not None:
            member = relative.removeprefix(above).strip("/")
            folders.setdefault(above, []).append((member, remote_state(info)))
            continue
        name = names.file(base_name)
        if name is not None:
            location = replace(place, url=f"{url}/{relative}", path=path)
            yield _Match(folder, location, remote_state(info), name)
        elif base_name.endswith(names.endings):
            result.see_other(relative)
    for relative, states in folders.items():
        folder, _, base_name = relative.rpartition("/")
        location = replace(
            place, url=f"{url}/{relative}", path=f"{prefix}/{relative}", is_folder=True
        )
        yield _Match(folder, location, joined_state(states), names.named_directly(base_name))


def _trace_folder(folder: str, names: TraceNames) -> str | None:
    """The outermost part of a path that is a folder which is a trace."""
    parts = folder.split("/") if names.folders else []
    depths = (depth for depth, part in enumerate(parts, 1) if names.folder(part) is not None)
    depth = next(depths, None)
    return None if depth is None else "/".join(parts[:depth])


def _spans_of_run(run: str, matches: Iterable[_Match]) -> list[SpanFile]:
    workers: dict[str, dict[str | None, list[_Match]]] = {}
    for match in matches:
        name = match.name
        workers.setdefault(name.worker, {}).setdefault(name.stamp, []).append(match)
    spans: list[SpanFile] = []
    for worker in sorted(workers, key=natural_key):
        by_stamp = workers[worker]
        stamped = sorted((s for s in by_stamp if s is not None), key=natural_key)
        numbered = [(str(n), by_stamp[stamp]) for n, stamp in enumerate(stamped, 1)]
        if None in by_stamp:
            numbered.insert(0, (DEFAULT_SPAN, by_stamp[None]))
        for span, of_span in numbered:
            spans.extend(
                SpanFile(run, worker, span_name, match.location, match.state)
                for span_name, match in _told_apart(span, of_span)
            )
    return spans


def _told_apart(span: str, matches: list[_Match]) -> Iterator[tuple[str, _Match]]:
    """Names for files of one worker and stamp: the plain one keeps the number."""
    taken: set[str] = set()
    for match in sorted(matches, key=lambda match: match.location.path):
        name = span
        if name in taken:
            name = f"{span}-gz" if match.location.path.endswith(".gz") else f"{span}-2"
        while name in taken:
            name += "+"
        taken.add(name)
        yield name, match


def no_traces(place: Location, names: TraceNames, discovery: Discovery) -> StorageError:
    """What to tell of a folder that holds no trace."""
    hint = f"Looked for {names.shown} in it and all folders below."
    if discovery.unfinished:
        hint += f" {discovery.unfinished[0]} is being written and appears when it is done."
    if discovery.others:
        # Any JSON may be a trace; what says so in its name is more likely one.
        likely = sorted(discovery.others, key=lambda file: "trace" not in file.rpartition("/")[2])
        hint += f" Other files ({', '.join(likely[:3])}) may open when named directly."
    hint += "".join(f" {note}" for note in discovery.left_out[:3])
    return StorageError("no_traces", f"{place.url} holds no trace.", hint)
