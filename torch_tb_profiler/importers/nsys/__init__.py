"""Nsight Systems: the SQLite database that ``nsys export --type sqlite`` writes, of any schema, and
the report it is made from, where its own program is installed."""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.format_detection import FormatDetection

ENDINGS = (".sqlite", ".sqlite3", ".db")
REPORT = ".nsys-rep"
SQLITE = b"SQLite format 3\0"

_OWN_TABLE = re.compile(
    rb"CUPTI_ACTIVITY_KIND_|NVTX_EVENTS|OSRT_API|TARGET_INFO_SESSION_START_TIME"
    rb"|ENUM_(?:NSYS|CUDA|CUPTI)_"
)
"""Names of tables, which stand near the beginning of a database: in exports within 40 KB."""

_ROOT_KIND, _INTERIOR = 100, 5
"""Where the kind of the root of all tables stands, and the kind of one that only says where their
names are (https://www.sqlite.org/fileformat2.html#b_tree_pages)."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is an SQLite database; the reader says whether Nsight Systems wrote it."""
    return head.startswith(SQLITE)


def tell(head: bytes, _name: str, is_whole: bool) -> FormatDetection:
    """Whether a database of a folder is an export, by the names of its tables."""
    if _OWN_TABLE.search(head):
        return FormatDetection(True)
    names_lie_further = head[_ROOT_KIND : _ROOT_KIND + 1] == bytes([_INTERIOR])
    if names_lie_further and b"CREATE TABLE" not in head and not is_whole:
        return FormatDetection(True, needs_more=True)
    if is_whole and _told_bytes(head) > len(head):
        return FormatDetection(
            False, "damaged_database", "is an SQLite database that is cut short."
        )
    return FormatDetection(
        False,
        "not_nsight",
        "is an SQLite database, and none that Nsight Systems exported.",
        needs_more=not is_whole,
    )


def _told_bytes(head: bytes) -> int:
    """How long the database is by its header: pages and the size of each."""
    page_bytes = int.from_bytes(head[16:18], "big")
    return int.from_bytes(head[28:32], "big") * (65536 if page_bytes == 1 else page_bytes)


FORMAT = Importer(
    name="nsys",
    title="Nsight Systems exports (SQLite)",
    label="Nsight Systems",
    module="torch_tb_profiler.importers.nsys.reader",
    sniff=sniff,
    endings=ENDINGS,
    tell=tell,
    replaces=tuple((ending, REPORT) for ending in ENDINGS),
)


def is_report(_head: bytes, name: str) -> bool:
    """Whether a file is a report: these are told by their names only."""
    return name.endswith(REPORT)


REPORT_FORMAT = Importer(
    name="nsys-rep",
    title="Nsight Systems reports (.nsys-rep, where nsys is installed)",
    label="Nsight Systems",
    module="torch_tb_profiler.importers.nsys.report",
    sniff=is_report,
    endings=(REPORT,),
)
