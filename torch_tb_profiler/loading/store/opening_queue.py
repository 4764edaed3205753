"""What waits to be opened, and what of it comes next.

The rule stands in docs/architecture.md ("Opening, and what is kept"). Whoever uses this holds the
store's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from torch_tb_profiler.loading.store.entries import Entry, Key
from torch_tb_profiler.loading.store.open_traces import OpenTraces
from torch_tb_profiler.loading.store.questions import Question, Questions

Drop = Callable[[Entry], None]
"""Forgets an entry, and takes it out of the queue."""


class OpeningQueue:
    """Entries that wait, in the order in which they were asked for."""

    def __init__(self, opened: OpenTraces, questions: Questions) -> None:
        self.entries: dict[Key, Entry] = {}
        self._open = opened
        self._questions = questions

    def add(self, entry: Entry) -> None:
        """Let ``entry`` wait."""
        entry.state = "queued"
        self.entries[entry.key] = entry

    def remove(self, entry: Entry) -> bool:
        """Whether ``entry`` waited; it does no more."""
        return self.entries.pop(entry.key, None) is not None

    def take(self, drop: Drop) -> list[Entry]:
        """Take out what one thread is to read next; nothing when there is no room, or nothing left.

        That is one file, or every summary in turn that may lie in the cache: reading one takes
        half a millisecond of Python, and of two threads each would wait for the other.
        """
        batch: list[Entry] = []
        while (entry := self._admitted(drop, only_kept=bool(batch))) is not None:
            del self.entries[entry.key]
            batch.append(entry)
            if not entry.may_be_kept:
                break
        return batch

    def _admitted(self, drop: Drop, *, only_kept: bool) -> Entry | None:
        """The next for which there is room, with the room reserved.

        Nothing passes what the oldest question needs, but others pass each other: a large trace
        that waits for another large one does not hold up small ones.
        """
        admission = "never"
        while admission == "never":
            for entry, question in self._next(drop):
                if only_kept and not entry.may_be_kept:
                    return None
                admission = self._open.admit(entry)
                if admission == "admitted":
                    return entry
                oldest = self._questions.oldest
                if admission == "never" and oldest is not None:
                    oldest.left_out.add(entry.key)
                    drop(entry)
                    break
                if question is not None and question is oldest:
                    return None
            else:
                return None
        return None

    def _next(self, drop: Drop) -> Iterator[tuple[Entry, Question | None]]:
        """What may be opened next: of each question the first it needs, the oldest question first;
        then what was begun ahead. What only abandoned questions needed is dropped."""
        for question in self._questions:
            for key in question.keys[question.unopened :]:
                entry = self.entries.get(key)
                if entry is not None and key not in question.left_out:
                    yield entry, question
                    break
                question.unopened += 1
        needed = self._questions.ranks() if self.entries else {}
        others = [entry for entry in self.entries.values() if entry.key not in needed]
        for entry in others:
            if not entry.is_ahead:
                drop(entry)
        yield from ((entry, None) for entry in islice(filter(_is_ahead, others), 1))


def _is_ahead(entry: Entry) -> bool:
    return entry.is_ahead
