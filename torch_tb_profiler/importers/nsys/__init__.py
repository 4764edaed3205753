"""Nsight Systems: the SQLite database that ``nsys export --type sqlite`` writes, of any schema."""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.heads import Told

ENDINGS = (".sqlite", ".sqlite3", ".db")
SQLITE = b"SQLite format 3\0"

_OWN_TABLE = re.compile(
    rb"CUPTI_ACTIVITY_KIND_|NVTX_EVENTS|OSRT_API|TARGET_INFO_SESSION_START_TIME|ENUM_NSYS_EVENT"
)
"""Names of tables, which stand near the beginning of a database."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is an SQLite database; the reader says whether Nsight Systems wrote it."""
    return head.startswith(SQLITE)


def tell(head: bytes, _name: str, is_whole: bool) -> Told:
    """Whether a database of a folder is an export, by the names of its tables."""
    if _OWN_TABLE.search(head):
        return Told(True)
    return Told(
        False,
        "not_nsight",
        "is an SQLite database, and none that Nsight Systems exported.",
        wants_more=not is_whole,
    )


FORMAT = Importer(
    name="nsys",
    title="Nsight Systems exports (SQLite)",
    label="Nsight Systems",
    module="torch_tb_profiler.importers.nsys.reader",
    sniff=sniff,
    endings=ENDINGS,
    tell=tell,
)
