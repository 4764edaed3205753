"""Nsight Systems: SQLite exports (``nsys export --type sqlite``) of any schema, and reports.

Reports (``.nsys-rep``) are exported with the installed ``nsys`` program first. Each module reads
some tables of an export; ``reader`` puts them together. Databases are read through
``importers.sqlite``; apart from it only the shared importer modules, ``storage`` and ``trace`` are
imported.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.format_detection import FormatDetection

ENDINGS = (".sqlite", ".sqlite3", ".db")
REPORT = ".nsys-rep"
SQLITE = b"SQLite format 3\0"

_NSYS_TABLE = re.compile(
    rb"CUPTI_ACTIVITY_KIND_|NVTX_EVENTS|OSRT_API|TARGET_INFO_SESSION_START_TIME"
    rb"|ENUM_(?:NSYS|CUDA|CUPTI)_"
)
"""Names of tables of an export; they occur in the first 40 KB of the file."""

_ROOT_PAGE_TYPE, _INTERIOR_PAGE = 100, 5
"""Offset of the type of the schema's root page, and the type of a root page without table names
(https://www.sqlite.org/fileformat2.html#b_tree_pages)."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is an SQLite database; the reader checks whether Nsight Systems wrote it."""
    return head.startswith(SQLITE)


def detect(head: bytes, _name: str, is_whole: bool) -> FormatDetection:
    """Detect whether a database is an export, by the names of its tables."""
    if _NSYS_TABLE.search(head):
        return FormatDetection(True)
    names_are_further = head[_ROOT_PAGE_TYPE : _ROOT_PAGE_TYPE + 1] == bytes([_INTERIOR_PAGE])
    if names_are_further and b"CREATE TABLE" not in head and not is_whole:
        return FormatDetection(True, needs_more=True)
    if is_whole and _declared_bytes(head) > len(head):
        return FormatDetection(False, "damaged_database", "is a truncated SQLite database.")
    return FormatDetection(
        False,
        "not_nsight",
        "is an SQLite database, but not an export of Nsight Systems.",
        needs_more=not is_whole,
    )


def _declared_bytes(head: bytes) -> int:
    """Size of the database according to its header."""
    page_bytes = int.from_bytes(head[16:18], "big")
    return int.from_bytes(head[28:32], "big") * (65536 if page_bytes == 1 else page_bytes)


FORMAT = Importer(
    name="nsys",
    title="Nsight Systems exports (SQLite)",
    label="Nsight Systems",
    module="torch_tb_profiler.importers.nsys.reader",
    cuts_parts=True,
    joins_traces=True,
    sniff=sniff,
    endings=ENDINGS,
    detect=detect,
    replaces=tuple((ending, REPORT) for ending in ENDINGS),
)


def is_report(_head: bytes, name: str) -> bool:
    """Whether a file is a report; reports are detected by their name only."""
    return name.endswith(REPORT)


REPORT_FORMAT = Importer(
    name="nsys-rep",
    title="Nsight Systems reports (.nsys-rep, where nsys is installed)",
    label="Nsight Systems",
    module="torch_tb_profiler.importers.nsys.report",
    cuts_parts=True,
    joins_traces=True,
    sniff=is_report,
    endings=(REPORT,),
)
