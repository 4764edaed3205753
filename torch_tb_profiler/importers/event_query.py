"""Queries for the arguments of one event, answered from the trace file.

A trace stores only those arguments of an event that its views need; the rest stays in the file. A
query identifies the event by the columns of the trace, and the format searches the file for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec import Struct


class EventQuery(Struct, frozen=True):
    """What identifies a slice in its file.

    Slices of the same row, start and name are twins: they are distinguished by duration, and those
    of the same duration by their order in the file.

    Attributes:
        pid: The process of its row, as text.
        tid: The thread of its row, as text.
        name: Its name.
        raw_category: Its category as written in the file; None without one.
        start_ns: Its start, in nanoseconds since the trace's base.
        base_ns: The trace's base, in nanoseconds since the epoch.
        twins_dur_ns: Durations of all twins, longest first, equal ones in file order.
        index: Its index among the twins.
    """

    pid: str
    tid: str
    name: str
    raw_category: str | None
    start_ns: int
    base_ns: int
    twins_dur_ns: tuple[int, ...]
    index: int


class SearchLimits(NamedTuple):
    """Where a search gives up: after so much unpacked text, or so much time."""

    text_bytes: int
    seconds: float


SearchEnd = Literal["found", "absent", "unclear", "too_far"]
"""``absent``: the whole file holds no such event; ``unclear``: the file holds a different number of
twins than the trace; ``too_far``: a limit ended the search."""


class EventArguments(Struct, frozen=True):
    """The result of a search.

    Attributes:
        end: How it ended.
        arguments: Name → value as JSON text, in file order; empty unless the event was found.
        known: The names among them that the trace has columns for.
        text_bytes: Length of the text that was searched.
    """

    end: SearchEnd
    arguments: Mapping[str, str]
    known: frozenset[str]
    text_bytes: int
