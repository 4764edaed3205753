"""What a format learned about the pieces of a file, kept in the cache beside its traces."""

from __future__ import annotations

from pathlib import Path

from torch_tb_profiler.storage.cache_folder import CacheFolder

INDEX_FILE = "pieces.json"


class CachedIndex:
    """An entry of the cache; see :class:`~torch_tb_profiler.importers.protocol.PieceIndexStore`."""

    def __init__(self, cache: CacheFolder, key: str) -> None:
        self._cache = cache
        self._key = key

    def load(self) -> bytes | None:
        """What was stored, or None."""
        return self._cache.load(self._key, lambda folder: (folder / INDEX_FILE).read_bytes())

    def save(self, index: bytes) -> None:
        """Store it, unless the disk is full or the folder cannot be written."""

        def write(folder: Path) -> None:
            (folder / INDEX_FILE).write_bytes(index)

        self._cache.store(self._key, write)
