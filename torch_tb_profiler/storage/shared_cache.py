"""A cache that many machines share: entries as objects of a bucket, behind each one's own folder.

An entry is one gzipped tar under ``entries/<key>.tar.gz``. Stores show an object only when all of
it is there, so that a reader sees an entry or none. Nothing here removes what is not broken: give
the bucket a lifecycle rule. Who may write into the bucket decides what others see; let only those
write whom you trust.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tarfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip

from torch_tb_profiler.storage.cache_folder import (
    CACHE_VARIABLE,
    CacheFolder,
    default_cache_folder,
    user_cache_folder,
)
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.locations import (
    Location,
    can_read_ranges,
    is_url,
    open_location,
    read_chunks,
)

_LOGGER = logging.getLogger(__name__)

_open_gzip = cast("Callable[..., BinaryIO]", igzip.open)  # it has no types

_PLAIN_NAME = re.compile(r"\w[\w.-]*")

COMPRESSION_LEVEL = 1
"""Columns shrink to a quarter at half a gigabyte a second; higher levels gain little."""


def open_cache(chosen: str | os.PathLike[str] | None = None) -> CacheFolder:
    """The cache at a path or URL; None for the user's own, or ``$TORCH_TB_PROFILER_CACHE_DIR``.

    Raises:
        StorageError: the URL cannot be opened.
    """
    named = os.fspath(chosen) if chosen is not None else os.environ.get(CACHE_VARIABLE, "")
    if is_url(named):
        return SharedCacheFolder(open_location(named), user_cache_folder())
    return CacheFolder(Path(named).expanduser() if named else default_cache_folder())


class SharedCacheFolder(CacheFolder):
    """Entries of a bucket, each kept in the local folder ``root`` as well once it was used."""

    def __init__(self, bucket: Location, root: Path) -> None:
        super().__init__(root)
        self._bucket = bucket
        self._sent: set[str] = set()

    def find(self, key: str) -> Path | None:
        """The folder kept under ``key`` here, or fetched from the bucket; None without one."""
        entry = super().find(key)
        if entry is not None:
            return entry
        try:
            self._with_file(key, lambda file: self._fetch(key, file))
        except StorageError as error:
            if error.code != "not_found":
                _LOGGER.warning("the shared cache is not read: %s", error.message)
        except (OSError, EOFError, tarfile.TarError, ValueError) as error:
            _LOGGER.warning("entry %s of %s is broken: %s", key, self._bucket.url, error)
            self._remove(key)
        return super().find(key)

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Keep the entry here and in the bucket.

        Returns:
            False when it is not kept here; what goes wrong with the bucket is logged.
        """
        kept = super().store(key, write)
        self._send_entry(key)
        return kept

    def share(self, key: str) -> bool:
        """Make sure that the bucket has the entry that is here: ask once, and send it if not.

        Returns:
            True when the bucket has it now. What goes wrong with the bucket is logged.
        """
        if key in self._sent:
            return True
        target = self._object(key)
        try:
            with remote_errors(target.url):
                target.filesystem.info(target.path)
        except StorageError as error:
            if error.code != "not_found":
                _LOGGER.warning("the parsed trace is not shared: %s", error.message)
                return False
            return self._send_entry(key)
        return True

    def was_sent(self, key: str) -> bool:
        """Whether this object has put the entry into the bucket."""
        return key in self._sent

    def _send_entry(self, key: str) -> bool:
        """Put the entry that is here into the bucket; False when that fails or there is none."""
        entry = super().find(key)
        if entry is None:
            return False
        try:
            self._with_file(key, lambda file: self._send(key, entry, file))
        except (StorageError, OSError) as error:
            _LOGGER.warning("the parsed trace is not shared: %s", error)
            return False
        self._sent.add(key)
        return True

    def discard(self, key: str) -> None:
        """Remove a broken entry here and from the bucket."""
        super().discard(key)
        self._remove(key)

    def _object(self, key: str) -> Location:
        below = f"/entries/{key}.tar.gz"
        place = self._bucket
        return Location(
            place.url.rstrip("/") + below, place.path.rstrip("/") + below, place.filesystem
        )

    def _with_file(self, key: str, use: Callable[[Path], None]) -> None:
        """Call ``use`` with the path of a temporary file, and remove it afterwards."""
        file = self.root / "tmp" / f"{key}-{uuid.uuid4().hex}.tar.gz"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            use(file)
        finally:
            file.unlink(missing_ok=True)

    def _fetch(self, key: str, file: Path) -> None:
        with file.open("wb") as packed:
            packed.writelines(read_chunks(self._object(key)))
        super().store(key, lambda folder: unpack(file, folder))

    def _send(self, key: str, entry: Path, file: Path) -> None:
        pack(entry, file)
        target = self._object(key)
        with remote_errors(target.url):
            filesystem = target.filesystem
            if can_read_ranges(filesystem):
                filesystem.put_file(str(file), target.path)
                return
            unfinished = f"{target.path}.{uuid.uuid4().hex}"
            filesystem.makedirs(target.path.rpartition("/")[0], exist_ok=True)
            filesystem.put_file(str(file), unfinished)
            filesystem.mv(unfinished, target.path)

    def _remove(self, key: str) -> None:
        target = self._object(key)
        try:
            with remote_errors(target.url):
                target.filesystem.rm_file(target.path)
        except StorageError as error:
            _LOGGER.debug("not removed: %s", error.message)


def pack(folder: Path, file: Path) -> None:
    """Write the files of ``folder`` into the gzipped tar ``file``.

    Raises:
        OSError: one of them cannot be read or written.
    """
    with (
        _open_gzip(file, "wb", compresslevel=COMPRESSION_LEVEL) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name, recursive=False)


def unpack(file: Path, folder: Path) -> None:
    """Write the files of the gzipped tar ``file`` into ``folder``, and nowhere else.

    Raises:
        ValueError: a member is no plain file directly in the folder.
        OSError, EOFError, tarfile.TarError: it is damaged or cannot be written.
    """
    with _open_gzip(file, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            is_plain = member.isreg() and _PLAIN_NAME.fullmatch(member.name)
            source = tar.extractfile(member) if is_plain else None
            if source is None:
                raise ValueError(f"it holds {member.name!r}, which no entry has")
            with (folder / member.name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
