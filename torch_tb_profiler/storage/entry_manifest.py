"""The seal of a cache entry: a file, written last, with name, size and checksum of every other.

A folder is an entry only as long as its seal holds: nothing is missing, added, changed or taken
from another entry. That is looked at before any library gets to see the files, because what reads
columns fast trusts their lengths. The checksum is against accidents; what others may have written
on purpose is signed (``signing.py``).
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
"""Stays in a core's own cache, so that a checksum costs 12 ms for 100 MB."""

_PANIC_MODULE = "pyo3_runtime"
"""Where libraries in Rust keep what they raise instead of ending the process; no ``Exception``."""

T = TypeVar("T")
Sizes = dict[str, tuple[int, int]]
"""Size and checksum by file name."""


class BrokenEntryError(Exception):
    """A folder is not the entry it should be, or cannot be read."""


def seal(folder: Path, name: str) -> None:
    """Make the files of ``folder`` the entry ``name``. Nothing may be written there afterwards.

    Raises:
        OSError: the folder cannot be read or written.
    """
    files = {file.name: _measured(file) for file in folder.iterdir() if file.name != MANIFEST}
    body = json.dumps({"version": _VERSION, "name": name, "files": files}).encode()
    (folder / MANIFEST).write_bytes(_line(body) + body)


def check_sizes(folder: Path, name: str) -> Sizes:
    """Whether ``folder`` has the files of the entry ``name``, each as long as it was; cheap.

    Returns:
        Size and checksum by file name, as the seal has them.

    Raises:
        BrokenEntryError: it has not.
        OSError: it cannot be looked at.
    """
    files = _sealed(folder, name)
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


def check(folder: Path, name: str, sizes: Sizes | None = None) -> None:
    """Whether ``folder`` is the whole entry ``name``, byte by byte.

    Args:
        folder: The entry.
        name: What it should be called.
        sizes: What :func:`check_sizes` has just said of it, if that was asked.

    Raises:
        BrokenEntryError: it is not.
        OSError: it cannot be read.
    """
    for file, expected in (sizes or check_sizes(folder, name)).items():
        if _measured(folder / file) != expected:
            raise BrokenEntryError(f"{folder / file} was changed")


def read_entry(folder: Path, name: str, read: Callable[[Path], T], sizes: Sizes | None = None) -> T:
    """What ``read`` makes of the entry ``name`` in ``folder``; ``sizes`` as in :func:`check`.

    Raises:
        BrokenEntryError: it is not whole, or cannot be read for whatever reason: whoever asks
            can make it again. Panics of libraries count as well.
    """
    try:
        check(folder, name, sizes)
        return read(folder)
    except BrokenEntryError:
        raise
    except Exception as error:
        raise BrokenEntryError(f"{folder}: {type(error).__name__}: {error}") from error
    except BaseException as error:
        if type(error).__module__ != _PANIC_MODULE:
            raise
        raise BrokenEntryError(f"{folder} made a library panic: {error}") from error


def _sealed(folder: Path, name: str) -> Sizes:
    """What the seal says.

    Raises:
        BrokenEntryError: there is none, it is damaged, or it is that of another entry.
        OSError: it cannot be read.
    """
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise BrokenEntryError(f"{folder} has no {MANIFEST}")
    with path.open("rb") as file:
        text = file.read(MAX_MANIFEST_BYTES)
    line, _, body = text.partition(b"\n")
    if line + b"\n" != _line(body):
        raise BrokenEntryError(f"{path} was changed")
    try:
        manifest = json.loads(body)
        owner = manifest["version"], manifest["name"]
        files = {file: (int(size), int(crc)) for file, (size, crc) in manifest["files"].items()}
    except Exception as error:  # whoever writes a false one has many ways
        raise BrokenEntryError(f"{path} is no seal") from error
    if owner != (_VERSION, name):
        raise BrokenEntryError(f"{path} belongs to another entry")
    return files


def _line(body: bytes) -> bytes:
    """The first line of a seal: the checksum of the rest."""
    return f"{isal_zlib.crc32(body):08x}\n".encode()


def _measured(path: Path) -> tuple[int, int]:
    """Size and checksum of a file."""
    size_bytes, crc = 0, 0
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with FileIO(path) as file:
        while count := file.readinto(buffer):
            size_bytes += count
            crc = isal_zlib.crc32(buffer[:count], crc)
    return size_bytes, crc
