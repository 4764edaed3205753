"""Whether a file is a database that can be read as it lies there, and the connection to it."""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.sqlite.cells import decoded
from torch_tb_profiler.importers.sqlite.pages import PageFile

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
HEAD_BYTES = 4096
"""Of a file, enough to tell whether it is encrypted."""

SMALLEST_PAGE, LARGEST_PAGE = 512, 65536
UTF_8 = (0, 1)
ENCODINGS = (*UTF_8, 2, 3)
"""What a header may say of texts; 0 in a database without tables."""

RANDOM_BITS = 0.9
"""Of the bits per byte that so many bytes can have at most: what is encrypted has more."""

COMPANIONS = ("-wal", "-journal")
"""Endings of the files in which a program keeps what it has not yet written to the database."""


def is_database(head: bytes) -> bool:
    """Whether a file that begins so is an SQLite database."""
    return head.startswith(MAGIC)


def page_file(path: str, name: str) -> PageFile:
    """The pages of the database at ``path``
    (https://www.sqlite.org/fileformat2.html#the_database_header).

    Args:
        path: Of a file on this machine.
        name: As the user knows it.

    Raises:
        TraceFormatError: it is none, is encrypted, damaged at its start or was copied too early.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
        size_bytes = os.fstat(file.fileno()).st_size
    if not is_database(head):
        raise no_database(head, name)
    _refuse_unfinished(path, name)
    page_bytes = int.from_bytes(head[16:18], "big")
    page_bytes = LARGEST_PAGE if page_bytes == 1 else page_bytes
    encoding = int.from_bytes(head[56:60], "big")
    is_size = SMALLEST_PAGE <= page_bytes <= LARGEST_PAGE and page_bytes & (page_bytes - 1) == 0
    usable_bytes = page_bytes - head[20] if len(head) > 20 else 0
    is_whole = len(head) >= HEADER_BYTES
    if not (is_whole and is_size) or usable_bytes < SMALLEST_PAGE - 32 or encoding not in ENCODINGS:
        raise damaged_database(name, "its header is damaged")
    pages = int.from_bytes(head[28:32], "big")
    is_told = pages > 0 and head[24:28] == head[92:96]
    present = size_bytes // page_bytes
    told = max(pages, present) if is_told else present
    return PageFile(path, page_bytes, usable_bytes, present, told, encoding in UTF_8)


def connect(path: str, name: str) -> sqlite3.Connection:
    """A connection that reads a database and neither writes nor waits.

    Nothing of the file but its tables is trusted: no function of its schema is called. A database
    that is cut short opens as far as it goes. Bytes that are no text of its encoding become U+FFFD.

    Raises:
        TraceFormatError: its schema cannot be read.
    """
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise damaged_database(name, f"SQLite says: {error}") from None
    connection.text_factory = decoded
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA writable_schema = ON")  # a file cut short can be opened only so
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise damaged_database(name, f"SQLite says: {error}") from None
    return connection


def damaged_database(name: str, what: str) -> TraceFormatError:
    """The error for a database of which nothing can be read."""
    return TraceFormatError(
        "damaged_database",
        f"{name} is a damaged SQLite database: {what}.",
        "Copy it again and compare its size with the original, or export it again.",
    )


def no_database(head: bytes, name: str) -> TraceFormatError:
    """The error for a file that is called like a database and is none, by its first bytes."""
    if not head:
        return TraceFormatError(
            "empty_file",
            f"{name} is empty.",
            "The export was probably stopped before it wrote anything: export again.",
        )
    if _is_random(head):
        return TraceFormatError(
            "encrypted_database",
            f"{name} begins with random bytes: if it is an SQLite database, it is encrypted.",
            "Decrypt it first (with SQLCipher: ATTACH … KEY '', then sqlcipher_export), or export "
            "it again without a key.",
        )
    return TraceFormatError(
        "not_a_database",
        f"{name} is no SQLite database, though it is called like one; it begins with "
        f"{head[:16].decode('utf-8', 'replace')!r}.",
        "Export it again, or copy it again and compare its size with the original.",
    )


def _is_random(head: bytes) -> bool:
    counts = np.bincount(np.frombuffer(head, np.uint8))
    shares = counts[counts > 0] / len(head)
    bits = float(-(shares * np.log2(shares)).sum())
    return len(head) >= SMALLEST_PAGE and bits > RANDOM_BITS * min(8.0, np.log2(len(head)))


def _refuse_unfinished(path: str, name: str) -> None:
    for ending in COMPANIONS:
        companion = path + ending
        try:
            with open(companion, "rb") as file:
                is_used = any(file.read(28))  # a journal that is done with is empty or blanked
        except FileNotFoundError:
            continue
        if is_used:
            raise TraceFormatError(
                "unfinished_database",
                f"{name} has a file '{ending}' beside it: a program had not yet written "
                "everything into the database when it was copied.",
                "Export again, or let SQLite finish it with 'PRAGMA wal_checkpoint(TRUNCATE)' "
                "where it was written, and copy it then.",
            )
