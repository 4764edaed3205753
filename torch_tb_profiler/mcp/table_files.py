"""Tables that are too large for an answer, written whole as files of the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from torch_tb_profiler.reports import csv
from torch_tb_profiler.storage.cache_folder import CacheFolder, cache_key
from torch_tb_profiler.views.schema import Table

MAX_FILE_BYTES = 100 << 20
"""Of a table in memory, and of its file."""

FILE_NAME = "table.csv"


class TableFile(Struct, frozen=True):
    """A table in a file, or why it is in none.

    Attributes:
        path: The file; None where there is none.
        reason: Why there is none.
    """

    path: Path | None
    reason: str = ""

    @property
    def text(self) -> str:
        """Where the whole table is, as part of a sentence."""
        if self.path is None:
            return self.reason
        return f"all rows and columns are in {self.path} (CSV on the machine of the server)"


def write_table(cache: CacheFolder | None, table: Table) -> TableFile:
    """Write a table into the cache; the same table is written once."""
    if cache is None:
        return TableFile(None, "there is no file, as the server runs without a cache")
    too_large = TableFile(
        None, f"it is larger than {MAX_FILE_BYTES >> 20} MiB and in no file: filter it"
    )
    if table.frame.estimated_size() > MAX_FILE_BYTES:
        return too_large
    data = csv.dumps(table)
    if len(data) > MAX_FILE_BYTES:
        return too_large
    key = cache_key("mcp table", hashlib.sha256(data).hexdigest())
    if not cache.has_local(key):
        cache.store(key, lambda folder: (folder / FILE_NAME).write_bytes(data))
    folder = cache.find(key)
    if folder is None:
        return TableFile(None, "there is no file, as the cache cannot be written")
    return TableFile(folder / FILE_NAME)
