"""Finding traces: a folder tree becomes runs, workers and spans.

Follows peer-behaviour §1: each folder that holds trace files is a run; a file's name gives
worker and stamp; a worker's stamps in order are its spans 1, 2, 3 …; a file without stamp is
the span ``default``. Mended: stamps order as numbers; ``.json`` and ``.json.gz`` of one stamp
are two spans (``1`` and ``1-gz``); one unreadable folder does not hide the others.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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
    local_state,
    remote_state,
    valid_text,
)
from torch_tb_profiler.storage.names import (
    TraceName,
    natural_key,
    parse_trace_name,
    worker_of_any_name,
)

_LOGGER = logging.getLogger(__name__)

DEFAULT_SPAN = "default"
MAX_LEFT_OUT = 20
"""Sentences kept about what was left out; more would hide the first ones."""


@dataclass(frozen=True, slots=True)
class SpanFile:
    """One trace file in its place: run name, worker name, span name, and its state when found."""

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
        other_json: Names of the first few ``*.json`` files whose names are not those of traces.
    """

    files: list[SpanFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    other_json: list[str] = field(default_factory=list)

    def leave_out(self, sentence: str) -> None:
        """Remember one more thing that was left out."""
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(sentence)

    def see_other(self, name: str, shown: str) -> None:
        """Remember a file that does not have the name of a trace, if it might be one."""
        if name.endswith((".json", ".json.gz")) and len(self.other_json) < MAX_LEFT_OUT:
            self.other_json.append(shown)


@dataclass(frozen=True, slots=True)
class _Found:
    folder: str  # relative to the logdir, "/" between parts, "" for the logdir itself
    location: Location
    state: FileState


def discover(place: Location, finished: FinishedFiles | None = None) -> Discovery:
    """All traces of a logdir, or the one file that ``place`` is.

    Local folders are walked once each and no folder link is followed: a link into the logdir
    leads to what is listed anyway, and one out of it is out of bounds. Remote ones, files too,
    cost one recursive listing.

    Args:
        place: The logdir, or a remote file.
        finished: Leaves out the files that it knows to be written still; None takes all.

    Raises:
        StorageError: ``place`` does not exist or cannot be listed at all.
    """
    result = Discovery()
    by_run: dict[str, list[_Found]] = {}
    if place.filesystem is None:
        found = _local_files(place, result, finished)
    else:
        listing = _remote_listing(place, result)
        if place.path.rstrip("/") in listing:
            return Discovery(files=[single_file(place)])
        found = _remote_files(place, listing, result)
    for item in found:
        by_run.setdefault(item.folder, []).append(item)
    if "" in by_run:
        own_name = "." if place.name in by_run else place.name or "."
        by_run[own_name] = by_run.pop("")
    for run in sorted(by_run, key=natural_key):
        result.files.extend(_spans_of_run(run, by_run[run]))
    return result


def single_file(location: Location) -> SpanFile:
    """The span that a directly named file is, whatever its name.

    Raises:
        StorageError: it is missing, unreadable or no regular file.
    """
    name = worker_of_any_name(location.name)
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


def _local_files(
    place: Location, result: Discovery, finished: FinishedFiles | None
) -> Iterator[_Found]:
    root = os.path.realpath(place.path)
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(os.path.join(root, folder) if folder else root) as entries:
                listed = list(entries)
        except OSError as error:
            shown = f"{place.url}/{valid_text(folder)}" if folder else place.url
            problem = from_os_error(error, shown)
            if not folder:
                raise problem from error
            result.leave_out(problem.message)
            continue
        for entry in listed:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                    continue
                file = _local_file(entry, folder, root, result, finished)
            except OSError as error:  # it went, or became something else, since it was listed
                result.leave_out(from_os_error(error, valid_text(path)).message)
                continue
            if file is not None:
                yield file


def _local_file(
    entry: os.DirEntry[str],
    folder: str,
    root: str,
    result: Discovery,
    finished: FinishedFiles | None,
) -> _Found | None:
    """The trace that ``entry`` is, if it is one and done.

    Raises:
        OSError: it cannot be looked at.
    """
    shown = valid_text(f"{folder}/{entry.name}" if folder else entry.name)
    if entry.is_symlink() and not is_inside(entry.path, root):
        if parse_trace_name(entry.name) is not None or os.path.isdir(entry.path):
            result.leave_out(f"{shown} is a link that leads out of the logdir; not followed.")
        return None
    if parse_trace_name(entry.name) is None:
        result.see_other(entry.name, shown)
        return None
    status = entry.stat()
    if not stat.S_ISREG(status.st_mode):
        return None
    if finished is not None and not finished.is_finished(entry.path, status):
        result.unfinished.append(shown)
        return None
    location = Location(url=valid_text(entry.path), path=entry.path, root=root)
    return _Found(valid_text(folder).replace(os.sep, "/"), location, local_state(status))


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


def _remote_files(
    place: Location, listing: dict[str, dict[str, Any]], result: Discovery
) -> Iterator[_Found]:
    prefix, url = place.path.rstrip("/"), place.url.rstrip("/")
    for path, info in listing.items():
        relative = path.removeprefix(prefix).strip("/")
        folder, _, name = relative.rpartition("/")
        if parse_trace_name(name) is None:
            result.see_other(name, relative)
            continue
        location = Location(f"{url}/{relative}", path, place.filesystem)
        yield _Found(folder, location, remote_state(info))


def _spans_of_run(run: str, found: Iterable[_Found]) -> list[SpanFile]:
    workers: dict[str, dict[str | None, list[_Found]]] = {}
    for item in found:
        name = parse_trace_name(item.location.name) or TraceName(item.location.name, None)
        workers.setdefault(name.worker, {}).setdefault(name.stamp, []).append(item)
    spans: list[SpanFile] = []
    for worker in sorted(workers, key=natural_key):
        by_stamp = workers[worker]
        stamped = sorted((s for s in by_stamp if s is not None), key=natural_key)
        numbered = [(str(n), by_stamp[stamp]) for n, stamp in enumerate(stamped, 1)]
        if None in by_stamp:
            numbered.insert(0, (DEFAULT_SPAN, by_stamp[None]))
        for span, items in numbered:
            spans.extend(
                SpanFile(run, worker, name, item.location, item.state)
                for name, item in _told_apart(span, items)
            )
    return spans


def _told_apart(span: str, items: list[_Found]) -> Iterator[tuple[str, _Found]]:
    """Names for files of one worker and stamp: the plain one keeps the number."""
    taken: set[str] = set()
    for item in sorted(items, key=lambda item: item.location.path):
        name = span
        if name in taken:
            name = f"{span}-gz" if item.location.path.endswith(".gz") else f"{span}-2"
        while name in taken:
            name += "+"
        taken.add(name)
        yield name, item


def no_traces(place: Location, discovery: Discovery) -> StorageError:
    """What to tell of a folder that holds no trace."""
    hint = "Looked for *.pt.trace.json and *.pt.trace.json.gz in it and all folders below."
    if discovery.unfinished:
        hint += f" {discovery.unfinished[0]} is being written and appears when it is done."
    if discovery.other_json:
        names = ", ".join(discovery.other_json[:3])
        hint += f" Other JSON files ({names}) open when named directly."
    if discovery.left_out:
        hint += " " + " ".join(discovery.left_out[:3])
    return StorageError("no_traces", f"{place.url} holds no trace.", hint)
