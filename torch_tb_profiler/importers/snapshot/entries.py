"""The entries of allocator traces as columns, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.snapshot.bulk import (
    BODY,
    KEPT_KEYS,
    NUMBER,
    REFERENCE,
    TAIL_BYTES,
    Candidates,
    EntryColumn,
    Template,
    find,
)
from torch_tb_profiler.importers.snapshot.frame_lists import FrameLists
from torch_tb_profiler.importers.snapshot.growing_columns import GrowingColumns
from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks
from torch_tb_profiler.trace.columns import ABSENT, Int8, Int32, Int64
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS

ADDRESS_KEYS = ("addr", "device_free")
KEYS = KEPT_KEYS | {"compile_context", "user_metadata", "internal_metadata", "pool_id"}
"""Keys of entries: torch/csrc/cuda/Module.cpp, ``memorySnapshot``."""

UNKNOWN_ACTION = -1
_ENOUGH = 3
"""So many entries of one kind in a row are what is expected next."""


_KINDS: dict[str, type[np.generic]] = {
    "action": np.int8,
    "address": np.int64,
    "size": np.int64,
    "stream": np.int64,
    "time_us": np.int64,
    "stack": np.int64,
}
"""Columns of entries as they are read. ``stack`` is, until everything was read, -1 for none, from 0
on the number of a list that is written down, ``-2 - index`` what the memo has there."""

_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True)
class EntryRun:
    """Rows of entries that follow each other: they stand for their dicts."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundRun:
    """Entries that were decoded at once.

    Attributes:
        rows: Their rows.
        end: Behind them in the window.
        memoized: How many values were memoized in them.
    """

    rows: EntryRun
    end: int
    memoized: int


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries. Numbers that an entry does not tell are ABSENT.

    Attributes:
        action: Place in :data:`SNAPSHOT_ACTIONS`; -1 unknown.
        address: Of the block; of ``oom`` what was free on the device.
        size, stream, time_us: As written.
        stack: Number of the stack, -1 none.
    """

    action: Int8
    address: Int64
    size: Int64
    stream: Int64
    time_us: Int64
    stack: Int32


class EntryStore:
    """Takes entries as they are read.

    Args:
        memo: What the pickle told so far, by the number that it is referred to with.

    Attributes:
        stacks: The stacks of the snapshot.
        bulk_count: How many entries were decoded at once.
    """

    def __init__(self, memo: dict[int, Any]) -> None:
        self._memo = memo
        self.stacks = Stacks(memo)
        self._bodies = FrameLists(self.stacks)
        self._key_index: dict[str, int] = {}
        self._last_keys: tuple[str, ...] = ()
        self._same = 0
        self._template: Template | None = None
        self._data = b""
        self._candidates: Candidates | None = None
        self._accepted: list[tuple[int, int, int, int]] = []
        self._columns = GrowingColumns(_KINDS)
        self._body_indices: list[tuple[Int64, Int64]] = []
        self._slow_stacks: list[tuple[int, int]] = []
        self._count = 0
        self.bulk_count = 0

    def know_key(self, key: str, index: int) -> None:
        """Where the memo has a key of entries."""
        self._key_index[key] = index

    def enter_window(self, data: bytes) -> None:
        """Read from other bytes from now on."""
        self._data = data
        self._candidates = None

    def leave_window(self) -> None:
        """Keep of the window what was taken of it."""
        found = self._candidates
        if found is None or not self._accepted:
            self._accepted = []
            return
        row, first, last, base = (np.array(part) for part in zip(*self._accepted, strict=True))
        count = last - first + 1
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        places = np.repeat(first, count) + within
        chosen = {
            key: EntryColumn(column.value[places], column.kind[places])
            for key, column in found.columns.items()
            if key in KEPT_KEYS
        }
        self._columns.room_for(self._count)
        ends = np.cumsum(count)
        runs = list(zip(row.tolist(), (ends - count).tolist(), ends.tolist(), strict=True))
        for name in _KINDS:
            values = self._resolved(chosen, name)
            for start, begin, end in runs:
                self._columns.put(name, start, values[begin:end])
        self._keep_bodies(found, places, np.repeat(base - found.memoized[first], count))
        self._accepted = []

    def _keep_bodies(self, found: Candidates, places: Int64, base: Int64) -> None:
        """Remember under which numbers the memo has the lists that entries wrote down."""
        wrote = found.body[places] >= 0
        places, base = places[wrote], base[wrote]
        index = found.body_index[places]
        index = np.where(index < 0, base + found.memoized[places] + ~index, index)
        self._body_indices.append((index, found.body[places]))

    def run_at(self, at: int, memo_count: int) -> FoundRun | None:
        """The entries that begin at ``at`` of the window, where they can be decoded at once."""
        if self._template is None or len(self._data) - at < TAIL_BYTES:
            return None
        if self._candidates is None:
            self._candidates = find(self._data, self._template, self._bodies)
        found = self._candidates
        place = int(np.searchsorted(found.start, at))
        if place >= len(found.start) or found.start[place] != at or found.last[place] < 0:
            return None
        last = int(found.last[place])
        rows = EntryRun(self._count, self._count + last - place + 1)
        self._accepted.append((rows.start, place, last, memo_count))
        self._count = rows.end
        self.bulk_count += rows.end - rows.start
        memoized = int(found.memoized[last + 1] - found.memoized[place])
        return FoundRun(rows, int(found.end[last]), memoized)

    def add(self, entry: dict[Any, Any]) -> EntryRun:
        """Take one entry, and learn from it how the others may be written."""
        row = self._count
        self._count += 1
        address = next((entry[key] for key in ADDRESS_KEYS if key in entry), None)
        values = {name: _number(entry.get(name)) for name in ("size", "stream", "time_us")}
        values |= {"action": _action(entry["action"]), "address": _number(address)}
        self._columns.put_row(row, values | {"stack": NO_STACK})
        frames = entry.get("frames")
        number = frames.number if isinstance(frames, StackAt) else self.stacks.of_list(frames)
        self._slow_stacks.append((row, number))
        self._learn(tuple(entry))
        return EntryRun(row, row + 1)

    def _learn(self, keys: tuple[str, ...]) -> None:
        """Expect entries with these keys, when several followed each other that were not."""
        self._same = self._same + 1 if keys == self._last_keys else 1
        self._last_keys = keys
        is_enough = self._template is None or self._same >= _ENOUGH
        if not is_enough or any(key not in self._key_index for key in keys):
            return
        template = Template(keys, tuple(self._key_index[key] for key in keys))
        if template != self._template:
            self.leave_window()
            self._template, self._candidates = template, None

    def stack_at(self, index: int) -> StackAt:
        """What stands for something in the memo that was decoded at once: a list of frames."""
        return StackAt(-2 - index)

    def finish(self) -> Entries:
        """All entries, when everything was read."""
        self.leave_window()
        self._candidates = None
        of_body = self.stacks.of_bodies()
        index, body = _joined(self._body_indices)
        order = np.argsort(index, kind="stable")
        self._lists = index[order], of_body[body[order]]
        columns: dict[str, Any] = self._columns.taken(self._count)
        unresolved = columns["stack"]
        stack = columns["stack"] = np.empty(self._count, np.int32)
        for at in range(0, self._count, _AT_ONCE):
            stack[at : at + _AT_ONCE] = self._stacks(unresolved[at : at + _AT_ONCE], of_body)
        if self._slow_stacks:
            row, number = (np.array(each) for each in zip(*self._slow_stacks, strict=True))
            is_index = number < NO_STACK
            number[is_index] = self._stacks_of(-2 - number[is_index])
            stack[row] = number
        return Entries(**columns)

    def _stacks(self, values: Int64, of_body: Int64) -> Int64:
        """The stacks of entries that were decoded at once."""
        stacks: Int64 = of_body[np.maximum(values, -1)]  # the last one is that of none
        is_index = values < NO_STACK
        stacks[is_index] = self._stacks_of(-2 - values[is_index])
        return stacks

    def _resolved(self, columns: dict[str, EntryColumn], name: str) -> npt.NDArray[Any]:
        """A column of entries; what it refers to was read before."""
        keys = {"address": ADDRESS_KEYS, "stack": ("frames",)}.get(name, (name,))
        column = next((columns[key] for key in keys if key in columns), None)
        if name == "stack":
            if column is None:
                return np.full(len(columns["action"].value), NO_STACK)
            is_index, is_body = column.kind == REFERENCE, column.kind == BODY
            return np.where(is_index, -2 - column.value, np.where(is_body, column.value, NO_STACK))
        if column is None:
            return np.full(len(columns["action"].value), ABSENT)
        if name == "action":
            codes = self._of_memo(column, lambda index: _action(self._memo.get(index)), -1)
            return codes.astype(np.int8)
        return self._of_memo(column, lambda index: _number(self._memo.get(index)), int(ABSENT))

    def _of_memo(self, column: EntryColumn, value_of: Any, absent: int) -> Int64:
        """Numbers, and what others refer to."""
        values = np.where(column.kind == NUMBER, column.value, absent)
        is_index = column.kind == REFERENCE
        if is_index.any():
            distinct, inverse = np.unique(column.value[is_index], return_inverse=True)
            values[is_index] = np.array([value_of(int(i)) for i in distinct], np.int64)[inverse]
        return values

    def _stacks_of(self, indices: Int64) -> Int64:
        """The stacks of lists that the memo has."""
        lists, stacks = self._lists
        place = np.minimum(np.searchsorted(lists, indices), max(len(lists) - 1, 0))
        known = lists[place] == indices if len(lists) else np.zeros(len(indices), np.bool_)
        values = np.full(len(indices), NO_STACK)
        values[known] = stacks[place[known]]
        distinct, inverse = np.unique(indices[~known], return_inverse=True)
        others = [self.stacks.of_list(self._memo.get(int(index))) for index in distinct]
        values[~known] = np.array(others, np.int64)[inverse] if len(distinct) else NO_STACK
        return values


@dataclass(frozen=True, slots=True)
class StackAt:
    """A list of frames that is known by its number in the memo alone (``-2 - index``)."""

    number: int


def _joined(parts: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    index, body = (np.concatenate(each) for each in zip(*parts, strict=True))
    return index, body


def _action(value: object) -> int:
    return SNAPSHOT_ACTIONS.index(value) if value in SNAPSHOT_ACTIONS else UNKNOWN_ACTION


def _number(value: object) -> int:
    """An integer of 64 bits, those from 2**63 on as their two's complement."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        return int(ABSENT)
    return value - 2**64 if value >= 2**63 else value
