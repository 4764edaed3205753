"""A file of a folder as rows or as JSON; whatever is damaged in it is said, the rest is read."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from typing import Any

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.quality import QualityReport

MAX_FILE_BYTES = 64 << 20
"""So much of a text is read, and no larger JSON: of each value an object is made, and these files
are made for people and far smaller."""

MAX_TEXT_CHARS = 4096
"""Names and shapes are cut here."""

_UNIT = re.compile(r"\([^)]*\)")
_NO_WORD = re.compile(r"[^a-z0-9]+")


class UnreadableError(Exception):
    """A file that holds none of what its name promises; the message says why."""


def text_of(source: Source, quality: QualityReport) -> str:
    """The text of a file.

    Raises:
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
        UnreadableError: it is empty.
    """
    read = bytearray()
    with closing(source.unpacked()) as chunks:
        for chunk in utf8(chunks, quality):
            read += chunk
            if len(read) > MAX_FILE_BYTES:
                quality.add("truncated")
                del read[read.rfind(b"\n", 0, MAX_FILE_BYTES) + 1 :]
                break
    quality.merge(source.quality)
    text = bytes(read).decode("utf-8", "replace")
    if not text.strip("\ufeff \t\r\n\0"):
        raise UnreadableError("it is empty")
    return text


def json_of(source: Source, quality: QualityReport) -> Any:
    """A JSON file with its numbers as decimals, so that their units can be changed exactly.

    Raises:
        UnreadableError: it is empty, too large, no JSON, or ends in the middle.
        StorageError, OSError: it cannot be read.
    """
    own = QualityReport()
    text = text_of(source, own)
    if "truncated" in own.counts:
        raise UnreadableError(f"it is larger than {MAX_FILE_BYTES >> 20} MiB")
    quality.merge(own)
    try:
        return json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=lambda _: None
        )
    except (ValueError, ArithmeticError, RecursionError):
        raise UnreadableError("it is no JSON, or ends in the middle") from None


def key_of(title: str) -> str:
    """The title of a column without unit, case and spaces: ``"Avg Time (us)"`` → ``avg_time``."""
    return _NO_WORD.sub("_", _UNIT.sub("", title).lower()).strip("_")


def csv_lines(text: str, quality: QualityReport) -> Iterator[list[str]]:
    """The rows of a CSV text, its head too; blank ones are skipped, damaged ones counted."""
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
    text: str, needed: tuple[str, ...], quality: QualityReport, other_names: Mapping[str, str] = {}
) -> Iterator[dict[str, str]]:
    """The rows of a CSV text by the keys of its head (:func:`key_of`); a row with fewer cells than
    the head, as the last of a file that was cut, is left out and counted.

    Args:
        text: The file.
        needed: Keys without which its rows tell nothing.
        quality: Told of what is left out.
        other_names: Keys that other versions write → keys of ours.

    Raises:
        UnreadableError: the head lacks a key.
    """
    lines = csv_lines(text, quality)
    head = [other_names.get(key, key) for key in map(key_of, next(lines, []))]
    missing = [key for key in needed if key not in head]
    if missing:
        raise UnreadableError(f"its head names no column {', '.join(missing)}")
    for cells in lines:
        if len(cells) < len(head):
            quality.add("side_row_left_out")
            continue
        yield dict(zip(head, cells, strict=False))


def name_of(value: object) -> str | None:
    """A text of a file, cut to what can be shown; None where it is none or empty."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip()[:MAX_TEXT_CHARS]


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a JSON list; nothing of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def child(value: object, key: str) -> Any:
    """What a JSON object holds under a key; None where it is no object."""
    return value.get(key) if isinstance(value, dict) else None
