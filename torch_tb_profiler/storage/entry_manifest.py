"""The manifest of a cache entry: a file, written last, with name, size and checksum of every other.

A folder is an entry only as long as its manifest matches: nothing is missing, added, changed or
taken from another entry. That is verified before any library reads the files, because fast column
readers trust their lengths. The checksum protects against accidents; against deliberate changes
entries are signed (``signing.py``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import TypeVar

from isal import isal_zlib

MANIFEST = "entry.json"
MAX_MANIFEST_BYTES = 1 << 20
"""Of an entry with thousands of files; there are some fifteen."""

_VERSION = 1
_CHUNK_BYTES = 256 << 10
"""Fits a core's own cache, so that a checksum takes 12 ms for 100 MB."""

_PANIC_MODULE = "pyo3_runtime"
"""Module of the exceptions that Rust libraries raise instead of ending the process; they do not
derive from ``Exception``."""

T = TypeVar("T")
Sizes = dict[str, tuple[int, int]]
"""Size and checksum by file name."""


class BrokenEntryError(Exception):
    """A folder is not the expected entry, or cannot be read."""


def seal(folder: Path, name: str) -> None:
    """Write the manifest that makes the files of ``folder`` the entry ``name``. Nothing may be
    written there afterwards.

    Raises:
        OSError: the folder cannot be read or written.
    """
    files = {
        file.name: _size_and_checksum(file) for file in folder.iterdir() if file.name != MANIFEST
    }
    body = json.dumps({"version": _VERSION, "name": name, "files": files}).encode()
    (folder / MANIFEST).write_bytes(_checksum_line(body) + body)


def verify_sizes(folder: Path, name: str) -> Sizes:
    """Verify that ``folder`` has the files of the entry ``name`` with their recorded sizes; cheap.

    Returns:
        Size and checksum by file name, from the manifest.

    Raises:
        BrokenEntryError: it does not.
        OSError: it cannot be read.
    """
    files = _read_manifest(folder, name)
    with os.scandir(folder) as present:
        sizes = {
            file.name: file.stat(follow_symlinks=False).st_size
            if file.is_file(follow_symlinks=False)
            else -1
            for file in present
            if file.name != MANIFEST
        }
    if sizes != {file: size for file, (size, _) in files.items()}:
        raise BrokenEntryError(f"{folder}: files are missing, added or of another size")
    return files


def verify(folder: Path, name: str, sizes: Sizes | None = None) -> None:
    """Verify every byte of the entry ``name`` in ``folder``.

    Args:
        folder: The entry.
        name: Its expected name.
        sizes: The result of :func:`verify_sizes`, if that was just called.

    Raises:
        BrokenEntryError: it does not match its manifest.
        OSError: it cannot be read.
    """
    for file, expected in (sizes or verify_sizes(folder, name)).items():
        if _size_and_checksum(folder / file) != expected:
            raise BrokenEntryError(f"{folder / file} was changed")


def read_entry(folder: Path, name: str, read: Callable[[Path], T], sizes: Sizes | None = None) -> T:
    """The result of ``read`` for the entry ``name`` in ``folder``; ``sizes`` as in :func:`verify`.

    Raises:
        BrokenEntryError: it is incomplete, or cannot be read for any reason, so the caller can
            create it again. Panics of libraries count as well.
    """
    try:
        verify(folder, name, sizes)
        return read(folder)
    except BrokenEntryError:
        raise
    except Exception as error:
        raise BrokenEntryError(f"{folder}: {type(error).__name__}: {error}") from error
    except BaseException as error:
        if type(error).__module__ != _PANIC_MODULE:
            raise
        raise BrokenEntryError(f"{folder} made a library panic: {error}") from error


def _read_manifest(folder: Path, name: str) -> Sizes:
    """The content of the manifest.

    Raises:
        BrokenEntryError: it is missing, damaged, or that of another entry.
        OSError: it cannot be read.
    """
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise BrokenEntryError(f"{folder} has no {MANIFEST}")
    with path.open("rb") as file:
        text = file.read(MAX_MANIFEST_BYTES)
    line, _, body = text.partition(b"\n")
    if line + b"\n" != _checksum_line(body):
        raise BrokenEntryError(f"{path} was changed")
    try:
        manifest = json.loads(body)
        owner = manifest["version"], manifest["name"]
        files = {file: (int(size), int(crc)) for file, (size, crc) in manifest["files"].items()}
    except Exception as error:  # a forged manifest can fail in many ways
        raise BrokenEntryError(f"{path} is not a manifest") from error
    if owner != (_VERSION, name):
        raise BrokenEntryError(f"{path} belongs to another entry")
    return files


def _checksum_line(body: bytes) -> bytes:
    """The first line of a manifest: the checksum of the rest."""
    return f"{isal_zlib.crc32(body):08x}\n".encode()


def _size_and_checksum(path: Path) -> tuple[int, int]:
    """Size and checksum of a file."""
    size_bytes, crc = 0, 0
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with FileIO(path) as file:
        while count := file.readinto(buffer):
            size_bytes += count
            crc = isal_zlib.crc32(buffer[:count], crc)
    return size_bytes, crc
