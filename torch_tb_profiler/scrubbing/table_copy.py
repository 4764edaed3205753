"""Copies tables as text: CSV cell by cell, other text line by line.

The delimiter and the ends of lines stay; a cell is quoted where it needs to be. Numbers stay as
they are written.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from torch_tb_profiler.budget import LIMITS, UNLIMITED
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.knowledge.private_columns import column_key
from torch_tb_profiler.scrubbing.cell_values import CellScrubber, KnownKey, learnable

DELIMITERS = (",", "\t")
LINE = "line"
"""The key of lines that are no table."""

TABLE_FORMAT = re.compile(r".*\.(?:csv|tsv)", re.IGNORECASE | re.DOTALL)
ROWS_AT_ONCE = 1000

csv.field_size_limit(int(LIMITS["side_file_bytes"].ceiling))
"""As readers of these tables have it; the usual limit, of the whole process, is 128 KiB."""

_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)


def table_copy(chunks: Iterable[bytes], cells: CellScrubber, name: str) -> Iterator[bytes]:
    """The copy of a text file.

    Args:
        chunks: Its text as UTF-8.
        cells: The rules.
        name: Its name, which says whether it is a table.

    Raises:
        TraceFormatError: a quote does not close, or a line is too long.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    lines = _lines(chunks)
    first = next(lines, "")
    delimiter = _delimiter(first) if TABLE_FORMAT.fullmatch(name) else ""
    if not delimiter:
        yield _line(first, cells)
        for line in lines:
            yield _line(line, cells)
        return
    buffer = io.StringIO(newline="")
    ending = "\r\n" if first.endswith("\r\n") else "\n"
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=ending)
    keys: list[KnownKey] = []
    for number, row in enumerate(_rows(first, lines, delimiter, name), 1):
        if keys:
            writer.writerow(_cell(cells, keys, at, cell) for at, cell in enumerate(row))
        else:
            keys = [KnownKey(column_key(name, header.strip())) for header in row]
            writer.writerow(cells.name(header) for header in row)
        if number % ROWS_AT_ONCE == 0:
            yield _taken(buffer)
    yield _taken(buffer)


def texts_of_table(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The texts of a table with their keys, for names of hosts and users; errors as
    :func:`table_copy`."""
    lines = _lines(chunks)
    first = next(lines, "")
    delimiter = _delimiter(first) if TABLE_FORMAT.fullmatch(name) else ""
    if not delimiter:
        yield first.encode()
        yield from map(str.encode, lines)
        return
    rows = _rows(first, lines, delimiter, name)
    headers = [column_key(name, header.strip()) for header in next(rows, [])]
    for row in rows:
        yield b"".join(
            learnable(headers[at] if at < len(headers) else LINE, cell)
            for at, cell in enumerate(row)
            if not _NUMBER.fullmatch(cell)
        )


def _cell(cells: CellScrubber, keys: list[KnownKey], at: int, cell: str) -> str:
    key = keys[at] if at < len(keys) else KnownKey(LINE)
    if not cell.strip() or (_NUMBER.fullmatch(cell) and not cells.removes_numbers(key)):
        return cell
    return cells.text(key, cell) or ""


def _line(line: str, cells: CellScrubber) -> bytes:
    text = line.rstrip("\r\n")
    return ((cells.text(KnownKey(LINE), text) or "") + line[len(text) :]).encode()


def _delimiter(header: str) -> str:
    """What separates the columns of a header; empty if it has but one, or none does."""
    return next((each for each in DELIMITERS if each in header), "")


def _rows(first: str, lines: Iterator[str], delimiter: str, name: str) -> Iterator[list[str]]:
    def all_lines() -> Iterator[str]:
        yield first
        yield from lines

    try:
        yield from csv.reader(all_lines(), delimiter=delimiter)
    except csv.Error as error:
        raise TraceFormatError(
            "damaged_table",
            f"{name} is a damaged table: {error}.",
            "Copy it again from where it was recorded.",
        ) from error


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines with their ends; text that is no UTF-8 becomes U+FFFD."""
    rest = b""
    most_bytes = UNLIMITED.count("line_bytes")
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if max(len(rest), *map(len, whole), 0) > most_bytes:
            raise TraceFormatError(
                "line_left_out",
                f"It has a line of more than {most_bytes} bytes.",
                "Copy it again from where it was recorded.",
            )
        for line in whole:
            yield line.decode("utf-8", "replace") + "\n"
    if rest:
        yield rest.decode("utf-8", "replace")


def _taken(buffer: io.StringIO) -> bytes:
    """The text written so far; the buffer is empty again."""
    text = buffer.getvalue().encode("utf-8", "replace")
    buffer.seek(0)
    buffer.truncate()
    return text
