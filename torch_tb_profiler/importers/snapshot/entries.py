"""Entries of allocator traces → columns, in the order in which they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.importers.snapshot.bulk import (
    DECODED_KEYS,
    FRAME_LIST,
    NUMBER,
    REFERENCE,
    TAIL_BYTES,
    TEXT,
    TEXT_SIZE_BITS,
    TEXT_SIZE_MASK,
    Candidates,
    EntryColumn,
    Template,
    decode_candidates,
)
from torch_tb_profiler.importers.snapshot.frame_lists import FrameLists
from torch_tb_profiler.importers.snapshot.growing_columns import GrowingColumns
from torch_tb_profiler.importers.snapshot.metadata import METADATA_KEYS, MetadataTexts
from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks
from torch_tb_profiler.trace.columns import ABSENT, Int8, Int32, Int64
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS

ADDRESS_KEYS = ("addr", "device_free")
KEYS = DECODED_KEYS | {"compile_context", "pool_id", *METADATA_KEYS}
"""Keys of entries, from ``memorySnapshot`` in torch/csrc/cuda/Module.cpp."""

UNKNOWN_ACTION = -1
_MIN_REPEATS = 3
"""After so many consecutive entries with the same keys, that layout is expected next."""


_DTYPES: dict[str, type[np.generic]] = {
    "action": np.int8,
    "address": np.int64,
    "size": np.int64,
    "stream": np.int64,
    "time_us": np.int64,
    "stack": np.int64,
}
"""Columns of entries while they are read. Until everything is read, ``stack`` is -1 for none, the
number of a list of frames (from 0), or ``-2 - index`` for a memo index."""

_BATCH_ROWS = 1 << 19


class EntryRun(Struct, frozen=True):
    """Consecutive rows of entries, which replace their dicts in the unpickled data."""

    start: int
    end: int


class DecodedRun(Struct, frozen=True):
    """A run of entries that were decoded in bulk.

    Attributes:
        rows: Their rows.
        end: Their end in the window.
        memoized: Number of values that they memoize.
    """

    rows: EntryRun
    end: int
    memoized: int


class Entries(Struct, frozen=True):
    """All entries. Absent numbers are ABSENT.

    Attributes:
        action: Index in :data:`SNAPSHOT_ACTIONS`; -1 if unknown.
        address: Address of the block; for ``oom`` the free bytes of the device.
        size, stream, time_us: As written.
        stack: Number of the stack; -1 for none.
    """

    action: Int8
    address: Int64
    size: Int64
    stream: Int64
    time_us: Int64
    stack: Int32


class EntryStore:
    """Collects entries while a pickle is read.

    Args:
        memo: The memo of the pickle machine.

    Attributes:
        stacks: The stacks of the snapshot.
        metadata: The texts that are attached to entries.
        bulk_count: Number of entries that were decoded in bulk.
    """

    def __init__(self, memo: dict[int, Any]) -> None:
        self._memo = memo
        self.stacks = Stacks(memo)
        self.metadata = MetadataTexts(memo)
        self._frame_lists = FrameLists(self.stacks)
        self._key_index: dict[str, int] = {}
        self._last_keys: tuple[str, ...] = ()
        self._same = 0
        self._template: Template | None = None
        self._data = b""
        self._candidates: Candidates | None = None
        self._accepted: list[tuple[int, int, int, int]] = []
        self._columns = GrowingColumns(_DTYPES)
        self._list_indices: list[tuple[Int64, Int64]] = []
        self._single_stacks: list[tuple[int, int]] = []
        self._count = 0
        self.bulk_count = 0

    def register_key(self, key: str, index: int) -> None:
        """Record the memo index of a key of entries."""
        self._key_index[key] = index

    def enter_window(self, data: bytes) -> None:
        """Start to read a new window."""
        self._data = data
        self._candidates = None

    def leave_window(self) -> None:
        """Store the columns of the runs that were accepted in the window."""
        candidates = self._candidates
        if candidates is None or not self._accepted:
            self._accepted = []
            return
        row, first, last, base = (np.array(part) for part in zip(*self._accepted, strict=True))
        count = last - first + 1
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        rows = np.repeat(first, count) + within
        chosen = {
            key: EntryColumn(column.value[rows], column.kind[rows], column.memo_index[rows])
            for key, column in candidates.columns.items()
            if key in DECODED_KEYS
        }
        self._columns.reserve(self._count)
        ends = np.cumsum(count)
        runs = list(zip(row.tolist(), (ends - count).tolist(), ends.tolist(), strict=True))
        for name in _DTYPES:
            values = self._resolved(chosen, name)
            for start, begin, end in runs:
                self._columns.put(name, start, values[begin:end])
        memo_base = np.repeat(base - candidates.memoized[first], count)
        self._store_metadata(candidates, rows, memo_base, np.repeat(row, count) + within)
        self._store_frame_lists(candidates, rows, memo_base)
        self._accepted = []

    def _store_metadata(
        self, candidates: Candidates, rows: Int64, base: Int64, entries: Int64
    ) -> None:
        """Store the texts of accepted entries, whose rows are ``entries``."""
        for key in METADATA_KEYS:
            column = candidates.columns.get(key)
            if column is None:
                continue
            value, kind = column.value[rows], column.kind[rows]
            texts = np.flatnonzero((kind == TEXT) & (value & TEXT_SIZE_MASK > 0))
            if texts.size:
                index = column.memo_index[rows[texts]]
                implicit = base[texts] + candidates.memoized[rows[texts]] + ~index
                codes = np.array([self._text_code(each) for each in value[texts].tolist()])
                self.metadata.add_texts(
                    key, entries[texts], codes, np.where(index < 0, implicit, index)
                )
            references = np.flatnonzero(kind == REFERENCE)
            self.metadata.add_references(key, entries[references], value[references])

    def _text_code(self, position: int) -> int:
        start = position >> TEXT_SIZE_BITS
        return self.metadata.code_of_bytes(self._data[start : start + (position & TEXT_SIZE_MASK)])

    def _store_frame_lists(self, candidates: Candidates, rows: Int64, base: Int64) -> None:
        """Store the memo indices of the lists of frames in accepted entries."""
        has_list = candidates.frame_list[rows] >= 0
        rows, base = rows[has_list], base[has_list]
        index = candidates.memo_index[rows]
        index = np.where(index < 0, base + candidates.memoized[rows] + ~index, index)
        self._list_indices.append((index, candidates.frame_list[rows]))

    def run_at(self, at: int, memo_count: int) -> DecodedRun | None:
        """The run of entries at an offset of the window; None if it cannot be decoded in bulk.

        Args:
            at: The offset.
            memo_count: Number of values memoized so far.
        """
        if self._template is None or len(self._data) - at < TAIL_BYTES:
            return None
        if self._candidates is None:
            self._candidates = decode_candidates(self._data, self._template, self._frame_lists)
        candidates = self._candidates
        first = int(np.searchsorted(candidates.start, at))
        if first >= len(candidates.start) or candidates.start[first] != at:
            return None
        last = int(candidates.last[first])
        if last < 0:
            return None
        rows = EntryRun(self._count, self._count + last - first + 1)
        self._accepted.append((rows.start, first, last, memo_count))
        self._count = rows.end
        self.bulk_count += rows.end - rows.start
        memoized = int(candidates.memoized[last + 1] - candidates.memoized[first])
        return DecodedRun(rows, int(candidates.end[last]), memoized)

    def add(self, entry: dict[Any, Any]) -> EntryRun:
        """Add one entry, and learn the expected layout of the next ones."""
        row = self._count
        self._count += 1
        address = next((entry[key] for key in ADDRESS_KEYS if key in entry), None)
        values = {name: _number(entry.get(name)) for name in ("size", "stream", "time_us")}
        values |= {"action": _action(entry["action"]), "address": _number(address)}
        self._columns.put_row(row, values | {"stack": NO_STACK})
        frames = entry.get("frames")
        number = frames.number if isinstance(frames, StackRef) else self.stacks.stack_number(frames)
        self._single_stacks.append((row, number))
        for key in METADATA_KEYS:
            value = entry.get(key)
            if isinstance(value, StackRef):
                self.metadata.add_references(key, np.array([row]), np.array([-2 - value.number]))
            else:
                self.metadata.add(key, row, value)
        self._learn(tuple(entry))
        return EntryRun(row, row + 1)

    def _learn(self, keys: tuple[str, ...]) -> None:
        """Expect entries with these keys, after several consecutive ones had them."""
        self._same = self._same + 1 if keys == self._last_keys else 1
        self._last_keys = keys
        is_expected = self._template is None or self._same >= _MIN_REPEATS
        if not is_expected or any(key not in self._key_index for key in keys):
            return
        template = Template(keys, tuple(self._key_index[key] for key in keys))
        if template != self._template:
            self.leave_window()
            self._template, self._candidates = template, None

    def stack_at(self, index: int) -> StackRef:
        """A reference to a list of frames in the memo that was decoded in bulk."""
        return StackRef(-2 - index)

    def finish(self) -> Entries:
        """All entries, after everything is read."""
        self.leave_window()
        self._candidates = None
        stack_of_list = self.stacks.stacks_of_lists()
        index, list_number = _joined(self._list_indices)
        order = np.argsort(index, kind="stable")
        self._lists = index[order], stack_of_list[list_number[order]]
        columns: dict[str, Any] = self._columns.finish(self._count)
        unresolved = columns["stack"]
        stack = columns["stack"] = np.empty(self._count, np.int32)
        for at in range(0, self._count, _BATCH_ROWS):
            stack[at : at + _BATCH_ROWS] = self._stacks(
                unresolved[at : at + _BATCH_ROWS], stack_of_list
            )
        if self._single_stacks:
            row, number = (np.array(each) for each in zip(*self._single_stacks, strict=True))
            is_index = number < NO_STACK
            number[is_index] = self._stacks_in_memo(-2 - number[is_index])
            stack[row] = number
        return Entries(**columns)

    def _stacks(self, values: Int64, stack_of_list: Int64) -> Int64:
        """The stacks of entries that were decoded in bulk."""
        stacks: Int64 = stack_of_list[np.maximum(values, -1)]  # the last one is NO_STACK
        is_index = values < NO_STACK
        stacks[is_index] = self._stacks_in_memo(-2 - values[is_index])
        return stacks

    def _resolved(self, columns: dict[str, EntryColumn], name: str) -> npt.NDArray[Any]:
        """A column of entries with references to the memo resolved, except for stacks."""
        keys = {"address": ADDRESS_KEYS, "stack": ("frames",)}.get(name, (name,))
        column = next((columns[key] for key in keys if key in columns), None)
        if name == "stack":
            if column is None:
                return np.full(len(columns["action"].value), NO_STACK)
            is_index, is_list = column.kind == REFERENCE, column.kind == FRAME_LIST
            return np.where(is_index, -2 - column.value, np.where(is_list, column.value, NO_STACK))
        if column is None:
            return np.full(len(columns["action"].value), ABSENT)
        if name == "action":
            codes = self._dereferenced(column, lambda index: _action(self._memo.get(index)), -1)
            return codes.astype(np.int8)
        return self._dereferenced(column, lambda index: _number(self._memo.get(index)), int(ABSENT))

    def _dereferenced(self, column: EntryColumn, value_of: Any, absent: int) -> Int64:
        """Numbers, with references to the memo resolved by ``value_of``."""
        values = np.where(column.kind == NUMBER, column.value, absent)
        is_index = column.kind == REFERENCE
        if is_index.any():
            distinct, inverse = np.unique(column.value[is_index], return_inverse=True)
            values[is_index] = np.array([value_of(int(i)) for i in distinct], np.int64)[inverse]
        return values

    def _stacks_in_memo(self, indices: Int64) -> Int64:
        """The stacks of lists of frames at memo indices."""
        lists, stacks = self._lists
        position = np.minimum(np.searchsorted(lists, indices), max(len(lists) - 1, 0))
        known = lists[position] == indices if len(lists) else np.zeros(len(indices), np.bool_)
        values = np.full(len(indices), NO_STACK)
        values[known] = stacks[position[known]]
        distinct, inverse = np.unique(indices[~known], return_inverse=True)
        others = [self.stacks.stack_number(self._memo.get(int(index))) for index in distinct]
        values[~known] = np.array(others, np.int64)[inverse] if len(distinct) else NO_STACK
        return values


class StackRef(Struct, frozen=True):
    """A list of frames of which only the memo index is known, as ``-2 - index``."""

    number: int


def _joined(parts: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    index, list_number = (np.concatenate(each) for each in zip(*parts, strict=True))
    return index, list_number


def _action(value: object) -> int:
    return SNAPSHOT_ACTIONS.index(value) if value in SNAPSHOT_ACTIONS else UNKNOWN_ACTION


def _number(value: object) -> int:
    """A 64-bit integer; those from 2**63 on as two's complement."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        return int(ABSENT)
    return value - 2**64 if value >= 2**63 else value
