"""What a store says lies below a prefix: one listing, whatever it holds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from torch_tb_profiler.storage.deadlines import (
    LISTING_LIMITS,
    ask,
    call,
    key_of,
    progressed,
    remote_timeout_s,
)
from torch_tb_profiler.storage.errors import from_remote_error, no_bucket, remote_errors
from torch_tb_profiler.storage.found import Match, Member, Unnamed
from torch_tb_profiler.storage.heads import UNREADABLE, Candidate
from torch_tb_profiler.storage.left_out import LeftOutFiles
from torch_tb_profiler.storage.locations import (
    FileState,
    Location,
    can_read_ranges,
    joined_state,
    remote_state,
)
from torch_tb_profiler.storage.names import TraceNames

_LOGGER = logging.getLogger(__name__)


def remote_listing(place: Location, left_out: LeftOutFiles) -> dict[str, dict[str, Any]]:
    """Path → info of every object below ``place``, or of the one object that it is."""
    filesystem = place.filesystem
    with remote_errors(place.url):
        filesystem.invalidate_cache(place.path)
        try:
            listing = _found_below(place, left_out)
        except FileNotFoundError:
            check_bucket(place)
            raise
        if not listing:
            check_bucket(place)
            if not ask(filesystem, "exists", place.path):
                raise FileNotFoundError(place.path)
        # adlfs answers for a single file with a list of its path.
        return listing if isinstance(listing, dict) else {path: {} for path in listing}


def _found_below(place: Location, left_out: LeftOutFiles) -> Any:
    """What ``find`` says of a place, within the limits of a listing."""
    filesystem, total_s = place.filesystem, LISTING_LIMITS * remote_timeout_s()
    if getattr(filesystem, "async_impl", False):
        return ask(filesystem, "find", place.path, total_s=total_s, detail=True)
    return call(key_of(filesystem), lambda: _walked(place, left_out), remote_timeout_s(), total_s)


def _walked(place: Location, left_out: LeftOutFiles) -> dict[str, dict[str, Any]]:
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
            problem = from_remote_error(error, f"{place.url.rstrip('/')}{below}")
            left_out.tell(below.strip("/"), UNREADABLE, problem.message)
            continue
        progressed()
        for entry in entries:
            path = entry["name"].rstrip("/")
            if entry["type"] != "directory":
                listing[path] = entry
            elif path != folder.rstrip("/"):
                pending.append(path)
    return listing


def check_bucket(place: Location) -> None:
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


def remote_found(
    place: Location, names: TraceNames, listing: dict[str, dict[str, Any]]
) -> Iterator[Match | Member | Unnamed]:
    """Every trace of a listing, and every file that may be one."""
    prefix, url = place.path.rstrip("/"), place.url.rstrip("/")
    folders: dict[str, list[tuple[str, FileState]]] = {}
    are_traces = _trace_folders(prefix, names, listing)
    for path, info in listing.items():
        relative = path.removeprefix(prefix).strip("/")
        folder, _, base_name = relative.rpartition("/")
        above = next((each for each in _with_above(folder) if each in are_traces), None)
        if above is not None:
            member = relative.removeprefix(above).strip("/")
            folders.setdefault(above, []).append((member, remote_state(info)))
            continue
        name = names.file(base_name)
        location = replace(place, url=f"{url}/{relative}", path=path)
        part = names.member(base_name) if name is None else None
        if part is not None:
            above_url = f"{url}/{folder}".rstrip("/")
            whole = replace(place, url=above_url, path=f"{prefix}/{folder}".rstrip("/"))
            yield Member(folder, whole, remote_state(info), base_name, part)
        elif name is not None:
            yield Match(folder, location, remote_state(info), name)
        elif base_name.endswith(names.endings):
            yield Unnamed(folder, Candidate(relative, location, remote_state(info)))
    for relative, states in folders.items():
        folder, _, base_name = relative.rpartition("/")
        location = replace(
            place, url=f"{url}/{relative}", path=f"{prefix}/{relative}", is_folder=True
        )
        yield Match(folder, location, joined_state(states), names.named_directly(base_name))


def held_in(listing: Iterable[str], folder: str) -> set[str]:
    """The names of what lies in a folder of a listing."""
    prefix = f"{folder.rstrip('/')}/"
    below = (path.removeprefix(prefix) for path in listing if path.startswith(prefix))
    return {each.partition("/")[0] for each in below}


def _trace_folders(prefix: str, names: TraceNames, listing: Iterable[str]) -> set[str]:
    """The folders of a listing that are a trace each, by their paths below ``prefix``."""
    held: dict[str, set[str]] = {}
    for path in listing if names.folders else ():
        relative = path.removeprefix(prefix).strip("/")
        for above in _with_above(relative.rpartition("/")[0]):
            if names.folder(above.rpartition("/")[2]) is not None:
                held.setdefault(above, set()).add(relative[len(above) + 1 :].partition("/")[0])
    return {
        folder
        for folder, inside in held.items()
        if names.folder(folder.rpartition("/")[2], partial(iter, inside)) is not None
    }


def _with_above(folder: str) -> list[str]:
    """A folder and all above it, the outermost first."""
    parts = folder.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
