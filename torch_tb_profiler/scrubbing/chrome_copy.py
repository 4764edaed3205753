"""Copies Chrome JSON event by event: Kineto's, and what other profilers write like it.

The text is read in pieces as the importer reads it, so that memory does not grow with the file.
Numbers stay as they are written. What the importer repairs is in the copy as it reads it; an event
that nobody can read is not in the copy, as nobody can say what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto.header import HeaderTail, header_values
from torch_tb_profiler.importers.kineto.piece_decoder import decode_piece
from torch_tb_profiler.importers.kineto.pieces import EventPiece, EventPieces
from torch_tb_profiler.importers.kineto.repair import encode, parse_lenient, repaired_object
from torch_tb_profiler.importers.kineto.structs import NO_ARGS, Event
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.trace.quality import QualityReport

_EVENTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

EVENTS_KEY = b'"traceEvents":['
PID = b'"pid'
_BLANK = b" \t\r\n,"
METADATA = b'"M"'

Fields = dict[str, msgspec.Raw]
"""An event: key → value as JSON."""


class ChromeCopy:
    """The copy of one file.

    Args:
        events: Scrubs events.
        header: Scrubs what is around them.
        remaining: Collects what stays.

    Attributes:
        quality: Damage of the original.
    """

    def __init__(
        self, events: JsonScrubber, header: JsonScrubber, remaining: RemainingCollector
    ) -> None:
        self._events = events
        self._header = header
        self._remaining = remaining
        self.quality = QualityReport()

    def pieces(self, source: EventPieces) -> Iterator[bytes]:
        """The text of the copy, piece by piece."""
        is_list = source.header.strip() == b"["
        before = {} if is_list else header_values(source.header, _closed(), QualityReport())
        before.pop("traceEvents", None)
        head = self._keys(before)
        yield b"[" if is_list else b"{" + head + (b"," if head else b"") + EVENTS_KEY
        tail, separator = HeaderTail(), b"\n"
        for piece in source:
            if tail.text is not None:  # the end of the events is in a piece before
                continue
            for fields in self._decoded(piece, source, tail):
                yield separator + self._event(fields)
                separator = b",\n"
        self.quality.add("truncated", int(tail.text is None))
        yield b"\n]"
        if is_list:
            yield b"\n"
            return
        after = header_values(source.header, tail, self.quality)
        rest = {key: value for key, value in after.items() if key not in before}
        rest.pop("traceEvents", None)
        foot = self._keys(rest)
        yield (b"," if foot else b"") + foot + b"}\n"

    def _keys(self, values: dict[str, Any]) -> bytes:
        """Keys of the header, without brackets."""
        raws = {key: msgspec.Raw(encode(value)) for key, value in values.items()}
        text = self._header.object(raws)
        for key, raw in _OBJECT.decode(text).items():
            self._remaining.add_header(key, msgspec.json.decode(raw))
        return text[1:-1]

    def _decoded(
        self, piece: EventPiece, source: EventPieces, tail: HeaderTail
    ) -> Iterable[Fields]:
        """The events of a piece; ``tail`` gets what follows them."""
        if not piece.is_last:
            try:
                events = _EVENTS.decode(piece.text)
            except _DECODE_ERRORS:
                events = None
            if events is not None and _has_single_names(piece.text, events):
                return events
        decoded = decode_piece(piece, source.boundaries, self.quality)
        tail.join(decoded.between, decoded.joined)
        tail.text = decoded.tail
        if piece.is_last and len(decoded.events) == 1:
            whole = _whole_event(piece.text)
            if whole is not None:
                return [whole]
        return map(_fields, decoded.events)

    def _event(self, fields: Fields) -> bytes:
        parent = ""
        args = fields.get("args")
        if fields.get("ph") is not None and bytes(fields["ph"]) == METADATA and "name" in fields:
            parent = bytes(fields["name"]).strip(b'"').decode("utf-8", "replace")
        if not parent or args is None:
            return self._events.object(fields)
        rest = {key: raw for key, raw in fields.items() if key != "args"}
        try:
            inside = self._events.object(_OBJECT.decode(args), parent)
        except _DECODE_ERRORS:
            return self._events.object(fields)
        return self._events.object(rest)[:-1] + b',"args":' + inside + b"}"


def _closed() -> HeaderTail:
    """What follows events that nothing follows."""
    return HeaderTail(b"}")


def _whole_event(text: bytes) -> Fields | None:
    """The event that a text begins with, with fields that the importer does not read; None if it
    is damaged."""
    decoded = text.lstrip(_BLANK).decode("utf-8", "replace")
    parsed = parse_lenient(decoded)
    if parsed is None or "pid" in parsed.repeated:
        return None
    try:
        return _OBJECT.decode(decoded[: parsed.end])
    except _DECODE_ERRORS:
        return None


def _has_single_names(text: bytes, events: list[Fields]) -> bool:
    """Whether no event holds ``pid`` twice, because its name ended at an unescaped quote."""
    count = text.count(PID)
    return count == len(events) or count <= sum("pid" in event for event in events)


def _fields(event: Event) -> Fields:
    """A repaired event: what the importer reads of it."""
    fields: Fields = {}
    for key in event.__struct_fields__:
        value = getattr(event, key)
        if isinstance(value, msgspec.Raw):
            if bytes(value) and value is not NO_ARGS:
                fields[key] = _valid(value)
        elif value is not None:
            fields[key] = msgspec.Raw(encode(value))
    return fields


def _valid(raw: msgspec.Raw) -> msgspec.Raw:
    """A value as valid JSON."""
    text = bytes(raw)
    try:
        msgspec.json.decode(text)
    except _DECODE_ERRORS:
        return msgspec.Raw(repaired_object(text, QualityReport()))
    return raw
