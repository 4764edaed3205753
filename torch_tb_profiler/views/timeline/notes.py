"""The notes that a user wrote on the timeline, as the address of the page has them: the parameter
``notes``, a line per note, ``1200 warm-up ends`` or, on a slice, ``5000@17 why so long?``. The same
as ``fe/src/timeline/notes.ts``.
"""

from __future__ import annotations

import re

from msgspec import Struct

MAX_NOTES = 30
MAX_NOTE_CHARACTERS = 120
MAX_ALL_CHARACTERS = 2000

_LINE = re.compile(r"(\d{1,15})(?:@(\d{1,15}))? (.*)", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


class TimelineNote(Struct, frozen=True):
    """A note at a moment.

    Attributes:
        time_ns: ns since the first event of the trace.
        slice: The id of the slice it is on, None for a moment.
        text: One line as the user wrote it: hostile, as any text.
    """

    time_ns: int
    slice: int | None
    text: str


def parse_notes(text: str) -> list[TimelineNote]:
    """The notes in order of time; what is malformed, or beyond the limits, is left out.

    >>> parse_notes("1200 warm-up ends")
    [TimelineNote(time_ns=1200, slice=None, text='warm-up ends')]
    """
    notes = []
    for line in text[:MAX_ALL_CHARACTERS].split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        time_ns, slice_id, written = match.groups()
        cleaned = _CONTROL.sub(" ", written).strip()[:MAX_NOTE_CHARACTERS]
        if cleaned:
            number = None if slice_id is None else int(slice_id)
            notes.append(TimelineNote(int(time_ns), number, cleaned))
    return sorted(notes[:MAX_NOTES], key=lambda note: note.time_ns)
