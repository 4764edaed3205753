"""An event of a Kineto trace, found again by its row, start, name and duration.

Text is searched for the digits of the start; only a piece that has them behind ``"ts":`` is
decoded. That costs what reading the file costs, for an event in its middle half of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import msgspec

from torch_tb_profiler.importers.event_query import (
    EventArguments,
    EventQuery,
    SearchEnd,
    SearchLimits,
)
from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.batch import UNNAMED
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.event_kinds import MEMORY_CATEGORY
from torch_tb_profiler.importers.kineto.file_pieces import FilePieces, is_plain_text
from torch_tb_profiler.importers.kineto.piece_decoder import decode_piece
from torch_tb_profiler.importers.kineto.pieces import EventPiece, EventPieces
from torch_tb_profiler.importers.kineto.repair import repaired_object
from torch_tb_profiler.importers.kineto.structs import Event
from torch_tb_profiler.importers.kineto.times import padded, raw_to_ns
from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, text_of
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.columns import Track
from torch_tb_profiler.trace.quality import QualityReport

TICK_NS = 1000
"""Of ``ts`` where an argument tells starts more exactly."""

SEARCH_BYTES = 1 << 20
"""Text that is searched, and decoded where it has the digits, at once."""

TS_KEY = re.compile(rb'"ts"\s*:\s*"?-?0*\Z')
MAX_KEY_BYTES = 64
ODD_TIME = re.compile(rb'"ts"\s*:\s*"?-?[\d.]*(?:\.\d{4}|[eExX])')
"""A time whose text may not begin with the digits of its microseconds: rounded, or with an
exponent. In files with such times everything is decoded."""

KNOWN_KEYS = frozenset(
    field.key
    for group in (
        structs.LINK_FIELDS,
        structs.OPERATOR_FIELDS,
        structs.COLLECTIVE_FIELDS,
        structs.PYTHON_FIELDS,
        structs.DEVICE_FIELDS,
    )
    for field in group.values()
)
"""Arguments that a trace has columns for."""

_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


def find(
    source: AnySource, query: EventQuery, limits: SearchLimits, dialect: Dialect | None = None
) -> EventArguments:
    """The arguments of one event of a file.

    Args:
        source: The file.
        query: The event.
        limits: How far is looked.
        dialect: What the file is written in; None: what keeps names, rows and starts as they are.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "no folder is a Kineto trace"
    search = _Search(query, limits, dialect)
    if source.path is not None and is_plain_text(source.path):
        places = FilePieces(source.path, SEARCH_BYTES)
        return search.result((place.read() for place in places), places.cuts)
    with closing(source.unpacked()) as unpacked:
        pieces = EventPieces(iter(utf8(unpacked, QualityReport())), SEARCH_BYTES)
        return search.result(iter(pieces), pieces.cuts)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An event that is called alike and begins at the moment.

    Attributes:
        dur_ns: As the trace has it, None where the event alone does not tell (of a B).
        args: Undecoded.
    """

    dur_ns: int | None
    args: bytes


class _Search:
    """One search for one event."""

    def __init__(self, query: EventQuery, limits: SearchLimits, dialect: Dialect | None) -> None:
        self._query = query
        self._dialect = dialect
        self._start_key = None if dialect is None else dialect.start_key
        self._limits = limits
        self._starts_ns = {query.start_ns, query.start_ns + query.base_ns}
        self._ticks_ns = {start // TICK_NS * TICK_NS for start in self._starts_ns}
        self._digits = [str(abs(start) // 1000).encode() for start in self._starts_ns]
        self._candidates: list[_Candidate] = []
        self._text_bytes = 0

    def result(self, pieces: Iterator[EventPiece], cuts: EventBoundaries) -> EventArguments:
        """What the pieces hold."""
        is_within = self._look(pieces, cuts)
        chosen = self._chosen()
        if chosen is None:
            end: SearchEnd = "too_far" if not is_within else "unclear"
            return self._ended("absent" if is_within and not self._candidates else end)
        return self._ended("found", _values(chosen.args))

    def _ended(self, end: SearchEnd, arguments: dict[str, str] | None = None) -> EventArguments:
        found = arguments or {}
        known = KNOWN_KEYS if self._dialect is None else KNOWN_KEYS | self._dialect.known_keys
        return EventArguments(end, found, known & found.keys(), self._text_bytes)

    def _look(self, pieces: Iterator[EventPiece], cuts: EventBoundaries) -> bool:
        """Gather the candidates; whether the end, or all of them, came before the limits."""
        until_s = time.monotonic() + self._limits.seconds
        by_digits: bool | None = None
        for piece in pieces:
            if by_digits is None:
                by_digits = ODD_TIME.search(piece.text) is None
            self._text_bytes += len(piece.text)
            if not by_digits or self._has_start(piece.text):
                decoded = decode_piece(piece, cuts, QualityReport())
                self._take(decoded.events, cuts)
                if decoded.tail is not None:
                    return True
            if len(self._candidates) >= len(self._query.twins_dur_ns):
                return True
            if self._text_bytes > self._limits.text_bytes or time.monotonic() > until_s:
                return False
        return True

    def _has_start(self, text: bytes) -> bool:
        """Whether the digits of the start stand somewhere as a time."""
        for digits in self._digits:
            at = text.find(digits)
            while at >= 0:
                if TS_KEY.search(text, max(0, at - MAX_KEY_BYTES), at):
                    return True
                at = text.find(digits, at + 1)
        return False

    def _take(self, events: Iterable[Event], cuts: EventBoundaries) -> None:
        for event in events:
            if not self._is_alike(event):
                continue
            ts, dur = event.ts, event.dur
            if cuts.has_unpadded_times:
                ts, dur = padded(ts), padded(dur)
            ts_ns = raw_to_ns(bytes(ts))
            if ts_ns not in self._starts_ns and not self._is_tick(ts_ns, event):
                continue
            # A duration that is absent or negative is 0 in the trace.
            dur_ns = max(0, raw_to_ns(bytes(dur))) if event.ph == "X" else None
            self._candidates.append(_Candidate(dur_ns, bytes(event.args)))

    def _is_tick(self, ts_ns: int, event: Event) -> bool:
        """Whether the event begins in the microsecond, and says itself when exactly."""
        key = self._start_key
        return key is not None and ts_ns in self._ticks_ns and key in bytes(event.args)

    def _is_alike(self, event: Event) -> bool:
        query = self._query
        return (
            event.ph in ("X", "B")
            and event.cat != MEMORY_CATEGORY
            and text_of(event.pid) == query.pid
            and self._may_stand_on(text_of(event.tid))
            and (_cut(event.cat) or None) == query.raw_category
            and self._may_be_called(_cut(event.name) or UNNAMED)
        )

    def _may_be_called(self, name: str) -> bool:
        """Whether the trace may call an event so: as the file does, or as its dialect renames."""
        renamed = None if self._dialect is None else self._dialect.renamed
        return name == self._query.name or (
            renamed is not None and renamed(name) == self._query.name
        )

    def _may_stand_on(self, tid: str) -> bool:
        """Whether a row is that of the thread: by its number, or joined to it by its dialect."""
        thread = None if self._dialect is None else self._dialect.thread
        return tid == self._query.tid or (
            thread is not None and thread(Track("", tid)).tid == self._query.tid
        )

    def _chosen(self) -> _Candidate | None:
        """The candidate that is the slice; None where that is not clear."""
        twins, index = self._query.twins_dur_ns, self._query.index
        if len(self._candidates) != len(twins):
            return None
        own = twins[index]
        same = [each for each in self._candidates if each.dur_ns == own]
        if len(same) == twins.count(own):
            return same[twins[:index].count(own)]
        # What no duration tells (a B, a duration beyond sense): in the order of the file, which is
        # that of the twins without the others.
        told = {each.dur_ns for each in self._candidates} & set(twins)
        rest = [each for each in self._candidates if each.dur_ns not in told]
        left = [number for number, dur_ns in enumerate(twins) if dur_ns not in told]
        return rest[left.index(index)] if len(rest) == len(left) and index in left else None


def _cut(value: object) -> str:
    return text_of(value)[:MAX_TEXT_CHARS]


def _values(args: bytes) -> dict[str, str]:
    """Name → JSON text of the value; as far as a damaged object can be repaired."""
    try:
        raws = _OBJECT.decode(args)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raws = _OBJECT.decode(repaired_object(args, QualityReport()))
    return {name: bytes(raw).decode("utf-8", "replace") for name, raw in raws.items()}
