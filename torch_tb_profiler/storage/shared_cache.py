"""A cache that many machines share: entries are objects of a bucket, copied into a local folder.

An entry is one gzipped tar, ``entries/<key>.tar.gz``, or ``signed/<name of the signing key>/<key>``
after its signature if a key is set (``signing.py``). Stores show an object only when it is
complete, so that a reader sees an entry or none. Downloads are data of whoever may write to the
bucket: they are bounded and verified before anything reads them. Entries that are not broken are
removed only on request (``bucket_cleaning.py``), or by a lifecycle rule of the bucket.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch_tb_profiler.storage import deadlines
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.bucket_cleaning import clean_bucket
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.cache_location import (
    CACHE_VARIABLE,
    default_cache_folder,
    user_cache_folder,
)
from torch_tb_profiler.storage.entry_manifest import BrokenEntryError, Sizes, verify
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.eviction import CleanResult
from torch_tb_profiler.storage.locations import (
    FileState,
    Location,
    can_read_ranges,
    file_state,
    is_url,
    open_location,
    read_chunks,
)
from torch_tb_profiler.storage.packing import pack, unpack
from torch_tb_profiler.storage.signing import (
    SIGNATURE_BYTES,
    is_signed,
    key_name,
    signature,
    signing_key,
)

_LOGGER = logging.getLogger(__name__)

NOT_FOUND = "not_found"
NOT_RESPONDING = "away"
"""Error code for a bucket that did not answer a moment ago; only the first such error is logged."""

KNOWN_S = 60.0
"""How long a bucket's answer about an entry is reused: opening one file needs it in several
places."""


def open_cache(chosen: str | os.PathLike[str] | None = None) -> CacheFolder:
    """The cache at a path or URL; None for the user's own, or ``$TORCH_TB_PROFILER_CACHE_DIR``.

    Raises:
        StorageError: the URL cannot be opened, or the signing key is too short.
    """
    named = os.fspath(chosen) if chosen is not None else os.environ.get(CACHE_VARIABLE, "")
    if is_url(named):
        location = open_location(named)
        if location.filesystem is None:  # file:///folder
            return CacheFolder(Path(location.path))
        signing_key()
        return SharedCacheFolder(location, user_cache_folder())
    return CacheFolder(Path(os.path.expanduser(named)) if named else default_cache_folder())


class SharedCacheFolder(CacheFolder):
    """Entries of a bucket; each one that was used is also in the local folder ``root``."""

    def __init__(self, bucket: Location, root: Path, *, max_bytes: int | None = None) -> None:
        """Access nothing yet.

        Args:
            bucket: Where the entries are.
            root: The local folder.
            max_bytes: The limit of the folder, and of one entry; None takes that of the
                environment.
        """
        super().__init__(root, max_bytes=max_bytes)
        self._bucket = bucket
        self._uploaded: set[str] = set()
        self._presence: dict[str, tuple[bool, float]] = {}
        self._backoff = Backoff()

    def _find(self, key: str) -> tuple[Path, Sizes] | None:
        """The folder cached under ``key`` here, or downloaded from the bucket; None without one."""
        entry = self._find_local(key)
        if entry is not None:
            return entry
        if self._is_known(key) is False:
            return None
        try:
            self._with_file(key, lambda file: self._fetch(key, file))
        except StorageError as error:
            if error.code not in (NOT_FOUND, NOT_RESPONDING):
                self._log_unread(error)
        except OSError as error:
            _LOGGER.warning("an entry of the shared cache is not stored here: %s", error)
        except BrokenEntryError as error:
            url = self._object(key).url
            _LOGGER.warning("%s is broken and will be created again: %s", url, error)
            self._remove(key)
        return self._find_local(key)

    def holds(self, key: str) -> bool:
        """Whether an entry is cached under ``key`` here or in the bucket, at the cost of one
        request."""
        if self._find_local(key) is not None:
            return True
        known = self._is_known(key)
        if known is not None:
            return known
        try:
            return self._ask(key) is not None
        except StorageError as error:
            if error.code != NOT_RESPONDING:
                self._log_unread(error)
            return False

    def _is_known(self, key: str) -> bool | None:
        """Whether the bucket had the entry a moment ago; None if it was not asked."""
        known = self._presence.get(key)
        if known is None or time.monotonic() - known[1] > KNOWN_S:
            return None
        return known[0]

    def _remember(self, key: str, *, is_present: bool) -> None:
        self._presence[key] = is_present, time.monotonic()

    def _ask(self, key: str) -> FileState | None:
        """State of the object of an entry; None if there is none.

        Raises:
            StorageError: the bucket cannot be read.
        """
        try:
            with self._request():
                state = file_state(self._object(key))
        except StorageError as error:
            if error.code != NOT_FOUND:
                raise
            self._remember(key, is_present=False)
            return None
        self._remember(key, is_present=True)
        return state

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Store the entry here and in the bucket.

        Returns:
            False if it is not stored here; problems with the bucket are logged.
        """
        is_stored = super().store(key, write)
        self._upload_entry(key)
        return is_stored

    def share(self, key: str) -> bool:
        """Make sure that the bucket has the entry that is here: upload it if it is missing.

        Returns:
            True if the bucket has it now. Problems with the bucket are logged.
        """
        if self._is_known(key):
            return True
        try:
            is_present = self._ask(key) is not None
        except StorageError as error:
            self._log_unshared(error)
            return False
        return is_present or self._upload_entry(key)

    def was_uploaded(self, key: str) -> bool:
        """Whether this object has uploaded the entry to the bucket."""
        return key in self._uploaded

    def discard(self, key: str) -> None:
        """Remove a broken entry here and from the bucket."""
        super().discard(key)
        self._remove(key)

    def capacity_notes(self, text_bytes: int) -> list[str]:  # noqa: ARG002  # buckets are large
        """None: only the local folder has a limit, and its entries are copies."""
        return []

    def limit_notes(self, before: Mapping[str, int]) -> list[str]:  # noqa: ARG002
        """That nothing limits the bucket, and its size if the store reports it."""
        super().evict()
        note = (
            f"Entries are not removed from {self.url} automatically: give the bucket a lifecycle "
            "rule, or clean it with 'torch-tb-profiler cache --clean'."
        )
        try:
            cleaned = self.clean()
        except StorageError:
            return [note]
        size_gb = cleaned.remaining_bytes / 1e9
        return [f"{note} Entries in it: {cleaned.remaining}, {size_gb:.3g} GB."]

    def clean(
        self,
        *,
        max_bytes: int | None = None,
        unused_since_s: float | None = None,
        is_dry_run: bool = False,
    ) -> CleanResult:
        """As :meth:`CacheFolder.clean`, of the bucket; a store knows when an entry was written, not
        when it was used."""
        return clean_bucket(
            self._bucket, max_bytes=max_bytes, unused_since_s=unused_since_s, is_dry_run=is_dry_run
        )

    @property
    def url(self) -> str:
        """The bucket, without secrets."""
        return self._bucket.url

    def _object(self, key: str) -> Location:
        signing_secret = signing_key()
        name = (
            f"/entries/{key}.tar.gz"
            if signing_secret is None
            else f"/signed/{key_name(signing_secret)}/{key}"
        )
        location = self._bucket
        return Location(
            location.url.rstrip("/") + name, location.path.rstrip("/") + name, location.filesystem
        )

    def _with_file(self, key: str, use: Callable[[Path], None]) -> None:
        """Call ``use`` with the path of a temporary file, and remove it afterwards."""
        file = self.root / "tmp" / f"{key}-{uuid.uuid4().hex}.tar.gz"
        self._make(file.parent)
        try:
            use(file)
        finally:
            file.unlink(missing_ok=True)

    def _fetch(self, key: str, file: Path) -> None:
        """Download the bucket's entry.

        Raises:
            BrokenEntryError: it is damaged, its signature is wrong, or it is another entry.
            StorageError: it is missing, too large, or cannot be read.
            OSError: there is no space here.
        """
        source = self._object(key)
        state = self._ask(key)
        if state is None:
            return
        if state.size_bytes > self.max_bytes:
            raise self._too_large(source, state.size_bytes)
        size_bytes = 0
        with self._request(), file.open("wb") as packed:
            for chunk in read_chunks(source, state=state):
                size_bytes += len(chunk)
                if size_bytes > self.max_bytes:
                    raise self._too_large(source, size_bytes)
                packed.write(chunk)
        super().store(key, lambda folder: self._unpack(key, file, folder))

    def _unpack(self, key: str, file: Path, folder: Path) -> None:
        signing_secret = signing_key()
        with file.open("rb") as packed:
            if signing_secret is not None:
                if not is_signed(signing_secret, key, packed):
                    raise BrokenEntryError("its signature does not match its content")
                packed.seek(SIGNATURE_BYTES)
            unpack(packed, folder, self.max_bytes)
        verify(folder, key)

    def _too_large(self, source: Location, size_bytes: int) -> StorageError:
        return StorageError(
            "unreadable",
            f"{source.url} has {size_bytes} bytes or more, the limit is {self.max_bytes}.",
        )

    def _upload_entry(self, key: str) -> bool:
        """Upload the local entry to the bucket; False if that fails or there is none."""
        entry = self._find_local(key)
        if entry is None:
            return False
        folder, sizes = entry
        try:
            verify(folder, key, sizes)
            self._with_file(key, lambda file: self._upload(key, folder, file))
        except BrokenEntryError as error:
            _LOGGER.warning("a cache entry is broken and is not shared: %s", error)
            super().discard(key)
            return False
        except (StorageError, OSError) as error:
            self._log_unshared(error)
            return False
        self._uploaded.add(key)
        self._remember(key, is_present=True)
        return True

    def _log_unread(self, error: StorageError) -> None:
        _LOGGER.warning("the shared cache is not read: %s", error.message)

    def _log_unshared(self, error: StorageError | OSError) -> None:
        if not (isinstance(error, StorageError) and error.code == NOT_RESPONDING):
            _LOGGER.warning("the parsed trace is not shared: %s", error)

    @contextmanager
    def _request(self) -> Iterator[None]:
        """One request to the bucket. After a failure the next one waits for a pause: a thousand
        entries would otherwise wait for a thousand timeouts.

        Raises:
            StorageError: as the request; :data:`NOT_RESPONDING` at once during a pause.
        """
        if time.monotonic() < self._backoff.next_try_s:
            raise StorageError(NOT_RESPONDING, f"{self._bucket.url} is not responding.")
        try:
            yield
        except StorageError as error:
            if error.code == "unreachable":
                self._backoff.failed(time.monotonic())
            else:
                self._backoff.succeeded()
            raise
        self._backoff.succeeded()

    def _upload(self, key: str, entry: Path, file: Path) -> None:
        _pack_signed(key, entry, file)
        target = self._object(key)
        filesystem = target.filesystem
        with self._request(), remote_errors(target.url):
            deadlines.call(
                deadlines.store_key(filesystem),
                lambda: _put(file, target),
                limit_s=deadlines.bytes_timeout_s(file.stat().st_size),
            )

    def _remove(self, key: str) -> None:
        self._presence.pop(key, None)
        try:
            target = self._object(key)
            with self._request(), remote_errors(target.url):
                deadlines.request(target.filesystem, "rm_file", target.path)
        except StorageError as error:
            _LOGGER.debug("not removed: %s", error.message)


def _pack_signed(key: str, entry: Path, file: Path) -> None:
    """Pack an entry into ``file``, after its signature if a key is set."""
    signing_secret = signing_key()
    with file.open("w+b") as packed:
        if signing_secret is None:
            pack(entry, packed)
            return
        packed.seek(SIGNATURE_BYTES)
        pack(entry, packed)
        packed.seek(SIGNATURE_BYTES)
        code = signature(signing_secret, key, packed)
        packed.seek(0)
        packed.write(code)


def _put(file: Path, target: Location) -> None:
    """Upload an object so that it appears only when it is complete."""
    filesystem = target.filesystem
    if can_read_ranges(filesystem):
        filesystem.put_file(str(file), target.path)
        return
    unfinished = f"{target.path}.{uuid.uuid4().hex}"
    filesystem.makedirs(target.path.rpartition("/")[0], exist_ok=True)
    filesystem.put_file(str(file), unfinished)
    filesystem.mv(unfinished, target.path)
