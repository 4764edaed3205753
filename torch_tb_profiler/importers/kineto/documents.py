"""Recordings that are several JSON objects, each with events: one after the other, one per line, or
in a list.

Proton (Triton's profiler) writes one object per stream. What stands between the events of two
objects, the end of one and the beginning of the next, is found where the array of the first ends;
the events that follow are read as if they were of one array. An object that begins as a recording
of its own is not joined: it is another recording, or the same one again.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch_tb_profiler.importers.kineto.array_start import EVENTS_KEY
from torch_tb_profiler.importers.kineto.repair import parse_lenient

EVENTS = "traceEvents"
FEW_BYTES, MAX_BYTES = 1 << 12, 1 << 18
"""How much metadata is looked through, first and at most; of longer one objects are not joined."""

OWN_RECORDING = frozenset({"schemaVersion", "trace_id", "deviceProperties", "distributedInfo"})
"""Keys with which a recording begins."""

BASE = "baseTimeNanoseconds"
"""Times of objects with another base cannot stand beside each other."""

_START = b'{"traceEvents":['
_NEXT = re.compile(rb"[\s,\0]*(?=\{)")
_LIST_START = re.compile(
    rb'\s*\[\s*\{(?:(?!"ph"\s*:)[^\[\]{}]){0,65536}"traceEvents"\s*:\s*\[', re.DOTALL
)


class NextObject(NamedTuple):
    """The object that follows the events of another one.

    Attributes:
        metadata: The end of the first and the beginning of the second object, each with an empty
            event array: what follows the bracket of the first array, and precedes the events of the
            second.
        events_start: Where the events of the second begin.
    """

    metadata: bytes
    events_start: int


def next_object(text: bytes, array_end: int, base: object = None) -> NextObject | None:
    """The object after the one whose event array ends with the bracket at ``array_end``; None where
    none follows, or one that is not joined.

    Args:
        text: Text of the file.
        array_end: Where the bracket stands.
        base: The time base of the objects so far, if it is known.
    """
    for size in (FEW_BYTES, MAX_BYTES):
        window = text[array_end : array_end + size]
        between = _between(window)
        if between is not None:
            before, head, end = between
            is_own = not OWN_RECORDING.isdisjoint(head) or head.get(BASE) != before.get(BASE, base)
            return None if is_own else NextObject(window[1:end], array_end + end)
    return None


def _between(window: bytes) -> tuple[dict[str, object], dict[str, object], int] | None:
    """The keys after the events of one object and before those of the next, and where its events
    begin; None where no other object follows in the text."""
    end = _object(_START + window)
    if end is None:
        return None
    gap = _NEXT.match(window, end[1] - len(_START))
    key = None if gap is None else EVENTS_KEY.search(window, gap.end())
    if gap is None or key is None:
        return None
    head = _object(window[gap.end() : key.end()] + b"]}")
    return None if head is None else (end[0], head[0], key.end())


def list_start(text: bytes) -> int:
    """Where the events of the first object of a list of such objects begin; 0 for other files."""
    match = _LIST_START.match(text)
    return 0 if match is None else match.end()


def _object(text: bytes) -> tuple[dict[str, object], int] | None:
    """The object that a text begins with, and its size; None where there is none."""
    decoded = text.decode("utf-8", "surrogateescape")
    parsed = parse_lenient(decoded)
    if parsed is None or not isinstance(parsed.value, dict):
        return None
    return parsed.value, len(decoded[: parsed.end].encode("utf-8", "surrogateescape"))
