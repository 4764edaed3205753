"""Decodes a piece of the event array; damage costs only the stretch of text around it.

A piece is decoded as a whole if it is valid. Otherwise stretches of it are; within a damaged
stretch events are decoded one by one, the damaged ones through the repair ladder.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.decode import decode_events
from torch_tb_profiler.importers.kineto.documents import MAX_BYTES, next_object
from torch_tb_profiler.importers.kineto.pieces import EventPiece
from torch_tb_profiler.importers.kineto.repair import (
    RUNGS,
    Rung,
    decode_text,
    encode,
    parse_lenient,
    repaired_event,
)
from torch_tb_profiler.importers.kineto.structs import Event
from torch_tb_profiler.trace.quality import QualityReport

STRETCH_BYTES = 1 << 18
BLANK = b" \t\r\n,"
FAST_BYTES = 1 << 20
"""Up to this size, the text before the next boundary is first decoded as one event."""
REPAIR_FACTOR = 4
"""Bytes spent on repairs, per byte of the piece; after that, damaged events are dropped."""
REPAIR_COST_BYTES = 512
"""Fixed cost of a repair, so that masses of tiny fragments also exhaust the budget."""
MAX_REPAIR_BYTES = 512 << 10
"""Longer damaged events are dropped: repairs need many times their memory, and a microsecond per
byte."""
MAX_FURTHER_BYTES = 32 << 10
"""Ends beyond the nearest one are only tried for events up to this size: ends may be megabytes
away, and a file with a single damaged event must not take seconds."""
WINDOW_BYTES = 1 << 11
MAX_ENDS = 4
"""How many possible ends of a damaged event are tried before it is dropped."""

SEPARATOR = re.compile(rb"[\s,]*")
COMMAS = re.compile(rb"[\s\]]*,[\s,]*")
EMPTY_EVENTS = re.compile(rb"(?:\{\s*\}[\s,]*){1,1000}")
SCALAR = re.compile(rb'(?:"(?:[^"\\]|\\.)*(?:"|$)|[\w.+-]+)(?=\s*(?:[,\]]|$))')
STRAY_BRACKET = re.compile(rb"[\]}](?=\s*[\]{,])")
KEY = rb'(?:"[^"\\]{0,200}(?:"\s*(?::|$)|$)|$)'
ARRAY_END = rb"\]\s*(?:,\s*" + KEY + rb"|[}\[\0]|$)"
CLOSING = re.compile(ARRAY_END)
LIST_OF_EVENTS = re.compile(rb"\[[\s\[]*(?=\{\s*" + KEY + rb")")
AFTER_EVENT = re.compile(rb"[\s,\]}]*\{\s*(?:" + KEY + rb"|\})|[\s,\]]*(?:" + ARRAY_END + rb"|$)")
"""What may follow an event, other than stray values; anything else means that it does not end
there."""
LAST_END = re.compile(rb"\}(?=\s*(?:,\s*\{\s*\}\s*)?(?:,\s*)?" + ARRAY_END + rb")")


class DecodedPiece(msgspec.Struct):
    """Events of one piece.

    Attributes:
        events: The events, of all objects that the piece has some of.
        tail: The text after the array, if the events end here.
        between: What stands between the arrays of objects, as if these had no events.
        joined: How many further objects begin here.
    """

    events: list[Event]
    tail: bytes | None = None
    between: bytes = b""
    joined: int = 0


def decode_piece(
    piece: EventPiece, boundaries: EventBoundaries, quality: QualityReport
) -> DecodedPiece:
    """Decode the events of one piece.

    Args:
        piece: A part of the event array.
        boundaries: Finds where events begin in this file.
        quality: Counts repairs and dropped events.
    """
    events = None if piece.is_last else decode_events(piece.text)
    if events is not None:
        return DecodedPiece(events)
    return _StretchDecoder(piece, boundaries, quality).decoded


class _StretchDecoder:
    """Decodes one damaged piece, stretch by stretch and event by event."""

    def __init__(
        self, whole: EventPiece, boundaries: EventBoundaries, quality: QualityReport
    ) -> None:
        self.is_last = whole.is_last
        self.piece = piece = whole.text if whole.is_last else whole.text[1:-1]
        self.boundaries = boundaries
        self.quality = quality
        self.decoded = DecodedPiece([])
        self.next_boundary = -1
        self.is_one_event = False
        self.budget = REPAIR_FACTOR * (len(piece) + STRETCH_BYTES)
        self.between = bytearray()
        position = 0
        while position < len(piece) and self.decoded.tail is None:
            until = boundaries.first_after(piece, position + STRETCH_BYTES)
            events = decode_events(_as_list(piece[position:until]))
            if events is not None:
                self.decoded.events += events
                position = until
            else:
                position = self._event_by_event(position, until)
        self.decoded.between = bytes(self.between)

    def _event_by_event(self, position: int, until: int) -> int:
        piece = self.piece
        while position < until:
            gap = SEPARATOR.match(piece, position)
            assert gap is not None
            commas = gap[0].count(b",")
            position = gap.end()
            ends = position >= len(piece) or piece[position] == ord("]")
            self.quality.add("trailing_comma", commas if ends else commas - 1)
            if position >= len(piece):
                break
            if CLOSING.match(piece, position):
                following = self._following_object(position)
                if following is None:
                    self.decoded.tail = piece[position + 1 :]
                    return len(piece)
                position = following
                continue
            empty = EMPTY_EVENTS.match(piece, position)
            if empty is not None:
                self.quality.add("empty_event", empty[0].count(b"{"))
                position = empty.end()
            elif piece[position] != ord("{"):
                position = self._skip(position)
            else:
                position = self._event(position)
        return position

    def _following_object(self, position: int) -> int | None:
        """Where the events of the object after this one begin; None where none is joined."""
        following = None
        if self.budget >= 0 and b"traceEvents" in self.piece[position : position + MAX_BYTES]:
            following = next_object(self.piece, position, self.boundaries.base)
        if following is None:
            return None
        self.budget -= len(following.metadata) + REPAIR_COST_BYTES
        self.between += following.metadata + b"]"
        self.decoded.joined += 1
        return following.events_start

    def _skip(self, position: int) -> int:
        """Skip something in the array that is not an object; return where it ends."""
        end = self._end_of_value(position)
        if end is None:
            bracket = STRAY_BRACKET.match(self.piece, position)
            end = bracket.end() if bracket else self.boundaries.first_after(self.piece, position)
        self.quality.add("stray_text", 1, _preview(self.piece[position:end]))
        return end

    def _end_of_value(self, position: int) -> int | None:
        """The end of a string, number, word or list; None without one.

        For a list of events it is the position after the bracket: a piece may hold only a part of
        the list, so its events are read as if they were not in a list.
        """
        value = SCALAR.match(self.piece, position) or LIST_OF_EVENTS.match(self.piece, position)
        if value is not None:
            return value.end()
        is_list = self.piece[position : position + 1] == b"["
        parsed = self._parsed(position, len(self.piece)) if is_list else None
        return None if parsed is None else parsed[1]

    def _event(self, position: int) -> int:
        """Decode the event at ``position``; return where to continue."""
        if self.next_boundary <= position:
            self.next_boundary = self.boundaries.first_after(self.piece, position)
            self.is_one_event = self.next_boundary - position <= FAST_BYTES
        if self.is_one_event:
            text = _as_list(self.piece[position : self.next_boundary])
            events = decode_events(text)
            if events is not None and len(events) == 1:
                self.decoded.events += events
                return self.next_boundary
            self.is_one_event = False
        return self._damaged_event(position)

    def _damaged_event(self, position: int) -> int:
        if self.budget < 0:
            end = None
            ends = [self.next_boundary]
        else:
            end = self._valid(position, may_omit_time=False)
            if end is not None:
                return end
            ends = self._possible_ends(position)
            end = self._repaired(position, ends)
            if end is None:
                end = self._valid(position, may_omit_time=True)
        if end is None and ends:
            end = ends[0]
            self.quality.add("event_dropped", 1, _preview(self.piece[position:end]))
        return len(self.piece) if end is None else end

    def _valid(self, position: int, may_omit_time: bool) -> int | None:
        """Decode an event that a lenient decoder accepts; return its end, or None.

        An event without a time may be part of one whose name looks like the end of an event.
        """
        parsed = self._parsed(position, self.next_boundary)
        if parsed is None:
            return None
        value, end = parsed
        if not isinstance(value, dict) or not (may_omit_time or _is_complete(value)):
            return None
        if not self._may_end(end):
            return None
        return end if self._append(self.piece[position:end], RUNGS) else None

    def _parsed(self, position: int, limit: int) -> tuple[Any, int] | None:
        """The JSON value at ``position`` and its end; None if it reaches ``limit`` or is
        invalid."""
        size = WINDOW_BYTES
        while self.budget >= 0:
            text = self.piece[position : position + size].decode("utf-8", "surrogateescape")
            parsed = parse_lenient(text)
            if parsed is not None:
                length = len(text[: parsed.end].encode("utf-8", "surrogateescape"))
                return parsed.value, position + length
            if position + size >= limit:
                break
            self.budget -= size
            size *= 8
        return None

    def _may_end(self, end: int) -> bool:
        """Whether an event may end here: another event or the end of the array follows, possibly
        after stray values."""
        while AFTER_EVENT.match(self.piece, end) is None:
            commas = COMMAS.match(self.piece, end)
            value_end = None if commas is None else self._end_of_value(commas.end())
            if value_end is None:
                return False
            end = value_end
        return True

    def _repaired(self, position: int, ends: list[int]) -> int | None:
        """Repair the event at ``position``; the safest repairs are tried first, with every possible
        end."""
        for rungs in (RUNGS[:-1], RUNGS[-1:]):
            for end in ends:
                size = end - position
                if size > (MAX_REPAIR_BYTES if end == ends[0] else MAX_FURTHER_BYTES):
                    continue
                self.budget -= size + REPAIR_COST_BYTES
                if self.budget < 0:
                    return None
                if self._append(self.piece[position:end], rungs):
                    return end
        return None

    def _append(self, raw: bytes, rungs: Sequence[Rung]) -> bool:
        quality = QualityReport()
        text = decode_text(raw, quality)
        value = repaired_event(text, quality, rungs)
        if value is None:
            return False
        self.quality.merge(quality)
        self.decoded.events.append(event_of(value, text))
        return True

    def _possible_ends(self, position: int) -> list[int]:
        """Possible ends of the event: before the next events, then before the end of the array."""
        piece = self.piece
        ends: list[int] = []
        start = self.next_boundary
        while len(ends) < MAX_ENDS and start < len(piece):
            ends.append(piece.rindex(b"}", position, start) + 1)
            start = self.boundaries.first_after(piece, start)
        first = bisect_right(self.array_ends, position)
        ends += self.array_ends[first : first + MAX_ENDS]
        if not ends and not self.is_last:
            ends.append(len(piece.rstrip(BLANK)))
        return ends

    @cached_property
    def array_ends(self) -> list[int]:
        """Positions after a closing brace where the array may end."""
        return [match.end() for match in LAST_END.finditer(self.piece)]


def _as_list(text: bytes) -> bytes:
    return b"[" + text.strip(BLANK) + b"]"


def _is_complete(value: dict[str, Any]) -> bool:
    """Whether an event is complete: all have a time, except M events of some tools."""
    return not value or "ts" in value or (value.get("ph") == "M" and "args" in value)


def event_of(value: dict[str, Any], text: str) -> Event:
    """An event from a leniently parsed object and the text it was parsed from."""
    args = value.get("args")
    return Event(
        ph=value.get("ph"),
        cat=value.get("cat"),
        name=value.get("name"),
        pid=value.get("pid"),
        tid=value.get("tid"),
        ts=_as_written("ts", value, text),
        dur=_as_written("dur", value, text),
        id=value.get("id"),
        args=structs.NO_ARGS if args is None else msgspec.Raw(encode(args)),
    )


def _as_written(key: str, value: dict[str, Any], text: str) -> msgspec.Raw:
    """A time with all digits of the text, some of which the parsed number may have lost."""
    number = value.get(key)
    if isinstance(number, float):
        spelled = re.findall(rf'"{key}"\s*:\s*(-?\d+\.\d+)\b', text)
        same = next((digits for digits in spelled if float(digits) == number), repr(number))
        return msgspec.Raw(same.encode())
    return structs.ABSENT_RAW if number is None else msgspec.Raw(encode(number))


def _preview(raw: bytes) -> str:
    return raw[:200].decode("utf-8", "replace")
