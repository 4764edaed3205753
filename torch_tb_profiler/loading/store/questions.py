"""Questions that wait for traces, in the order in which they were first asked.

An answer may need the traces of many workers at once, and pages ask for it again and again until
it is there. So what a question needs is kept together, and older questions come first: nobody
waits for ever while others push out what it needs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch_tb_profiler.loading.store.entries import Key

ABANDONED_S = 15.0
"""A question that was not repeated for so long is not waited for any more: pages ask every second,
and a page in the background once in a while."""

ALWAYS_ANSWERED = 2
"""Questions about a trace, or a pair of them, are answered however much memory that takes."""


@dataclass(slots=True, eq=False)
class Question:
    """Traces that are needed together.

    Attributes:
        keys: The traces, the most important first.
        asked_s: When it was asked last.
        unopened: Place of the first that may not have been begun yet.
        left_out: Those for which there is no room beside the others.
    """

    keys: tuple[Key, ...]
    asked_s: float = 0.0
    unopened: int = 0
    left_out: set[Key] = field(default_factory=set)

    @property
    def is_small(self) -> bool:
        """Whether it is answered in any case."""
        return len(self.keys) <= ALWAYS_ANSWERED


class Questions:
    """The questions without an answer yet."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Key, ...], Question] = {}

    def ask(self, keys: Sequence[Key]) -> Question:
        """The question for ``keys``: a new one, or the same that somebody asked before."""
        own = tuple(keys)
        question = self._waiting.setdefault(own, Question(own))
        question.asked_s = time.monotonic()
        return question

    @property
    def oldest(self) -> Question | None:
        """The one that goes before all others."""
        return next(iter(self), None)

    def look_again(self) -> None:
        """Something that was begun is queued again."""
        for question in self._waiting.values():
            question.unopened = 0

    def answered(self, question: Question) -> None:
        """It is answered: what it needs may go."""
        self._waiting.pop(question.keys, None)

    def forget(self) -> None:
        """Forget all of them."""
        self._waiting.clear()

    def __iter__(self) -> Iterator[Question]:
        """Those that somebody waits for, the oldest first."""
        oldest_s = time.monotonic() - ABANDONED_S
        for question in [each for each in self._waiting.values() if each.asked_s < oldest_s]:
            self.answered(question)
        return iter(list(self._waiting.values()))

    def ranks(self) -> dict[Key, int]:
        """What is needed → the place of the oldest question that needs it."""
        ranks: dict[Key, int] = {}
        for rank, question in enumerate(self):
            for key in question.keys:
                if key not in question.left_out:
                    ranks.setdefault(key, rank)
        return ranks
