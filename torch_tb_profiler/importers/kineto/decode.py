"""A JSON list of whole events → events, all at once."""

from __future__ import annotations

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.structs import Event

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
BLOCK_BYTES = 1 << 19
PID_WORD = np.frombuffer(b'"pid', np.uint32)[0]


def has_ambiguous_names(text: bytes, events: list[Event]) -> bool:
    """Whether some event may hold ``pid`` twice: then its name ended too early."""
    count = _count_word(text, PID_WORD)
    if count == len(events):
        return False
    return count > len(events) or count > sum(event.pid is not None for event in events)


def _count_word(text: bytes, word: np.uint32) -> int:
    """How often four bytes occur; three times as fast as ``bytes.count`` on large texts.

    A block stays in the processor's cache while it is looked at from each of four alignments.
    """
    size = word.itemsize
    is_word = np.empty(BLOCK_BYTES // size, np.bool_)
    occurrences = 0
    for start in range(0, len(text), BLOCK_BYTES):
        for at in range(start, min(start + size, len(text) - size + 1)):
            count = min(len(is_word), (len(text) - at) // size)
            words = np.frombuffer(text, np.uint32, count, at)
            np.equal(words, word, out=is_word[:count])
            occurrences += int(np.count_nonzero(is_word[:count]))
    return occurrences


def decode_list(text: bytes) -> list[Event] | None:
    """The events of ``text``, a JSON list; None if anything in it needs a closer look."""
    try:
        events = structs.EVENTS.decode(text)
    except DECODE_ERRORS:
        return None
    return None if has_ambiguous_names(text, events) else events
