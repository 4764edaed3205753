"""The entries that wait to be opened, and which of them is next.

The rule is described in docs/internals.md ("Opening, and what is kept"). Callers hold the
store's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from torch_tb_profiler.loading.store.entries import Entry, Key
from torch_tb_profiler.loading.store.open_traces import OpenTraces
from torch_tb_profiler.loading.store.trace_requests import TraceRequest, TraceRequests

Drop = Callable[[Entry], None]
"""Removes an entry from the store and from the queue."""


class OpeningQueue:
    """Waiting entries, in the order in which they were requested."""

    def __init__(self, opened: OpenTraces, trace_requests: TraceRequests) -> None:
        self.entries: dict[Key, Entry] = {}
        self._open = opened
        self._requests = trace_requests

    def add(self, entry: Entry) -> None:
        """Add ``entry``."""
        entry.state = "queued"
        self.entries[entry.key] = entry

    def remove(self, entry: Entry) -> bool:
        """Remove ``entry``; returns whether it was waiting."""
        return self.entries.pop(entry.key, None) is not None

    def take(self, drop: Drop) -> list[Entry]:
        """Take the entries that one thread reads next; empty if there is no memory, or nothing
        left.

        That is one file, or all consecutive summaries that may be cached: reading one takes half a
        millisecond of Python, and two threads would wait for each other.
        """
        batch: list[Entry] = []
        while (entry := self._admitted(drop, only_cached=bool(batch))) is not None:
            del self.entries[entry.key]
            batch.append(entry)
            if not entry.may_be_cached:
                break
        return batch

    def _admitted(self, drop: Drop, *, only_cached: bool) -> Entry | None:
        """The next entry that is admitted, with its memory reserved.

        Nothing overtakes the entries of the oldest request, but others overtake each other: a large
        trace that waits for another large one does not delay small ones.
        """
        admission = "never"
        while admission == "never":
            for entry, trace_request in self._next(drop):
                if only_cached and not entry.may_be_cached:
                    return None
                admission = self._open.admit(entry)
                if admission == "admitted":
                    return entry
                oldest = self._requests.oldest
                if admission == "never" and oldest is not None:
                    oldest.left_out.add(entry.key)
                    drop(entry)
                    break
                if trace_request is not None and trace_request is oldest:
                    return None
            else:
                return None
        return None

    def _next(self, drop: Drop) -> Iterator[tuple[Entry, TraceRequest | None]]:
        """Candidates for opening: of each request its first waiting entry, the oldest request
        first; then prefetched ones. Entries that only abandoned requests needed are dropped."""
        for trace_request in self._requests:
            for key in trace_request.keys[trace_request.unopened :]:
                entry = self.entries.get(key)
                if entry is not None and key not in trace_request.left_out:
                    yield entry, trace_request
                    break
                trace_request.unopened += 1
        needed = self._requests.ranks() if self.entries else {}
        others = [entry for entry in self.entries.values() if entry.key not in needed]
        for entry in others:
            if not entry.is_prefetched:
                drop(entry)
        yield from ((entry, None) for entry in islice(filter(_is_prefetched, others), 1))


def _is_prefetched(entry: Entry) -> bool:
    return entry.is_prefetched
