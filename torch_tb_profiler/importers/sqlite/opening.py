"""Checks whether a file is a readable database, and connects to it."""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.sqlite.cells import decode_text
from torch_tb_profiler.importers.sqlite.pages import PageFile

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
HEAD_BYTES = 4096
"""Bytes of a file that are enough to detect encryption."""

MIN_PAGE_BYTES, MAX_PAGE_BYTES = 512, 65536
UTF_8 = (0, 1)
ENCODINGS = (*UTF_8, 2, 3)
"""Valid text encodings in a header; 0 in a database without tables."""

RANDOM_BITS = 0.9
"""Share of the highest possible entropy (bits per byte) above which bytes count as encrypted."""

JOURNAL_HEAD_BYTES = 28
COMPANIONS = ("-wal", "-journal")
"""Endings of the files with changes that a program has not yet written to the database."""


def is_database(head: bytes) -> bool:
    """Whether a file with these first bytes is an SQLite database."""
    return head.startswith(MAGIC)


def open_page_file(path: str, name: str) -> PageFile:
    """The pages of the database at ``path``
    (https://www.sqlite.org/fileformat2.html#the_database_header).

    Args:
        path: A local file.
        name: The name to show in messages.

    Raises:
        TraceFormatError: it is not a database, is encrypted, damaged at its start or was copied too
            early.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
        size_bytes = os.fstat(file.fileno()).st_size
    if not is_database(head):
        raise not_a_database_error(head, name)
    _refuse_unfinished(path, name)
    page_bytes = int.from_bytes(head[16:18], "big")
    page_bytes = MAX_PAGE_BYTES if page_bytes == 1 else page_bytes
    encoding = int.from_bytes(head[56:60], "big")
    is_size = MIN_PAGE_BYTES <= page_bytes <= MAX_PAGE_BYTES and page_bytes & (page_bytes - 1) == 0
    usable_bytes = page_bytes - head[20] if len(head) > 20 else 0
    is_whole = len(head) >= HEADER_BYTES
    if (
        not (is_whole and is_size)
        or usable_bytes < MIN_PAGE_BYTES - 32
        or encoding not in ENCODINGS
    ):
        raise damaged_database_error(name, "its header is damaged")
    header_pages = int.from_bytes(head[28:32], "big")
    has_page_count = header_pages > 0 and head[24:28] == head[92:96]
    present_pages = size_bytes // page_bytes
    declared = max(header_pages, present_pages) if has_page_count else present_pages
    return PageFile(path, page_bytes, usable_bytes, present_pages, declared, encoding in UTF_8)


def connect(path: str, name: str) -> sqlite3.Connection:
    """Connect to a database for reading, without writing to it or waiting for locks.

    Only the tables of the file are trusted: no function of its schema is called. A truncated
    database opens as far as it goes. Bytes that are not text in its encoding become U+FFFD.

    Raises:
        TraceFormatError: its schema cannot be read.
    """
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise damaged_database_error(name, f"SQLite reports: {error}") from None
    connection.text_factory = decode_text
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA writable_schema = ON")  # needed to open a truncated file
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise damaged_database_error(name, f"SQLite reports: {error}") from None
    return connection


def damaged_database_error(name: str, damage: str) -> TraceFormatError:
    """The error for a database that cannot be read at all."""
    return TraceFormatError(
        "damaged_database",
        f"{name} is a damaged SQLite database: {damage}.",
        "Copy it again and compare its size with the original, or export it again.",
    )


def not_a_database_error(head: bytes, name: str) -> TraceFormatError:
    """The error for a file with the name of a database that is not one, by its first bytes."""
    if not head:
        return TraceFormatError(
            "empty_file",
            f"{name} is empty.",
            "The export was probably stopped before it wrote anything: export again.",
        )
    if _is_random(head):
        return TraceFormatError(
            "encrypted_database",
            f"{name} begins with random bytes: it is encrypted, or not an SQLite database.",
            "Decrypt it first (with SQLCipher: ATTACH … KEY '', then sqlcipher_export), or export "
            "it again without a key.",
        )
    return TraceFormatError(
        "not_a_database",
        f"{name} is not an SQLite database despite its name; it begins with "
        f"{head[:16].decode('utf-8', 'replace')!r}.",
        "Export it again, or copy it again and compare its size with the original.",
    )


def _is_random(head: bytes) -> bool:
    counts = np.bincount(np.frombuffer(head, np.uint8))
    shares = counts[counts > 0] / len(head)
    bits = float(-(shares * np.log2(shares)).sum())
    return len(head) >= MIN_PAGE_BYTES and bits > RANDOM_BITS * min(8.0, np.log2(len(head)))


def _refuse_unfinished(path: str, name: str) -> None:
    for ending in COMPANIONS:
        if _is_used(path + ending):
            raise TraceFormatError(
                "unfinished_database",
                f"{name} has a companion file '{ending}': a program had not yet written "
                "everything to the database when it was copied.",
                "Export again, or run 'PRAGMA wal_checkpoint(TRUNCATE)' where it was written and "
                "copy it again.",
            )


def _is_used(companion: str) -> bool:
    """Whether a companion is a file with content: a finished journal is empty or zeroed.

    A folder, a pipe (whose opening would wait for a writer) or a device is no journal.

    Raises:
        OSError: it cannot be read.
    """
    if not os.path.isfile(companion):
        return False
    descriptor = os.open(companion, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        return any(file.read(JOURNAL_HEAD_BYTES))
