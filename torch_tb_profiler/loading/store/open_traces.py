"""The memory for open traces: what is used of it, who may open one more, and what goes for that.

The rule stands in docs/architecture.md ("Opening, and what is kept"). Whoever uses this holds the
store's lock.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal

from torch_tb_profiler.loading.ingest.rank import Part
from torch_tb_profiler.loading.opening.measure import likely_text_bytes
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.store.entries import Entry, Key
from torch_tb_profiler.loading.store.questions import Questions
from torch_tb_profiler.loading.store.trace_memory import TraceMemory
from torch_tb_profiler.storage.discovery import SpanFile

Admission = Literal["admitted", "later", "never"]

FIRST_TEXT_BYTES = 1 << 20
FIRST_TRACE_BYTES: dict[Part, int] = {"trace": 1 << 19, "summary": 1 << 14}
"""What a first text of that size took, as long as nothing has been measured: a trace takes a third
to a half of its text."""

NOBODY = sys.maxsize
"""Rank of what no question waits for."""


class OpenTraces:
    """Entries by key, the least recently used first, and the memory that their traces take."""

    def __init__(self, limit_bytes: int, questions: Questions) -> None:
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.used_bytes = 0
        self.opening = 0
        self._limit_bytes = limit_bytes
        self._reserved_bytes = 0
        self._questions = questions
        self._text_bytes = dict.fromkeys(FIRST_TRACE_BYTES, FIRST_TEXT_BYTES)
        self._trace_bytes = FIRST_TRACE_BYTES.copy()

    def estimate_bytes(self, file: SpanFile, part: Part) -> int:
        """What the trace of ``file`` will take, by what others took."""
        text = likely_text_bytes(file.location, file.state)
        return text * self._trace_bytes[part] // self._text_bytes[part]

    def use(self, entry: Entry) -> None:
        """``entry`` is the most recently used now."""
        self.entries.move_to_end(entry.key)

    def drop(self, entry: Entry) -> None:
        """Forget ``entry``."""
        del self.entries[entry.key]
        self.used_bytes -= entry.used_bytes
        entry.is_wanted = False

    def admit(self, entry: Entry) -> Admission:
        """Make room for ``entry`` and reserve it, if it may be opened now.

        Returns:
            ``later`` when others have to be answered or opened before; ``never`` when it does
            not fit beside what the same question needs and has.
        """
        need = entry.estimate_bytes + self._reserved_bytes
        if self.used_bytes + need > self._limit_bytes:
            rank, victims = self._victims(entry)
            least = self._least_bytes(victims)
            if least + need > self._limit_bytes:
                if rank != 0 or self.opening:
                    return "later"
                if least > self._limit_bytes and not self._is_answered_anyway(rank):
                    return "never"
            self._shrink_to(self._limit_bytes - need, victims)
        self._reserved_bytes += entry.estimate_bytes
        self.opening += 1
        return "admitted"

    def end_opening(self, entry: Entry) -> None:
        """``entry`` is not being opened any more."""
        self._reserved_bytes -= entry.estimate_bytes
        self.opening -= 1

    def keep(self, entry: Entry, opened: OpenedFile, memory: TraceMemory) -> bool:
        """Keep the trace of ``entry``, which was just opened.

        Returns:
            False when it took more than was reserved and does not fit: it is to be admitted again.
        """
        size_bytes = memory.content_bytes
        self._learn(entry, size_bytes)
        if self.used_bytes + size_bytes > self._limit_bytes:
            rank, victims = self._victims(entry)
            self._shrink_to(self._limit_bytes - size_bytes, victims)
            if self.used_bytes > self._limit_bytes and not self._is_answered_anyway(rank):
                entry.estimate_bytes = size_bytes
                return False
        entry.opened, entry.memory = opened, TraceMemory(size_bytes, 0)
        self.used_bytes += size_bytes
        return True

    def grown(self) -> list[Entry]:
        """The entries whose traces have other derived values than were counted."""
        return [
            entry
            for entry in self.entries.values()
            if entry.trace is not None and entry.trace.derived.count != entry.derived_count
        ]

    def count(self, entry: Entry, derived_bytes: int, derived_count: int) -> None:
        """So many derived values of the trace of ``entry`` take ``derived_bytes``."""
        if entry.is_wanted and entry.trace is not None:
            self.used_bytes += derived_bytes - entry.memory.derived_bytes
            entry.memory = TraceMemory(entry.memory.content_bytes, derived_bytes)
            entry.derived_count = derived_count

    def shrink(self) -> None:
        """Let derived data go, then traces, until the limit holds.

        The trace used last keeps what was derived from it as long as the others are within the
        limit, else every look at a trace larger than that would begin from nothing.
        """
        open_entries = [entry for entry in self.entries.values() if entry.trace is not None]
        if self.used_bytes <= self._limit_bytes or not open_entries:
            return
        last = open_entries.pop()
        ranks = self._questions.ranks()
        unneeded = [entry for entry in open_entries if _rank(entry, ranks) == NOBODY]
        self._drop_derived(open_entries, self._limit_bytes)
        self._drop_all(unneeded, self._limit_bytes)
        if self.used_bytes - last.used_bytes > self._limit_bytes:
            self._drop_derived([last], self._limit_bytes)

    def _victims(self, entry: Entry) -> tuple[int, list[Entry]]:
        """The rank of ``entry``, and the open traces that may go for it, in order: those that no
        question or only younger ones wait for. What nobody waits for either (it was begun ahead)
        only replaces what was used."""
        ranks = self._questions.ranks()
        rank = ranks.get(entry.key, NOBODY)
        of_others = [
            (_rank(other, ranks), other)
            for other in self.entries.values()
            if other.trace is not None
        ]
        victims = [
            (others_rank, other)
            for others_rank, other in of_others
            if others_rank > rank or (others_rank == rank == NOBODY and other.was_taken)
        ]
        victims.sort(key=lambda victim: -victim[0])
        return rank, [other for _, other in victims]

    def _least_bytes(self, victims: Iterable[Entry]) -> int:
        """What would be used without ``victims`` and derived data."""
        every = sum(entry.memory.content_bytes for entry in self.entries.values())
        return every - sum(entry.memory.content_bytes for entry in victims)

    def _shrink_to(self, limit_bytes: int, victims: list[Entry]) -> None:
        self._drop_derived(self.entries.values(), limit_bytes)
        self._drop_all(victims, limit_bytes)

    def _drop_derived(self, entries: Iterable[Entry], limit_bytes: int) -> None:
        for entry in entries:
            if self.used_bytes <= limit_bytes:
                return
            self.used_bytes -= entry.drop_derived()

    def _drop_all(self, entries: Iterable[Entry], limit_bytes: int) -> None:
        for entry in entries:
            if self.used_bytes <= limit_bytes:
                return
            self.drop(entry)

    def _is_answered_anyway(self, rank: int) -> bool:
        oldest = self._questions.oldest
        return rank == 0 and oldest is not None and oldest.is_small

    def _learn(self, entry: Entry, size_bytes: int) -> None:
        self._text_bytes[entry.part] += likely_text_bytes(entry.file.location, entry.file.state)
        self._trace_bytes[entry.part] += size_bytes


def _rank(opened: Entry, ranks: dict[Key, int]) -> int:
    """The place of the oldest question that needs an open trace, which is as good as a summary."""
    url, part = opened.key
    own = ranks.get((url, part), NOBODY)
    return min(own, ranks.get((url, "summary"), NOBODY)) if part == "trace" else own
