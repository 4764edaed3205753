"""Pack a cache entry into one file, a gzipped tar, and unpack it within limits.

Only the part of tar that entries need is read, because whoever can write to the bucket controls the
content: headers that :mod:`tarfile` follows by itself can hold names of gigabytes, links and
devices.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip

from torch_tb_profiler.storage.entry_manifest import BrokenEntryError

_open_gzip = cast("Callable[..., BinaryIO]", igzip.open)  # it has no types

COMPRESSION_LEVEL = 1
"""Columns shrink to a quarter at half a gigabyte per second; higher levels gain little."""

MAX_FILES = 100
"""Six times as many as an entry has."""

_PLAIN_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)
_CHUNK_BYTES = 1 << 20


def pack(folder: Path, packed: BinaryIO) -> None:
    """Write the files of ``folder`` to ``packed``.

    Raises:
        OSError: one of them cannot be read or written.
    """
    with (
        _open_gzip(packed, "wb", compresslevel=COMPRESSION_LEVEL) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name, recursive=False, filter=_without_user)


def _without_user(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove who wrote the entry."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(packed: BinaryIO, folder: Path, max_bytes: int) -> None:
    """Write the files in ``packed`` into ``folder``, and nowhere else.

    Raises:
        BrokenEntryError: it is damaged, holds more than ``max_bytes`` or :data:`MAX_FILES` files,
            or something that is not a file directly in the folder.
        OSError: a file cannot be written.
    """
    names: set[str] = set()
    left_bytes = max_bytes
    with _open_gzip(packed, "rb") as stream:
        while (member := _next_member(stream)) is not None:
            if not member.isreg() or not _PLAIN_NAME.fullmatch(member.name) or member.name in names:
                raise BrokenEntryError(f"it holds {member.name[:200]!r}, unlike any entry")
            names.add(member.name)
            left_bytes -= member.size
            if left_bytes < 0 or len(names) > MAX_FILES:
                raise BrokenEntryError(f"it holds more than {max_bytes} bytes or {MAX_FILES} files")
            with (folder / member.name).open("wb") as file:
                for size in _chunk_sizes(member.size):
                    file.write(_read(stream, size))
            _read(stream, -member.size % tarfile.BLOCKSIZE)


def _next_member(stream: BinaryIO) -> tarfile.TarInfo | None:
    """The next header; None at the end.

    Raises:
        BrokenEntryError: it is not a header.
    """
    block = _read(stream, tarfile.BLOCKSIZE)
    if not any(block):
        return None
    try:
        member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.TarError, ValueError) as error:
        raise BrokenEntryError(f"it is not a tar file: {error}") from error
    if member.size < 0:
        raise BrokenEntryError("a file of it has a negative size")
    return member


def _chunk_sizes(size_bytes: int) -> list[int]:
    whole, rest = divmod(size_bytes, _CHUNK_BYTES)
    return [_CHUNK_BYTES] * whole + [rest]


def _read(stream: BinaryIO, size_bytes: int) -> bytes:
    """Exactly ``size_bytes`` bytes.

    Raises:
        BrokenEntryError: the stream is damaged or ends early.
    """
    try:
        content = stream.read(size_bytes)
    except Exception as error:  # each gzip library has its own classes
        raise BrokenEntryError(f"it cannot be unpacked: {error}") from error
    if len(content) < size_bytes:
        raise BrokenEntryError("it is truncated")
    return content
