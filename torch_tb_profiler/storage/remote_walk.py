"""Find traces below a prefix of a remote store: one recursive listing, whatever it contains."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from torch_tb_profiler.storage.deadlines import (
    LISTING_LIMITS,
    call,
    remote_timeout_s,
    report_progress,
    request,
    store_key,
)
from torch_tb_profiler.storage.errors import from_remote_error, no_bucket_error, remote_errors
from torch_tb_profiler.storage.format_detection import UNREADABLE, Candidate
from torch_tb_profiler.storage.locations import (
    FileState,
    Location,
    can_read_ranges,
    combine_states,
    remote_state,
)
from torch_tb_profiler.storage.names import TraceNames
from torch_tb_profiler.storage.skipped_files import SkippedFiles
from torch_tb_profiler.storage.trace_files import MemberFile, NamedTrace, UnnamedFile

_LOGGER = logging.getLogger(__name__)


def list_objects(root: Location, skipped: SkippedFiles) -> dict[str, dict[str, Any]]:
    """Path → info of every object below ``root``, or of the one object that it is."""
    filesystem = root.filesystem
    with remote_errors(root.url):
        filesystem.invalidate_cache(root.path)
        try:
            listing = _find_below(root, skipped)
        except FileNotFoundError:
            check_bucket(root)
            raise
        if not listing:
            check_bucket(root)
            if not request(filesystem, "exists", root.path):
                raise FileNotFoundError(root.path)
        # adlfs answers for a single file with a list of its path.
        return listing if isinstance(listing, dict) else {path: {} for path in listing}


def _find_below(root: Location, skipped: SkippedFiles) -> Any:
    """The store's recursive listing of ``root``, within the deadline of a listing."""
    filesystem, total_s = root.filesystem, LISTING_LIMITS * remote_timeout_s()
    if getattr(filesystem, "async_impl", False):
        return request(filesystem, "find", root.path, total_s=total_s, detail=True)
    return call(
        store_key(filesystem), lambda: _list_by_folder(root, skipped), remote_timeout_s(), total_s
    )


def _list_by_folder(root: Location, skipped: SkippedFiles) -> dict[str, dict[str, Any]]:
    """Recursive listing of a store that lists folder by folder; a folder that cannot be listed is
    skipped."""
    listing: dict[str, dict[str, Any]] = {}
    pending = [root.path]
    while pending:
        folder = pending.pop()
        try:
            entries = root.filesystem.ls(folder, detail=True)
        except OSError as error:
            if folder == root.path:
                if root.filesystem.isfile(folder):
                    return {folder.rstrip("/"): {}}
                raise
            below = folder.removeprefix(root.path.rstrip("/"))
            problem = from_remote_error(error, f"{root.url.rstrip('/')}{below}")
            skipped.report(below.strip("/"), UNREADABLE, problem.message)
            continue
        report_progress()
        for entry in entries:
            path = entry["name"].rstrip("/")
            if entry["type"] != "directory":
                listing[path] = entry
            elif path != folder.rstrip("/"):
                pending.append(path)
    return listing


def check_bucket(root: Location) -> None:
    """Distinguish a missing bucket from a missing prefix, where the store allows looking at
    buckets.

    Raises:
        StorageError: the bucket does not exist.
    """
    if not can_read_ranges(root.filesystem):
        return
    bucket = root.path.strip("/").partition("/")[0]
    try:
        request(root.filesystem, "info", bucket)
    except FileNotFoundError as error:
        raise no_bucket_error(root.url, bucket) from error
    except Exception as error:  # clients share no base class; reading may be allowed all the same
        _LOGGER.debug("bucket %s cannot be looked at: %s", bucket, type(error).__name__)


def classify_objects(
    root: Location, names: TraceNames, listing: dict[str, dict[str, Any]]
) -> Iterator[NamedTrace | MemberFile | UnnamedFile]:
    """Every trace of a listing, and every file that may be one."""
    prefix, url = root.path.rstrip("/"), root.url.rstrip("/")
    folders: dict[str, list[tuple[str, FileState]]] = {}
    trace_folders = _trace_folders(prefix, names, listing)
    for path, info in listing.items():
        relative = path.removeprefix(prefix).strip("/")
        folder, _, base_name = relative.rpartition("/")
        ancestor = next(
            (ancestor for ancestor in _ancestors(folder) if ancestor in trace_folders), None
        )
        if ancestor is not None:
            member = relative.removeprefix(ancestor).strip("/")
            folders.setdefault(ancestor, []).append((member, remote_state(info)))
            continue
        name = names.parse_file(base_name)
        location = replace(root, url=f"{url}/{relative}", path=path)
        member_name = names.parse_member(base_name) if name is None else None
        if member_name is not None:
            above_url = f"{url}/{folder}".rstrip("/")
            trace_folder = replace(root, url=above_url, path=f"{prefix}/{folder}".rstrip("/"))
            yield MemberFile(folder, trace_folder, remote_state(info), base_name, member_name)
        elif name is not None:
            yield NamedTrace(folder, location, remote_state(info), name)
        elif names.is_inspected(base_name):
            yield UnnamedFile(folder, Candidate(relative, location, remote_state(info)))
    for relative, states in folders.items():
        folder, _, base_name = relative.rpartition("/")
        location = replace(
            root, url=f"{url}/{relative}", path=f"{prefix}/{relative}", is_folder=True
        )
        yield NamedTrace(folder, location, combine_states(states), names.parse_any(base_name))


def names_in_folder(listing: Iterable[str], folder: str) -> set[str]:
    """The names directly in a folder of a listing."""
    prefix = f"{folder.rstrip('/')}/"
    below = (path.removeprefix(prefix) for path in listing if path.startswith(prefix))
    return {path.partition("/")[0] for path in below}


def _trace_folders(prefix: str, names: TraceNames, listing: Iterable[str]) -> set[str]:
    """The folders of a listing that are one trace each, as paths below ``prefix``."""
    contents: dict[str, set[str]] = {}
    for path in listing if names.folders else ():
        relative = path.removeprefix(prefix).strip("/")
        for ancestor in _ancestors(relative.rpartition("/")[0]):
            if names.parse_folder(ancestor.rpartition("/")[2]) is not None:
                contents.setdefault(ancestor, set()).add(
                    relative[len(ancestor) + 1 :].partition("/")[0]
                )
    return {
        folder
        for folder, names_inside in contents.items()
        if names.parse_folder(folder.rpartition("/")[2], partial(iter, names_inside)) is not None
    }


def _ancestors(folder: str) -> list[str]:
    """A folder and all its parents, the outermost first."""
    parts = folder.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
