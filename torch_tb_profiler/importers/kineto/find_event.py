"""Searches a Kineto trace for one event, by row, start, name and duration.

The text is searched for the digits of the start; only a piece that has them after ``"ts":`` is
decoded. A search costs as much as reading the file up to the event.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import closing

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
"""Resolution of ``ts`` in dialects that have exact starts in an argument."""

SEARCH_BYTES = 1 << 20
"""Size of the pieces that are searched, and decoded if they have the digits."""

TS_KEY = re.compile(rb'"ts"\s*:\s*"?-?0*\Z')
MAX_KEY_BYTES = 64
ODD_TIME = re.compile(rb'"ts"\s*:\s*"?-?[\d.]*(?:\.\d{4}|[eExX])')
"""A time whose text may not begin with the digits of its microseconds: one that is rounded or has
an exponent. In files with such times every piece is decoded."""

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
"""Keys of the arguments that a trace has columns for."""

_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


def find(
    source: AnySource, query: EventQuery, limits: SearchLimits, dialect: Dialect | None = None
) -> EventArguments:
    """Search a file for the arguments of one event.

    Args:
        source: The file.
        query: The event.
        limits: Where the search gives up.
        dialect: The dialect of the file, if it changes names, rows or starts; else None.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a Kineto trace is a file"
    search = _Search(query, limits, dialect)
    if source.path is not None and is_plain_text(source.path):
        file_pieces = FilePieces(source.path, SEARCH_BYTES)
        return search.result((piece.read() for piece in file_pieces), file_pieces.boundaries)
    with closing(source.unpacked()) as unpacked:
        pieces = EventPieces(iter(utf8(unpacked, QualityReport())), SEARCH_BYTES)
        return search.result(iter(pieces), pieces.boundaries)


class _Candidate(msgspec.Struct, frozen=True):
    """An event with the name, row and start of the query.

    Attributes:
        dur_ns: Its duration; None for a B event, whose duration is not in the event.
        args: Its undecoded arguments.
    """

    dur_ns: int | None
    args: bytes


class _Search:
    """One search for one event."""

    def __init__(self, query: EventQuery, limits: SearchLimits, dialect: Dialect | None) -> None:
        self._query = query
        self._dialect = dialect
        self._start_key = None if dialect is None else dialect.exact_start_key
        self._limits = limits
        self._starts_ns = {query.start_ns, query.start_ns + query.base_ns}
        self._ticks_ns = {start // TICK_NS * TICK_NS for start in self._starts_ns}
        self._digits = [str(abs(start) // 1000).encode() for start in self._starts_ns]
        self._candidates: list[_Candidate] = []
        self._text_bytes = 0

    def result(self, pieces: Iterator[EventPiece], boundaries: EventBoundaries) -> EventArguments:
        """Search the pieces."""
        is_complete = self._collect_candidates(pieces, boundaries)
        match = self._match()
        if match is None:
            end: SearchEnd = "too_far" if not is_complete else "unclear"
            return self._result("absent" if is_complete and not self._candidates else end)
        return self._result("found", _values(match.args))

    def _result(self, end: SearchEnd, arguments: dict[str, str] | None = None) -> EventArguments:
        arguments = arguments or {}
        known = KNOWN_KEYS if self._dialect is None else KNOWN_KEYS | self._dialect.known_keys
        return EventArguments(end, arguments, known & arguments.keys(), self._text_bytes)

    def _collect_candidates(
        self, pieces: Iterator[EventPiece], boundaries: EventBoundaries
    ) -> bool:
        """Collect the candidates; return False if a limit was reached before all of them."""
        deadline_s = time.monotonic() + self._limits.seconds
        can_search_digits: bool | None = None
        for piece in pieces:
            if can_search_digits is None:
                can_search_digits = ODD_TIME.search(piece.text) is None
            self._text_bytes += len(piece.text)
            if not can_search_digits or self._has_start(piece.text):
                decoded = decode_piece(piece, boundaries, QualityReport())
                self._add_candidates(decoded.events, boundaries)
                if decoded.tail is not None:
                    return True
            if len(self._candidates) >= len(self._query.twins_dur_ns):
                return True
            if self._text_bytes > self._limits.text_bytes or time.monotonic() > deadline_s:
                return False
        return True

    def _has_start(self, text: bytes) -> bool:
        """Whether the digits of the start occur as a time."""
        for digits in self._digits:
            at = text.find(digits)
            while at >= 0:
                if TS_KEY.search(text, max(0, at - MAX_KEY_BYTES), at):
                    return True
                at = text.find(digits, at + 1)
        return False

    def _add_candidates(self, events: Iterable[Event], boundaries: EventBoundaries) -> None:
        for event in events:
            if not self._matches(event):
                continue
            ts, dur = event.ts, event.dur
            if boundaries.has_unpadded_times:
                ts, dur = padded(ts), padded(dur)
            ts_ns = raw_to_ns(bytes(ts))
            if ts_ns not in self._starts_ns and not self._is_tick(ts_ns, event):
                continue
            # An absent or negative duration is 0 in the trace.
            dur_ns = max(0, raw_to_ns(bytes(dur))) if event.ph == "X" else None
            self._candidates.append(_Candidate(dur_ns, bytes(event.args)))

    def _is_tick(self, ts_ns: int, event: Event) -> bool:
        """Whether the event begins in the right microsecond and has an exact start in its
        arguments."""
        key = self._start_key
        return key is not None and ts_ns in self._ticks_ns and key in bytes(event.args)

    def _matches(self, event: Event) -> bool:
        query = self._query
        return (
            event.ph in ("X", "B")
            and event.cat != MEMORY_CATEGORY
            and text_of(event.pid) == query.pid
            and self._is_on_thread(text_of(event.tid))
            and (_truncated(event.cat) or None) == query.raw_category
            and self._is_named(_truncated(event.name) or UNNAMED)
        )

    def _is_named(self, name: str) -> bool:
        """Whether the name, as written or as the dialect normalizes it, is that of the query."""
        rename = None if self._dialect is None else self._dialect.rename
        return name == self._query.name or (rename is not None and rename(name) == self._query.name)

    def _is_on_thread(self, tid: str) -> bool:
        """Whether a row belongs to the thread: by its id, or because the dialect merges it."""
        thread_of = None if self._dialect is None else self._dialect.thread_of
        return tid == self._query.tid or (
            thread_of is not None and thread_of(Track("", tid)).tid == self._query.tid
        )

    def _match(self) -> _Candidate | None:
        """The candidate that is the slice; None if it is ambiguous."""
        twins, index = self._query.twins_dur_ns, self._query.index
        if len(self._candidates) != len(twins):
            return None
        dur_ns = twins[index]
        same = [each for each in self._candidates if each.dur_ns == dur_ns]
        if len(same) == twins.count(dur_ns):
            return same[twins[:index].count(dur_ns)]
        # Candidates whose duration does not decide (a B event, an implausible duration) are matched
        # by file order with the remaining twins.
        decided = {each.dur_ns for each in self._candidates} & set(twins)
        rest = [each for each in self._candidates if each.dur_ns not in decided]
        remaining = [position for position, dur_ns in enumerate(twins) if dur_ns not in decided]
        if len(rest) != len(remaining) or index not in remaining:
            return None
        return rest[remaining.index(index)]


def _truncated(value: object) -> str:
    return text_of(value)[:MAX_TEXT_CHARS]


def _values(args: bytes) -> dict[str, str]:
    """Name → value as JSON text; a damaged object is repaired as far as possible."""
    try:
        raws = _OBJECT.decode(args)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raws = _OBJECT.decode(repaired_object(args, QualityReport()))
    return {name: bytes(raw).decode("utf-8", "replace") for name, raw in raws.items()}
