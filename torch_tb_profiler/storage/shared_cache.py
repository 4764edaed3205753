"""A cache that many machines share: entries as objects of a bucket, behind each one's own folder.

An entry is one gzipped tar, ``entries/<key>.tar.gz``, or ``signed/<name of the signing key>/<key>``
behind its signature where a key is set (``signing.py``). Stores show an object only when all of it
is there, so that a reader sees an entry or none. What is fetched is data of whoever may write to
the bucket: it is bounded, verified and looked through before anything reads it. What is not broken
is removed only when somebody asks (``bucket_cleaning.py``), or by a lifecycle rule of the bucket.
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
from torch_tb_profiler.storage.cache_places import (
    CACHE_VARIABLE,
    default_cache_folder,
    user_cache_folder,
)
from torch_tb_profiler.storage.entry_manifest import BrokenEntryError, Sizes, check
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.eviction import Cleaned
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
AWAY = "away"
"""Code of the error for a bucket that did not answer a moment ago; the first time it is told."""

KNOWN_S = 60.0
"""What a bucket said of an entry holds so long: opening one file asks for it at several places."""


def open_cache(chosen: str | os.PathLike[str] | None = None) -> CacheFolder:
    """The cache at a path or URL; None for the user's own, or ``$TORCH_TB_PROFILER_CACHE_DIR``.

    Raises:
        StorageError: the URL cannot be opened, or the key for signatures is too short.
    """
    named = os.fspath(chosen) if chosen is not None else os.environ.get(CACHE_VARIABLE, "")
    if is_url(named):
        place = open_location(named)
        if place.filesystem is None:  # file:///folder
            return CacheFolder(Path(place.path))
        signing_key()
        return SharedCacheFolder(place, user_cache_folder())
    return CacheFolder(Path(os.path.expanduser(named)) if named else default_cache_folder())


class SharedCacheFolder(CacheFolder):
    """Entries of a bucket, each kept in the local folder ``root`` as well once it was used."""

    def __init__(self, bucket: Location, root: Path, *, max_bytes: int | None = None) -> None:
        """Ask nothing yet.

        Args:
            bucket: Where the entries are.
            root: The local folder.
            max_bytes: The limit of the folder, and of what one entry may take; None takes
                that of the environment.
        """
        super().__init__(root, max_bytes=max_bytes)
        self._bucket = bucket
        self._sent: set[str] = set()
        self._known: dict[str, tuple[bool, float]] = {}
        self._backoff = Backoff()

    def _find(self, key: str) -> tuple[Path, Sizes] | None:
        """The folder kept under ``key`` here, or fetched from the bucket; None without one."""
        entry = self._find_here(key)
        if entry is not None:
            return entry
        if self._is_known(key) is False:
            return None
        try:
            self._with_file(key, lambda file: self._fetch(key, file))
        except StorageError as error:
            if error.code not in (NOT_FOUND, AWAY):
                self._tell_unread(error)
        except OSError as error:
            _LOGGER.warning("an entry of the shared cache is not kept here: %s", error)
        except BrokenEntryError as error:
            _LOGGER.warning("%s is broken and will be made again: %s", self._object(key).url, error)
            self._remove(key)
        return self._find_here(key)

    def holds(self, key: str) -> bool:
        """Whether an entry is kept under ``key`` here or in the bucket, which is asked once."""
        if self._find_here(key) is not None:
            return True
        known = self._is_known(key)
        if known is not None:
            return known
        try:
            return self._ask(key) is not None
        except StorageError as error:
            if error.code != AWAY:
                self._tell_unread(error)
            return False

    def _is_known(self, key: str) -> bool | None:
        """Whether the bucket had the entry a moment ago; None when it was not asked."""
        known = self._known.get(key)
        if known is None or time.monotonic() - known[1] > KNOWN_S:
            return None
        return known[0]

    def _learn(self, key: str, *, is_there: bool) -> None:
        self._known[key] = is_there, time.monotonic()

    def _ask(self, key: str) -> FileState | None:
        """The state of the object of an entry; None when there is none.

        Raises:
            StorageError: the bucket cannot be read.
        """
        try:
            with self._asking():
                state = file_state(self._object(key))
        except StorageError as error:
            if error.code != NOT_FOUND:
                raise
            self._learn(key, is_there=False)
            return None
        self._learn(key, is_there=True)
        return state

    def store(self, key: str, write: Callable[[Path], object]) -> bool:
        """Keep the entry here and in the bucket.

        Returns:
            False when it is not kept here; what goes wrong with the bucket is logged.
        """
        is_kept = super().store(key, write)
        self._send_entry(key)
        return is_kept

    def share(self, key: str) -> bool:
        """Make sure that the bucket has the entry that is here: ask once, and send it if not.

        Returns:
            True when the bucket has it now. What goes wrong with the bucket is logged.
        """
        if self._is_known(key):
            return True
        try:
            is_there = self._ask(key) is not None
        except StorageError as error:
            self._tell_unshared(error)
            return False
        return is_there or self._send_entry(key)

    def was_sent(self, key: str) -> bool:
        """Whether this object has put the entry into the bucket."""
        return key in self._sent

    def discard(self, key: str) -> None:
        """Remove a broken entry here and from the bucket."""
        super().discard(key)
        self._remove(key)

    def room_notes(self, text_bytes: int) -> list[str]:  # noqa: ARG002  # buckets are large
        """Nothing: only the folder beside the bucket has a limit, and its entries are copies."""
        return []

    def limit_notes(self, before: Mapping[str, int]) -> list[str]:  # noqa: ARG002
        """That nothing limits the bucket, and what it holds if the store tells."""
        super().evict()
        note = (
            f"Nothing removes entries from {self.url} by itself: give the bucket a lifecycle rule, "
            "or clean it with 'torch-tb-profiler cache --clean'."
        )
        try:
            held = self.clean()
        except StorageError:
            return [note]
        return [f"{note} It holds {held.kept} of them, {held.kept_bytes / 1e9:.3g} GB."]

    def clean(
        self,
        *,
        max_bytes: int | None = None,
        unused_since_s: float | None = None,
        is_trial: bool = False,
    ) -> Cleaned:
        """As :meth:`CacheFolder.clean`, of the bucket; a store tells when an entry was written,
        not when it was used."""
        return clean_bucket(
            self._bucket, max_bytes=max_bytes, unused_since_s=unused_since_s, is_trial=is_trial
        )

    @property
    def url(self) -> str:
        """The bucket, without secrets."""
        return self._bucket.url

    def _object(self, key: str) -> Location:
        secret = signing_key()
        name = f"/entries/{key}.tar.gz" if secret is None else f"/signed/{key_name(secret)}/{key}"
        place = self._bucket
        return Location(
            place.url.rstrip("/") + name, place.path.rstrip("/") + name, place.filesystem
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
        """Keep here what the bucket has.

        Raises:
            BrokenEntryError: it is damaged, not signed as it must be, or of another entry.
            StorageError: there is nothing, it is too large, or it cannot be read.
            OSError: there is no room here.
        """
        source = self._object(key)
        state = self._ask(key)
        if state is None:
            return
        if state.size_bytes > self.max_bytes:
            raise self._too_large(source, state.size_bytes)
        size_bytes = 0
        with self._asking(), file.open("wb") as packed:
            for chunk in read_chunks(source, state=state):
                size_bytes += len(chunk)
                if size_bytes > self.max_bytes:
                    raise self._too_large(source, size_bytes)
                packed.write(chunk)
        super().store(key, lambda folder: self._unpack(key, file, folder))

    def _unpack(self, key: str, file: Path, folder: Path) -> None:
        secret = signing_key()
        with file.open("rb") as packed:
            if secret is not None:
                if not is_signed(secret, key, packed):
                    raise BrokenEntryError("its signature is not that of its content")
                packed.seek(SIGNATURE_BYTES)
            unpack(packed, folder, self.max_bytes)
        check(folder, key)

    def _too_large(self, source: Location, size_bytes: int) -> StorageError:
        return StorageError(
            "unreadable",
            f"{source.url} has {size_bytes} bytes or more, the limit is {self.max_bytes}.",
        )

    def _send_entry(self, key: str) -> bool:
        """Put the entry that is here into the bucket; False when that fails or there is none."""
        entry = self._find_here(key)
        if entry is None:
            return False
        folder, sizes = entry
        try:
            check(folder, key, sizes)
            self._with_file(key, lambda file: self._send(key, folder, file))
        except BrokenEntryError as error:
            _LOGGER.warning("a cache entry is broken and is not shared: %s", error)
            super().discard(key)
            return False
        except (StorageError, OSError) as error:
            self._tell_unshared(error)
            return False
        self._sent.add(key)
        self._learn(key, is_there=True)
        return True

    def _tell_unread(self, error: StorageError) -> None:
        _LOGGER.warning("the shared cache is not read: %s", error.message)

    def _tell_unshared(self, error: StorageError | OSError) -> None:
        if not (isinstance(error, StorageError) and error.code == AWAY):
            _LOGGER.warning("the parsed trace is not shared: %s", error)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """One question to the bucket. One that does not answer is asked again after a pause: a
        thousand entries would else wait a thousand times.

        Raises:
            StorageError: as the question; with the code ``away`` at once during a pause.
        """
        if time.monotonic() < self._backoff.next_try_s:
            raise StorageError(AWAY, f"{self._bucket.url} does not answer at present.")
        try:
            yield
        except StorageError as error:
            if error.code == "unreachable":
                self._backoff.failed(time.monotonic())
            else:
                self._backoff.succeeded()
            raise
        self._backoff.succeeded()

    def _send(self, key: str, entry: Path, file: Path) -> None:
        _pack_signed(key, entry, file)
        target = self._object(key)
        filesystem = target.filesystem
        with self._asking(), remote_errors(target.url):
            deadlines.call(
                deadlines.key_of(filesystem),
                lambda: _put(file, target),
                limit_s=deadlines.bytes_timeout_s(file.stat().st_size),
            )

    def _remove(self, key: str) -> None:
        self._known.pop(key, None)
        try:
            target = self._object(key)
            with self._asking(), remote_errors(target.url):
                deadlines.ask(target.filesystem, "rm_file", target.path)
        except StorageError as error:
            _LOGGER.debug("not removed: %s", error.message)


def _pack_signed(key: str, entry: Path, file: Path) -> None:
    """Pack an entry into ``file``, behind its signature where a key is set."""
    secret = signing_key()
    with file.open("w+b") as packed:
        if secret is None:
            pack(entry, packed)
            return
        packed.seek(SIGNATURE_BYTES)
        pack(entry, packed)
        packed.seek(SIGNATURE_BYTES)
        code = signature(secret, key, packed)
        packed.seek(0)
        packed.write(code)


def _put(file: Path, target: Location) -> None:
    """Write an object so that it is seen only when it is whole."""
    filesystem = target.filesystem
    if can_read_ranges(filesystem):
        filesystem.put_file(str(file), target.path)
        return
    unfinished = f"{target.path}.{uuid.uuid4().hex}"
    filesystem.makedirs(target.path.rpartition("/")[0], exist_ok=True)
    filesystem.put_file(str(file), unfinished)
    filesystem.mv(unfinished, target.path)
