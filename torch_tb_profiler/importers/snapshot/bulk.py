"""Bulk decoding of the entries of allocator traces: their opcodes are decoded in lockstep.

A snapshot of a gigabyte has millions of entries, each a dict of the same few keys, written with the
same opcodes except for the widths of numbers. Every offset where such a dict may begin is a
candidate; all candidates of a window are decoded at once, field by field. A candidate is only
confirmed when the entry before it ends there: :class:`Candidates` has runs of dicts that follow
each other without a gap, to be used from an offset where an opcode is known to begin. Everything
else (opcodes in between, a new frame, another set of keys) is not a candidate and is read opcode by
opcode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.importers.plain_pickle import opcodes as op
from torch_tb_profiler.importers.snapshot.frame_lists import MASKS, NO_LIST, FrameLists, Words
from torch_tb_profiler.trace.columns import Bools, Int8, Int64

_BATCH_ROWS = 8192
"""Candidates decoded at a time, which fit into the CPU cache."""

TAIL_BYTES = 256
"""No candidate begins this close to the end of a window: the entry might be incomplete."""

DECODED_KEYS = frozenset(("action", "addr", "device_free", "size", "stream", "time_us", "frames"))
"""Keys whose values are decoded; texts only as references to the memo."""

NUMBER, REFERENCE, FRAME_LIST, OTHER, TEXT = range(5)
"""Kinds of values: an integer, a memo index, the number of a list of frames
(:meth:`~torch_tb_profiler.importers.snapshot.stacks.Stacks.list_number`; -1 for an empty one),
anything else; a text as ``start << TEXT_SIZE_BITS | size`` in the window, in bytes."""

TEXT_SIZE_BITS = 32
TEXT_SIZE_MASK = (1 << TEXT_SIZE_BITS) - 1

_WIDTH = np.zeros(256, np.int64)
for _code, _bytes in {
    op.BININT1: 1, op.BININT2: 2, op.BININT: 4, op.BINGET: 1, op.LONG_BINGET: 4,
}.items():  # fmt: skip
    _WIDTH[_code] = _bytes
_IS_VALUE = _WIDTH > 0
_IS_VALUE[[op.NONE, op.TRUE, op.FALSE]] = True
_PUT = np.zeros(256, np.int64)
_PUT[op.MEMOIZE], _PUT[op.BINPUT], _PUT[op.LONG_BINPUT] = 1, 2, 5


class Template(Struct, frozen=True):
    """The layout of entries.

    Attributes:
        keys: The keys, in order.
        indices: Their memo indices.
    """

    keys: tuple[str, ...]
    indices: tuple[int, ...]


class EntryColumn(Struct, frozen=True):
    """The values of one key: value, kind (:data:`NUMBER` …) and, of texts, memo index (``~n`` as in
    :class:`Candidates`) per candidate."""

    value: Int64
    kind: Int8
    memo_index: Int64


class Candidates(Struct, frozen=True):
    """The entries that a window may contain.

    Attributes:
        start: Start of each.
        end: End of each.
        last: The last candidate of its run; -1 if it is not a valid entry.
        memoized: Cumulative number of memoized values, from 0 before the first candidate.
        frame_list: The number of the list of frames in the entry; -1 for none.
        memo_index: The memo index of that list; ``~n`` if it is implicit (opcode ``MEMOIZE``) and n
            values of the entry are memoized before it.
        columns: Key → values.
    """

    start: Int64
    end: Int64
    last: Int64
    memoized: Int64
    frame_list: Int64
    memo_index: Int64
    columns: dict[str, EntryColumn]


class _Decoder:
    """Decodes some candidates of one window, field by field.

    Args:
        words: The eight bytes at each offset of the window, as integers.
        start: Start of each candidate.
        at: Offset after its MARK.
    """

    def __init__(self, words: Words, start: Int64, at: Int64) -> None:
        self.words = words
        self.at = at
        self.is_valid = np.ones(len(at), np.bool_)
        is_memoized = (words[start + 1] & np.uint64(0xFF)) != op.MARK
        self.memoized: Int64 = is_memoized.astype(np.int64)
        self.columns: dict[str, EntryColumn] = {}
        self.list_start = np.full(len(at), -1)
        self.memo_index = np.zeros(len(at), np.int64)
        self.is_open = np.zeros(len(at), np.bool_)

    def word(self, shift: int | Int64 = 0) -> Words:
        word: Words = self.words[np.minimum(self.at + shift, len(self.words) - 1)]
        return word

    def expect(self, expected: bytes) -> None:
        """Skip bytes that all candidates must have."""
        mask = MASKS[len(expected)]
        expected_word = np.uint64(int.from_bytes(expected, "little"))
        self.is_valid &= (self.word() & mask) == expected_word
        self.at = self.at + len(expected)

    def put(self, where: Bools) -> tuple[Int64, Bools]:
        """Skip the opcode that memoizes the last value.

        Returns:
            The memo index (``~n`` if it is implicit, n values of the entry being memoized before),
            and where there was such an opcode.
        """
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
        """Decode one value per candidate; texts only where they are allowed."""
        word = self.word()
        code = (word & np.uint64(0xFF)).astype(np.intp)
        width = _WIDTH[code]
        value = ((word >> np.uint64(8)) & MASKS[width]).astype(np.int64)
        is_signed = code == op.BININT
        if is_signed.any():
            value = np.where(is_signed, value.astype(np.int32), value)
        is_reference = (code == op.BINGET) | (code == op.LONG_BINGET)
        kind = np.where(is_reference, REFERENCE, np.where(width > 0, NUMBER, OTHER))
        is_long, is_wide = code == op.LONG1, code == op.BINUNICODE
        is_text = is_wide | (code == op.SHORT_BINUNICODE)
        is_list = code == op.EMPTY_LIST
        is_valid = _IS_VALUE[code] | is_long | (is_text & may_be_text) | is_list
        if is_long.any():
            width, value = self._long(word, is_long, width, value)
            is_valid &= width >= 0
            kind[is_long] = NUMBER
        if is_text.any():
            head = np.where(is_wide, 4, 1)
            size = ((word >> np.uint64(8)) & MASKS[head]).astype(np.int64)
            width = np.where(is_text, head + size, width)
            value = np.where(is_text, (self.at + 1 + head) << TEXT_SIZE_BITS | size, value)
            kind[is_text] = TEXT
        self.at = self.at + 1 + width
        memo_index, _ = self.put(is_text) if is_text.any() else (np.zeros_like(value), is_text)
        if is_list.any():
            kind[is_list] = FRAME_LIST
            value[is_list] = -1
            self._list(is_list, is_last)
        self.is_valid &= is_valid
        return EntryColumn(value, kind.astype(np.int8), memo_index)

    def _long(self, word: Words, is_long: Bools, width: Int64, value: Int64) -> tuple[Int64, Int64]:
        """Integers of variable length, up to eight bytes."""
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
        """Record where lists of references begin; they end where the next entry begins."""
        index, _ = self.put(is_list)
        opens = is_list & ((self.word() & np.uint64(0xFF)) == op.MARK)
        if not is_last:
            self.is_valid &= ~opens
        self.is_open = opens
        self.list_start = np.where(opens, self.at + 1, -1)
        self.memo_index = index


def decode_candidates(data: bytes, template: Template, frame_lists: FrameLists) -> Candidates:
    """Decode all entries that a window may contain.

    Args:
        data: The window, of at least :data:`TAIL_BYTES`.
        template: The layout of entries.
        frame_lists: Numbers the lists of frames in entries.
    """
    first = _reference(template.indices[0])
    start, at = _find_starts(data, first)
    words: Words = np.ndarray((len(data) - 8,), "<u8", data, strides=(1,))
    decoders = [
        _decoded(words, start[part], at[part], template)
        for part in (
            slice(at, at + _BATCH_ROWS) for at in range(0, max(len(start), 1), _BATCH_ROWS)
        )
    ]

    def joined(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(decoder, name) for decoder in decoders])

    columns = {
        key: EntryColumn(
            np.concatenate([decoder.columns[key].value for decoder in decoders]),
            np.concatenate([decoder.columns[key].kind for decoder in decoders]),
            np.concatenate([decoder.columns[key].memo_index for decoder in decoders]),
        )
        for key in template.keys
    }
    at, is_open, list_start, memoized = map(joined, ("at", "is_open", "list_start", "memoized"))
    is_closed = (words[np.minimum(at, len(words) - 1)] & np.uint64(0xFF)) == op.SETITEMS
    following = np.append(start[1:], len(data))
    tail = words[np.clip(following - 2, 0, len(words) - 1)] & np.uint64(0xFFFF)
    closes = (tail == (op.APPENDS | op.SETITEMS << 8)) & (list_start <= following - 2)
    is_valid = joined("is_valid") & np.where(is_open, closes, is_closed)
    is_valid[-1:] &= ~is_open[-1:]
    end = np.where(is_open, following, at + 1)
    frame_list = np.full(len(start), -1)
    opened = np.flatnonzero(is_valid & is_open)
    frame_list[opened] = frame_lists.numbers(data, list_start[opened], following[opened] - 2)
    is_valid &= frame_list > NO_LIST
    columns[template.keys[-1]].value[is_open] = frame_list[is_open]
    return Candidates(
        start,
        end,
        _last_of_runs(start, end, is_valid),
        np.concatenate(([0], np.cumsum(np.where(is_valid, memoized, 0)))),
        np.where(is_open, frame_list, -1),
        joined("memo_index"),
        columns,
    )


def _decoded(words: Words, start: Int64, at: Int64, template: Template) -> _Decoder:
    """Decode candidates up to the end of the last value, or the start of its list."""
    decoder = _Decoder(words, start, at)
    for key, index in zip(template.keys, template.indices, strict=True):
        decoder.expect(_reference(index))
        is_last = key == template.keys[-1]
        value = decoder.value(is_last=is_last, may_be_text=key not in DECODED_KEYS)
        decoder.columns[key] = value
    return decoder


def _reference(index: int) -> bytes:
    """The opcode that refers to a memo index."""
    if index < 256:
        return bytes((op.BINGET, index))
    return bytes((op.LONG_BINGET,)) + index.to_bytes(4, "little")


def _find_starts(data: bytes, first: bytes) -> tuple[Int64, Int64]:
    """Offsets where dicts with the first key ``first`` may begin, and the offsets of that key."""
    words: Words = np.ndarray((len(data) - 8,), "<u8", data, strides=(1,))
    mark = _find_all(words, data, bytes((op.MARK,)) + first)
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


def _find_all(words: Words, data: bytes, pattern: bytes) -> Int64:
    """Ascending offsets of a short byte string; compares two or four bytes at a time."""
    width = 4 if len(pattern) >= 4 else 2
    prefix = int.from_bytes(pattern[:width], "little")
    offsets_per_shift = [
        np.flatnonzero(
            np.frombuffer(data, f"<u{width}", (len(data) - shift) // width, shift) == prefix
        )
        * width
        + shift
        for shift in range(width)
    ]
    offsets: Int64 = np.sort(np.concatenate(offsets_per_shift))
    offsets = offsets[offsets < len(words)]
    whole = np.uint64(int.from_bytes(pattern, "little"))
    is_whole: Bools = (words[offsets] & MASKS[len(pattern)]) == whole
    return offsets[is_whole]


def _last_of_runs(start: Int64, end: Int64, is_valid: Bools) -> Int64:
    """For each candidate the last one of its run without gaps; -1 for invalid ones."""
    count = len(start)
    if not count:
        return np.empty(0, np.int64)
    has_next = np.zeros(count, np.bool_)
    has_next[:-1] = is_valid[:-1] & is_valid[1:] & (end[:-1] == start[1:])
    stops = np.flatnonzero(~has_next)
    last = stops[np.searchsorted(stops, np.arange(count))]
    return np.where(is_valid, last, -1)
