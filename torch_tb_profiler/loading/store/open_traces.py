"""The memory of open traces: how much is used, whether one more may open, and which are closed for
it.

The rule is described in docs/internals.md ("Opening, and what is kept"). Callers hold the
store's lock.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal

from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening.memory_budget import likely_text_bytes
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.store.entries import Entry, Key
from torch_tb_profiler.loading.store.trace_memory import TraceMemory
from torch_tb_profiler.loading.store.trace_requests import TraceRequests
from torch_tb_profiler.storage.discovery import SpanFile

Admission = Literal["admitted", "later", "never"]

FIRST_TEXT_BYTES = 1 << 20
FIRST_TRACE_BYTES: dict[Part, int] = {"trace": 1 << 19, "summary": 1 << 14}
"""Initial estimate of the memory for a text of that size, until something was measured: a trace
takes a third to a half of its text."""

MOST_DERIVED = 64
"""Times the content of a trace that no derived values take: those of every view take up to 13 times
that of traces of 20 kB, and once or twice that of large ones."""

NOT_NEEDED = sys.maxsize
"""Rank of a trace that no request waits for."""


class OpenTraces:
    """Entries by key, the least recently used first, and the memory of their traces."""

    def __init__(self, limit_bytes: int, trace_requests: TraceRequests) -> None:
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.used_bytes = 0
        self.opening = 0
        self._limit_bytes = limit_bytes
        self._reserved_bytes = 0
        self._requests = trace_requests
        self._text_bytes = dict.fromkeys(FIRST_TRACE_BYTES, FIRST_TEXT_BYTES)
        self._trace_bytes = FIRST_TRACE_BYTES.copy()

    def estimate_bytes(self, file: SpanFile, part: Part) -> int:
        """Expected memory of the trace of ``file``, from the traces measured so far."""
        text = likely_text_bytes(file.location, file.state)
        return text * self._trace_bytes[part] // self._text_bytes[part]

    def use(self, entry: Entry) -> None:
        """Mark ``entry`` as the most recently used."""
        self.entries.move_to_end(entry.key)

    def drop(self, entry: Entry) -> None:
        """Remove ``entry``."""
        del self.entries[entry.key]
        self.used_bytes -= entry.used_bytes
        entry.is_wanted = False

    def admit(self, entry: Entry) -> Admission:
        """Free and reserve memory for ``entry``, if it may be opened now.

        Returns:
            ``later`` if others have to be answered or opened first; ``never`` if it does not fit
            next to the other traces of the same request.
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
        """``entry`` is no longer being opened."""
        self._reserved_bytes -= entry.estimate_bytes
        self.opening -= 1

    def retain(self, entry: Entry, opened: OpenedFile, memory: TraceMemory) -> bool:
        """Retain the trace of ``entry``, which was just opened.

        Returns:
            False if it took more than was reserved and does not fit: it must be admitted again.
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

    def entries_to_measure(self) -> list[Entry]:
        """The entries whose traces have other derived values than were counted; none as long as
        derived values cannot exceed the limit: measuring those of small traces takes a tenth of the
        time of their first views."""
        if self.used_bytes * MOST_DERIVED <= self._limit_bytes:
            return []
        return [
            entry
            for entry in self.entries.values()
            if entry.trace is not None and entry.trace.derived.count != entry.derived_count
        ]

    def set_derived_bytes(self, entry: Entry, derived_bytes: int, derived_count: int) -> None:
        """Set the memory of the derived values of the trace of ``entry``."""
        if entry.is_wanted and entry.trace is not None:
            self.used_bytes += derived_bytes - entry.memory.derived_bytes
            entry.memory = TraceMemory(entry.memory.content_bytes, derived_bytes)
            entry.derived_count = derived_count

    def shrink(self) -> None:
        """Drop derived values, then traces, until the limit holds.

        The most recently used trace keeps its derived values as long as the others are within the
        limit, otherwise every request to a trace larger than the limit would start from scratch.
        """
        if self.used_bytes <= self._limit_bytes:
            return
        open_entries = [entry for entry in self.entries.values() if entry.trace is not None]
        if not open_entries:
            return
        last = open_entries.pop()
        ranks = self._requests.ranks()
        unneeded = [entry for entry in open_entries if _rank(entry, ranks) == NOT_NEEDED]
        self._drop_derived(open_entries, self._limit_bytes)
        self._drop_all(unneeded, self._limit_bytes)
        if self.used_bytes - last.used_bytes > self._limit_bytes:
            self._drop_derived([last], self._limit_bytes)

    def _victims(self, entry: Entry) -> tuple[int, list[Entry]]:
        """The rank of ``entry``, and the open traces that may be closed for it, in order: those
        that no request or only newer ones wait for. A prefetched entry only replaces traces that
        were used."""
        ranks = self._requests.ranks()
        rank = ranks.get(entry.key, NOT_NEEDED)
        of_others = [
            (_rank(other, ranks), other)
            for other in self.entries.values()
            if other.trace is not None
        ]
        victims = [
            (others_rank, other)
            for others_rank, other in of_others
            if others_rank > rank or (others_rank == rank == NOT_NEEDED and other.was_used)
        ]
        victims.sort(key=lambda victim: -victim[0])
        return rank, [other for _, other in victims]

    def _least_bytes(self, victims: Iterable[Entry]) -> int:
        """The memory used without ``victims`` and derived values."""
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
        oldest = self._requests.oldest
        return rank == 0 and oldest is not None and oldest.is_small

    def _learn(self, entry: Entry, size_bytes: int) -> None:
        self._text_bytes[entry.part] += likely_text_bytes(entry.file.location, entry.file.state)
        self._trace_bytes[entry.part] += size_bytes


def _rank(opened: Entry, ranks: dict[Key, int]) -> int:
    """Rank of the oldest request that needs an open trace, which also serves as a summary."""
    url, part = opened.key
    own = ranks.get((url, part), NOT_NEEDED)
    return min(own, ranks.get((url, "summary"), NOT_NEEDED)) if part == "trace" else own
