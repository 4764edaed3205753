"""One event that is looked for in its file again, and what was found.

A trace keeps of an event's arguments what its views need. The others stay in the file: whoever
wants them names the event by what the trace knows of it, and its format finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A slice, by what tells it from all others of its file.

    Slices of one row that begin at one moment and are called alike are told apart by duration,
    those of one duration by their order in the file.

    Attributes:
        pid: The process of its row, as text.
        tid: The thread of its row, as text.
        name: Its name.
        raw_category: Its category as the file has it, None without one.
        start_ns: Its start as the trace counts.
        base_ns: What the trace's times may count from.
        twins_dur_ns: Durations of all that share the above, longest first, then in file order.
        index: Which of these twins it is, from 0.
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
    """How far is looked: so much unpacked text, so long."""

    text_bytes: int
    seconds: float


SearchEnd = Literal["found", "absent", "unclear", "too_far"]
"""``absent``: the file was read and holds no such event; ``unclear``: it holds another number of
them than the trace; ``too_far``: a limit ended the search."""


@dataclass(frozen=True, slots=True)
class EventArguments:
    """How a search ended, and what it found.

    Attributes:
        end: How.
        arguments: Name → JSON text of the value, in the order of the file; empty unless found.
        known: Those of the names that the trace has columns for.
        text_bytes: How much text was looked through.
    """

    end: SearchEnd
    arguments: Mapping[str, str]
    known: frozenset[str]
    text_bytes: int
