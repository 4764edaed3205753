"""Locations: a local path or any URL that fsspec knows, their states, and how their bytes are
read."""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.storage.cloud import connect
from torch_tb_profiler.storage.deadlines import (
    LISTING_LIMITS,
    NoAnswerError,
    bytes_timeout_s,
    call,
    remote_timeout_s,
    request,
    store_key,
)
from torch_tb_profiler.storage.errors import (
    ShortRangeError,
    StorageError,
    changed_error,
    from_os_error,
    remote_errors,
)
from torch_tb_profiler.storage.secrets import public_url

CHUNK_BYTES = 4 << 20
"""Bytes read at once: large enough that calls cost nothing, small compared with any trace's
columns."""

FIRST_CHUNK_BYTES = 64 << 10
"""First read of a local file: a caller that inspects only its head need not read all of it."""

_URL = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
"""A protocol has two letters or more, so that ``C:\\runs`` and ``C:/runs`` remain paths."""


MEMBERS_MARK = "#"
"""In the URL of a trace that consists of some files of a folder: separates folder and worker."""


class Location(Struct, frozen=True, eq=False):
    """One file or folder.

    Attributes:
        url: As the user knows it, without secrets; for messages and cache keys.
        path: The path in its filesystem.
        filesystem: An fsspec filesystem, or None for this machine's own files.
        root: Real path of the folder that a local file must not lead out of, or None.
        is_folder: Whether it is a folder that is one trace.
        members: Names of the folder's files that form the trace; empty for all of them.
        variant: Non-default options of reading, as text from their reader. Other options make other
            traces of the same file.
    """

    url: str
    path: str
    filesystem: Any = None
    root: str | None = None
    is_folder: bool = False
    variant: str = ""
    members: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Whether it is the same place, however it is reached."""
        return isinstance(other, Location) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Of what is compared."""
        return hash(self._identity())

    def __repr__(self) -> str:
        """Without the filesystem, whose options hold secrets."""
        return f"Location{self._identity()!r}"

    def _identity(self) -> tuple[object, ...]:
        return self.url, self.path, self.root, self.is_folder, self.variant, self.members

    @property
    def name(self) -> str:
        """The last part of the path, as valid text."""
        if self.filesystem is None:
            return valid_text(os.path.basename(self.path.rstrip(os.sep)))
        return valid_text(self.path.rstrip("/").rpartition("/")[2])


class FileState(Struct, frozen=True, eq=False):
    """State of a file at one moment.

    Attributes:
        size_bytes: Stored size.
        version: Changes whenever the content may have changed.
        is_packed: The store declares it as gzip, whatever its name.
        modified_s: When it was last written, in seconds since 1970; None if unknown. Not part of
            comparisons.
    """

    size_bytes: int
    version: str
    is_packed: bool = False
    modified_s: float | None = None

    def __eq__(self, other: object) -> bool:
        """Whether the content is the same."""
        return isinstance(other, FileState) and self._content() == other._content()

    def __hash__(self) -> int:
        """Of what is compared."""
        return hash(self._content())

    def _content(self) -> tuple[int, str, bool]:
        return self.size_bytes, self.version, self.is_packed


def valid_text(name: str) -> str:
    """A file name as text that can be encoded; undecodable bytes become U+FFFD."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_url(text: str) -> bool:
    """True for ``s3://bucket/x``; false for paths, those of Windows included."""
    return _URL.match(text) is not None


def open_location(url: str) -> Location:
    """The location named by ``url``. Nothing is read; a local path gets ``~`` and ``$VAR``
    expanded.

    Raises:
        StorageError: ``missing_package`` when the protocol needs a package that is not installed,
            ``unreadable`` when fsspec does not know the protocol or refuses the URL.
    """
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if not is_url(url):
        path = os.path.abspath(os.path.expandvars(os.path.expanduser(url)))
        return Location(url=valid_text(path), path=path)
    filesystem, path = connect(url)
    return Location(url=public_url(url), path=path, filesystem=filesystem)


def can_read_ranges(filesystem: Any) -> bool:
    """True for object stores: several requests at once, and any range of an object.

    Plain web servers may support neither ranges nor sizes.
    """
    protocol = filesystem.protocol
    names = (protocol,) if isinstance(protocol, str) else protocol
    return bool(getattr(filesystem, "async_impl", False)) and "http" not in names


def file_state(location: Location) -> FileState:
    """Size and version of a file, from one ``stat`` or one remote ``info`` call; for a folder that
    is a trace, those of all its files.

    Raises:
        StorageError: it is missing, not a regular file, or leads out of its root.
    """
    if location.is_folder:
        return folder_state(location)
    if location.filesystem is None:
        try:
            return _local_state(location)
        except OSError as error:
            raise from_os_error(error, location.url) from error
    with remote_errors(location.url):
        info = request(location.filesystem, "info", location.path)
    if info.get("type") == "directory":
        raise StorageError("not_a_file", f"{location.url} is a folder.")
    return remote_state(info)


def list_files(folder: Location) -> dict[str, Location]:
    """The files of a folder and its subfolders by relative path, sorted.

    Raises:
        StorageError: it cannot be listed.
    """
    if folder.filesystem is None:
        names = folder.members or _walked(folder)
        paths = {name: os.path.join(folder.path, *name.split("/")) for name in names}
    else:
        paths = {name: info["name"] for name, info in _listed(folder).items()}
    file = replace(folder, is_folder=False, members=())
    url = folder.url.partition(MEMBERS_MARK)[0] if folder.members else folder.url
    return {
        name: replace(file, url=valid_text(f"{url.rstrip('/')}/{name}"), path=paths[name])
        for name in sorted(paths)
    }


def members_location(folder: Location, worker: str, members: Iterable[str]) -> Location:
    """The trace formed by some files of a folder.

    Args:
        folder: The folder.
        worker: Distinguishes it from other traces of the folder.
        members: The names of the files.
    """
    url = f"{folder.url.rstrip('/')}{MEMBERS_MARK}{worker}"
    return replace(folder, url=url, is_folder=True, members=tuple(sorted(members)))


def folder_state(folder: Location) -> FileState:
    """The state of a folder that is one trace, from those of its files.

    Raises:
        StorageError: as :func:`file_state`, for one of them.
    """
    if folder.filesystem is None:
        files = list_files(folder).items()
        return combine_states((name, file_state(file)) for name, file in files)
    return combine_states((name, remote_state(info)) for name, info in _listed(folder).items())


def _walked(folder: Location) -> Iterator[str]:
    """Paths of the files of a local folder; links to folders are not followed."""

    def refuse(error: OSError) -> None:
        raise from_os_error(error, folder.url) from error

    for path, _, names in os.walk(folder.path, onerror=refuse):
        below = os.path.relpath(path, folder.path).replace(os.sep, "/")
        yield from (name if below == "." else f"{below}/{name}" for name in names)


def _listed(folder: Location) -> dict[str, dict[str, Any]]:
    """Path relative to a remote folder → the store's info of the file."""
    total_s = LISTING_LIMITS * remote_timeout_s()
    with remote_errors(folder.url):
        listing = request(folder.filesystem, "find", folder.path, total_s=total_s, detail=True)
    prefix = folder.path.rstrip("/")
    named = {path.removeprefix(prefix).strip("/"): info for path, info in listing.items()}
    return {name: info for name, info in named.items() if name in (folder.members or named)}


def combine_states(states: Iterable[tuple[str, FileState]]) -> FileState:
    """The state of a folder with these files and states."""
    size_bytes, version = 0, hashlib.sha256()
    modified_s: float | None = None
    for name, state in sorted(states, key=itemgetter(0)):
        if state.modified_s is not None:
            modified_s = max(state.modified_s, modified_s or 0.0)
        size_bytes += state.size_bytes
        line = f"{name}\0{state.size_bytes}\0{state.version}\n"
        version.update(line.encode("utf-8", "surrogatepass"))  # Linux allows any bytes in names
    return FileState(size_bytes, version.hexdigest(), modified_s=modified_s)


def _local_state(location: Location) -> FileState:
    if location.root is not None and not is_inside(location.path, location.root):
        raise StorageError(
            "outside_logdir",
            f"{location.url} is a link that leads out of the logdir.",
            "Copy the file into the logdir, or open its real folder.",
        )
    status = os.stat(location.path)
    if not stat.S_ISREG(status.st_mode):
        raise StorageError("not_a_file", f"{location.url} is not a regular file.")
    return local_state(status)


def local_state(status: os.stat_result) -> FileState:
    """State from a ``stat``; the change time catches a rewrite that keeps size and date."""
    version = f"{status.st_mtime_ns}-{status.st_ctime_ns}"
    return FileState(status.st_size, version, modified_s=status.st_mtime)


def remote_state(info: dict[str, Any]) -> FileState:
    """State from an fsspec ``info``: etag or generation if the store has one, else the date."""
    size, is_packed = int(info.get("size") or 0), info.get("contentEncoding") == "gzip"
    for key in ("ETag", "etag", "generation", "md5", "LastModified", "last_modified", "mtime"):
        if info.get(key) is not None:
            # Azure quotes an etag in some answers and not in others.
            version = f"{key}={info[key]}".replace('"', "")
            return FileState(size, version, is_packed, _modified_s(info))
    return FileState(size, f"created={info.get('created')}", is_packed, _modified_s(info))


def _modified_s(info: dict[str, Any]) -> float | None:
    """When an object was last written; each store has its own key and format."""
    for key in ("LastModified", "last_modified", "updated", "mtime", "modified", "created"):
        value = info.get(key)
        if isinstance(value, str):
            with suppress(ValueError):
                value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
        if isinstance(value, int | float):
            return float(value)
    return None


def is_inside(path: str, root: str) -> bool:
    """True if ``path``, links resolved, lies in the folder whose real path is ``root``."""
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def read_chunks(
    location: Location, chunk_bytes: int = CHUNK_BYTES, state: FileState | None = None
) -> Iterator[bytes]:
    """The stored bytes of a file in order, at most ``chunk_bytes`` at a time.

    For a cloud object several chunks are in flight while one is used. ``state`` is its known state;
    None requests it.

    Raises:
        StorageError: as :func:`file_state`; reading fails on the way; a cloud object was deleted or
            its size changed meanwhile.
    """
    if state is None:
        state = file_state(location)
    if location.filesystem is not None:
        with remote_errors(location.url):
            yield from _remote_chunks(location, state, chunk_bytes)
        return
    try:
        with io.FileIO(location.path) as file:
            size_bytes = min(FIRST_CHUNK_BYTES, chunk_bytes)
            while chunk := file.read(size_bytes):
                yield chunk
                size_bytes = chunk_bytes
    except OSError as error:
        raise from_os_error(error, location.url) from error


def _remote_chunks(location: Location, state: FileState, chunk_bytes: int) -> Iterator[bytes]:
    filesystem, path = location.filesystem, location.path
    if not can_read_ranges(filesystem):
        yield from _streamed_chunks(filesystem, path, chunk_bytes)
        return
    read_ahead = importlib.import_module("torch_tb_profiler.storage.read_ahead")  # loads asyncio
    try:
        yield from read_ahead.read_ranges(filesystem, path, state.size_bytes, chunk_bytes)
    except (ShortRangeError, FileNotFoundError) as error:
        raise changed_error(location.url) from error


def _streamed_chunks(filesystem: Any, path: str, chunk_bytes: int) -> Iterator[bytes]:
    """The bytes of a file of a store that is read sequentially."""
    key, limit_s = store_key(filesystem), bytes_timeout_s(chunk_bytes)
    stream = call(key, lambda: filesystem.open(path, "rb", block_size=chunk_bytes))
    try:
        while chunk := call(key, lambda: stream.read(chunk_bytes), limit_s):
            yield chunk
    finally:
        with suppress(NoAnswerError):
            call(key, stream.close)
