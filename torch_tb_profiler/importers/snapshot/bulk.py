"""Entries of allocator traces, many at once: their opcodes are decoded in lockstep.

A snapshot of a gigabyte holds millions of entries, each a dict of the same few keys, written with
the same opcodes but for the widths of numbers. Wherever such a dict may begin it is decoded, all
of a window at once, field by field. Whether one did begin there is only known once the one before
ends there: :class:`Candidates` answers runs of dicts that follow each other without a gap, from a
place where an opcode surely begins. Everything else (an opcode between them, a frame that was not
told before, another set of keys) is no candidate, and is read one opcode after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.snapshot import opcodes as op
from torch_tb_profiler.importers.snapshot.frame_lists import MASKS, NO_LIST, FrameLists, Words
from torch_tb_profiler.trace.columns import Bools, Int8, Int64

_AT_ONCE = 8192
"""So many candidates at a time fit into a processor's cache."""

TAIL_BYTES = 256
"""Nothing begins so near to the end of a window: the entry would not be whole."""

KEPT_KEYS = frozenset(("action", "addr", "device_free", "size", "stream", "time_us", "frames"))
"""Keys whose values are kept; texts are so only where the memo has them."""

NUMBER, REFERENCE, BODY, NOTHING = 0, 1, 2, 3
"""What a value is: a number, the number of what it refers to in the memo, the number of a
list that is written down (:meth:`~.stacks.Stacks.of_body`; -1 an empty one), anything else."""

_WIDTH = np.zeros(256, np.int64)
for _code, _bytes in {
    op.BININT1: 1, op.BININT2: 2, op.BININT: 4, op.BINGET: 1, op.LONG_BINGET: 4,
}.items():  # fmt: skip
    _WIDTH[_code] = _bytes
_IS_VALUE = _WIDTH > 0
_IS_VALUE[[op.NONE, op.TRUE, op.FALSE]] = True
_PUT = np.zeros(256, np.int64)
_PUT[op.MEMOIZE], _PUT[op.BINPUT], _PUT[op.LONG_BINPUT] = 1, 2, 5


@dataclass(frozen=True, slots=True)
class Template:
    """How entries are written: their keys in order, and where the memo has them.

    Attributes:
        keys: The keys.
        indices: Their numbers in the memo.
    """

    keys: tuple[str, ...]
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EntryColumn:
    """One key of the candidates: value and kind (:data:`NUMBER` …) of each."""

    value: Int64
    kind: Int8


@dataclass(frozen=True, slots=True)
class Candidates:
    """The entries that a window may hold.

    Attributes:
        start: Where each begins.
        end: Behind it.
        last: Of each the last one of its run; -1 where it is none.
        memoized: How many values of each are memoized without a number, added up from the first.
        body: The number of the list that each writes down itself, -1 for none.
        body_index: The number of that list in the memo; of those without a number (``~n``) how
            many of the entry are memoized before it.
        columns: Values by key.
    """

    start: Int64
    end: Int64
    last: Int64
    memoized: Int64
    body: Int64
    body_index: Int64
    columns: dict[str, EntryColumn]


class _Decoder:
    """The state of decoding some candidates of one window, a field at a time.

    Args:
        words: The eight bytes from each place of the window on.
        start: Where each candidate begins.
        at: Behind its MARK.
    """

    def __init__(self, words: Words, start: Int64, at: Int64) -> None:
        self.words = words
        self.at = at
        self.is_fine = np.ones(len(at), np.bool_)
        is_memoized = (words[start + 1] & np.uint64(0xFF)) != op.MARK
        self.memoized: Int64 = is_memoized.astype(np.int64)
        self.columns: dict[str, EntryColumn] = {}
        self.body_start = np.full(len(at), -1)
        self.body_index = np.zeros(len(at), np.int64)
        self.is_open = np.zeros(len(at), np.bool_)

    def word(self, shift: int | Int64 = 0) -> Words:
        word: Words = self.words[np.minimum(self.at + shift, len(self.words) - 1)]
        return word

    def expect(self, expected: bytes) -> None:
        """Pass over bytes that are the same in all."""
        mask = MASKS[len(expected)]
        wanted = np.uint64(int.from_bytes(expected, "little"))
        self.is_fine &= (self.word() & mask) == wanted
        self.at = self.at + len(expected)

    def put(self, where: Bools) -> tuple[Int64, Bools]:
        """Pass over what puts the last value into the memo; its number there (``~n`` where it has
        none, n memoized before it in the entry), and where anything did."""
        word = self.word()
        code = (word & np.uint64(0xFF)).astype(np.intp)
        width = np.where(where, _PUT[code], 0)
        is_counted = width == 1
        index = ((word >> np.uint64(8)) & MASKS[np.maximum(width - 1, 0)]).astype(np.int64)
        index = np.where(is_counted, ~self.memoized, index)
        self.memoized = self.memoized + (width > 0)
        self.at = self.at + width
        return index, width > 0

    def value(self, *, is_last: bool, may_be_text: bool) -> EntryColumn:
        """Decode one value of each; texts are passed over, where they may be."""
        word = self.word()
        code = (word & np.uint64(0xFF)).astype(np.intp)
        width = _WIDTH[code]
        value = ((word >> np.uint64(8)) & MASKS[width]).astype(np.int64)
        is_signed = code == op.BININT
        if is_signed.any():
            value = np.where(is_signed, value.astype(np.int32), value)
        is_reference = (code == op.BINGET) | (code == op.LONG_BINGET)
        kind = np.where(is_reference, REFERENCE, np.where(width > 0, NUMBER, NOTHING))
        is_long, is_wide = code == op.LONG1, code == op.BINUNICODE
        is_text = is_wide | (code == op.SHORT_BINUNICODE)
        is_list = code == op.EMPTY_LIST
        fine = _IS_VALUE[code] | is_long | (is_text & may_be_text) | is_list
        if is_long.any():
            width, value = self._long(word, is_long, width, value)
            fine &= width >= 0
            kind[is_long] = NUMBER
        if is_text.any():
            head = np.where(is_wide, 4, 1)
            size = ((word >> np.uint64(8)) & MASKS[head]).astype(np.int64)
            width = np.where(is_text, head + size, width)
        self.at = self.at + 1 + width
        if is_text.any():
            self.put(is_text)
        if is_list.any():
            kind[is_list] = BODY
            value[is_list] = -1
            self._list(is_list, is_last)
        self.is_fine &= fine
        return EntryColumn(value, kind.astype(np.int8))

    def _long(self, word: Words, is_long: Bools, width: Int64, value: Int64) -> tuple[Int64, Int64]:
        """Integers of as many bytes as they say, eight at most."""
        count = ((word >> np.uint64(8)) & np.uint64(0xFF)).astype(np.int64)
        is_short = count <= 8
        used = np.where(is_short, count, 0)
        raw = self.word(2) & MASKS[used]
        sign = np.uint64(1) << (np.maximum(used * 8 - 1, 0)).astype(np.uint64)
        is_negative = ((raw & sign) != 0) & (used > 0)
        raw = np.where(is_negative, raw | ~MASKS[used], raw)
        width = np.where(is_long, np.where(is_short, 1 + count, -1), width)
        return width, np.where(is_long, raw.view(np.int64), value)

    def _list(self, is_list: Bools, is_last: bool) -> None:
        """Lists of references: where they begin. They end where the next entry begins."""
        index, _ = self.put(is_list)
        opens = is_list & ((self.word() & np.uint64(0xFF)) == op.MARK)
        if not is_last:
            self.is_fine &= ~opens
        self.is_open = opens
        self.body_start = np.where(opens, self.at + 1, -1)
        self.body_index = index


def find(data: bytes, template: Template, bodies: FrameLists) -> Candidates:
    """All entries that a window may hold, decoded.

    Args:
        data: The window, of at least :data:`TAIL_BYTES`.
        template: How entries are written.
        bodies: Where lists of frames that entries write down are counted.
    """
    first = _reference(template.indices[0])
    start, at = _heads(data, first)
    words: Words = np.ndarray((len(data) - 8,), "<u8", data, strides=(1,))
    decoders = [
        _decoded(words, start[part], at[part], template)
        for part in (slice(at, at + _AT_ONCE) for at in range(0, max(len(start), 1), _AT_ONCE))
    ]

    def joined(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(decoder, name) for decoder in decoders])

    columns = {
        key: EntryColumn(
            np.concatenate([decoder.columns[key].value for decoder in decoders]),
            np.concatenate([decoder.columns[key].kind for decoder in decoders]),
        )
        for key in template.keys
    }
    at, is_open, begin, memoized = map(joined, ("at", "is_open", "body_start", "memoized"))
    is_closed = (words[np.minimum(at, len(words) - 1)] & np.uint64(0xFF)) == op.SETITEMS
    following = np.append(start[1:], len(data))
    tail = words[np.clip(following - 2, 0, len(words) - 1)] & np.uint64(0xFFFF)
    closes = (tail == (op.APPENDS | op.SETITEMS << 8)) & (begin <= following - 2)
    fine = joined("is_fine") & np.where(is_open, closes, is_closed)
    fine[-1:] &= ~is_open[-1:]
    end = np.where(is_open, following, at + 1)
    body = np.full(len(start), -1)
    opened = np.flatnonzero(fine & is_open)
    body[opened] = bodies.numbers(data, begin[opened], following[opened] - 2)
    fine &= body > NO_LIST
    columns[template.keys[-1]].value[is_open] = body[is_open]
    return Candidates(
        start,
        end,
        _last_of_runs(start, end, fine),
        np.concatenate(([0], np.cumsum(np.where(fine, memoized, 0)))),
        np.where(is_open, body, -1),
        joined("body_index"),
        columns,
    )


def _decoded(words: Words, start: Int64, at: Int64, template: Template) -> _Decoder:
    """Candidates, decoded up to where the last value ends or its list begins."""
    decoder = _Decoder(words, start, at)
    for key, index in zip(template.keys, template.indices, strict=True):
        decoder.expect(_reference(index))
        is_last = key == template.keys[-1]
        value = decoder.value(is_last=is_last, may_be_text=key not in KEPT_KEYS)
        decoder.columns[key] = value
    return decoder


def _reference(index: int) -> bytes:
    """How the memo is asked for something."""
    if index < 256:
        return bytes((op.BINGET, index))
    return bytes((op.LONG_BINGET,)) + index.to_bytes(4, "little")


def _heads(data: bytes, first: bytes) -> tuple[Int64, Int64]:
    """Where dicts may begin whose first key is ``first``, and where that stands."""
    words: Words = np.ndarray((len(data) - 8,), "<u8", data, strides=(1,))
    mark = _places(words, data, bytes((op.MARK,)) + first)
    mark = mark[(mark >= 6) & (mark < len(data) - TAIL_BYTES)]
    before = words[mark - 6].view(np.uint8).reshape(-1, 8)
    start = np.full(len(mark), -1)
    for width, put in ((0, None), (5, op.LONG_BINPUT), (2, op.BINPUT), (1, op.MEMOIZE)):
        is_head = before[:, 5 - width] == op.EMPTY_DICT
        if put is not None:
            is_head &= before[:, 6 - width] == put
        start[is_head] = mark[is_head] - 1 - width
    is_head = start >= 0
    return start[is_head], mark[is_head] + 1


def _places(words: Words, data: bytes, wanted: bytes) -> Int64:
    """Where a few bytes stand, ascending: at every second or fourth place at a time."""
    width = 4 if len(wanted) >= 4 else 2
    begin = int.from_bytes(wanted[:width], "little")
    found = [
        np.flatnonzero(
            np.frombuffer(data, f"<u{width}", (len(data) - shift) // width, shift) == begin
        )
        * width
        + shift
        for shift in range(width)
    ]
    places: Int64 = np.sort(np.concatenate(found))
    places = places[places < len(words)]
    whole = np.uint64(int.from_bytes(wanted, "little"))
    is_whole: Bools = (words[places] & MASKS[len(wanted)]) == whole
    return places[is_whole]


def _last_of_runs(start: Int64, end: Int64, fine: Bools) -> Int64:
    """Of each entry the last one that follows it without a gap; -1 for those that are none."""
    count = len(start)
    if not count:
        return np.empty(0, np.int64)
    goes_on = np.zeros(count, np.bool_)
    goes_on[:-1] = fine[:-1] & fine[1:] & (end[:-1] == start[1:])
    stops = np.flatnonzero(~goes_on)
    last = stops[np.searchsorted(stops, np.arange(count))]
    return np.where(fine, last, -1)
