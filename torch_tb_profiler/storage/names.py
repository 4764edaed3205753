"""What the name of a trace file says, and the order people expect names in."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TRACE_NAME = re.compile(
    r"(?P<worker>.*?)(?:\.(?P<stamp>[0-9]+))?\.pt\.trace\.json(?:\.gz)?", re.DOTALL
)
_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TraceName:
    """The parts of a trace file's name: worker (maybe empty) and span stamp (digits, or None)."""

    worker: str
    stamp: str | None


def parse_trace_name(base_name: str) -> TraceName | None:
    """Worker and stamp of a base name, or None when it is no trace (peer-behaviour §1.1).

    >>> parse_trace_name("host_12.1699.pt.trace.json.gz")
    TraceName(worker='host_12', stamp='1699')
    """
    match = _TRACE_NAME.fullmatch(base_name)
    return TraceName(match["worker"], match["stamp"]) if match else None


def worker_of_any_name(base_name: str) -> TraceName:
    """Worker and stamp of a file that was named directly: any name will do."""
    parsed = parse_trace_name(base_name)
    if parsed is not None:
        return parsed
    stem = base_name.removesuffix(".gz").removesuffix(".json")
    return TraceName(stem or base_name, None)


def natural_key(text: str) -> NaturalKey:
    """Sort key that puts ``rank2`` before ``rank10``: runs of digits compare as numbers.

    Numbers compare by length first, so a stamp of any size needs no conversion.
    """
    parts = _DIGITS.split(text)
    key: list[tuple[str, int, str]] = []
    for index in range(0, len(parts), 2):
        digits = parts[index + 1].lstrip("0") if index + 1 < len(parts) else ""
        key.append((parts[index], len(digits), digits))
    return (*key, ("", 0, text))
