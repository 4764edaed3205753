"""Reads files as CSV rows or JSON; damaged parts are counted, the rest is read."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from typing import Any

from torch_tb_profiler.budget import LIMITS, UNLIMITED
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.quality import QualityReport

MAX_TEXT_CHARS = 4096
"""Longer names and shapes are cut."""

csv.field_size_limit(int(LIMITS["side_file_bytes"].ceiling))
"""One cell may hold all links of a step; the usual limit, of the whole process, is 128 KiB."""

_UNIT = re.compile(r"\([^)]*\)")
_NON_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


class UnreadableFileError(Exception):
    """A file does not have the content that its name implies; the message has the reason."""


def read_text(source: Source, quality: QualityReport) -> str:
    """Read the text of a file.

    Raises:
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
        UnreadableFileError: it is empty.
    """
    with closing(source.unpacked()) as chunks:
        data, is_truncated = _limited(utf8(chunks, quality), quality)
    quality.merge(source.quality)
    if is_truncated:
        del data[data.rfind(b"\n") + 1 :]
    text = bytes(data).decode("utf-8", "replace")
    if not text.strip("\ufeff \t\r\n\0"):
        raise UnreadableFileError("it is empty")
    return text


def read_bytes(source: Source, quality: QualityReport) -> bytes:
    """Read a binary file.

    Raises:
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
        UnreadableFileError: it is empty.
    """
    with closing(source.unpacked()) as chunks:
        data, _ = _limited(chunks, quality)
    quality.merge(source.quality)
    if not data:
        raise UnreadableFileError("it is empty")
    return bytes(data)


def _limited(chunks: Iterable[bytes], quality: QualityReport) -> tuple[bytearray, bool]:
    """The first bytes of a file, as many as the limit allows, and whether that is not all of it:
    every value becomes an object, and these files are usually far smaller."""
    data, most = bytearray(), UNLIMITED.count("side_file_bytes")
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            quality.add("truncated", 1, UNLIMITED.described("side_file_bytes"))
            del data[most:]
            return data, True
    return data, False


def read_json(source: Source, quality: QualityReport) -> Any:
    """Read a JSON file with numbers as decimals, so that units can be converted exactly.

    Raises:
        UnreadableFileError: it is empty, too large, not JSON, or truncated.
        StorageError, OSError: it cannot be read.
    """
    text_quality = QualityReport()
    text = read_text(source, text_quality)
    if "truncated" in text_quality.counts:
        raise UnreadableFileError(f"it is too large ({UNLIMITED.described('side_file_bytes')})")
    quality.merge(text_quality)
    try:
        return json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=lambda _: None
        )
    except (ValueError, ArithmeticError, RecursionError):
        raise UnreadableFileError("it is not JSON, or is truncated") from None


def column_key(title: str) -> str:
    """A column title without unit, case and spaces: ``"Avg Time (us)"`` → ``avg_time``."""
    return _NON_ALPHANUMERIC.sub("_", _UNIT.sub("", title).lower()).strip("_")


def csv_lines(text: str, quality: QualityReport) -> Iterator[list[str]]:
    """The rows of a CSV text with its header; blank rows are skipped, damaged ones counted."""
    lines = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            row = next(lines)
        except StopIteration:
            return
        except csv.Error:
            quality.add("side_row_left_out")
            continue
        if any(cell.strip() for cell in row):
            yield row


def csv_rows(
    text: str, needed: tuple[str, ...], quality: QualityReport, aliases: Mapping[str, str] = {}
) -> Iterator[dict[str, str]]:
    """The rows of a CSV text as dicts with the keys of its header (:func:`column_key`). A row with
    fewer cells than the header, as at the end of a truncated file, is left out and counted.

    Args:
        text: The file.
        needed: Required keys.
        quality: Gets the number of rows that are left out.
        aliases: Key of another release → key.

    Raises:
        UnreadableFileError: the header misses a key.
    """
    lines = csv_lines(text, quality)
    header = [aliases.get(key, key) for key in map(column_key, next(lines, []))]
    missing = [key for key in needed if key not in header]
    if missing:
        raise UnreadableFileError(f"its header has no column {', '.join(missing)}")
    for cells in lines:
        if len(cells) < len(header):
            quality.add("side_row_left_out")
            continue
        yield dict(zip(header, cells, strict=False))


def parse_name(value: object) -> str | None:
    """A text of a file, cut to a displayable length; None if it is empty or not a text."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip()[:MAX_TEXT_CHARS]


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON list; empty for any other value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def child(value: object, key: str) -> Any:
    """The value of a key in a JSON object; None for any other value."""
    return value.get(key) if isinstance(value, dict) else None
