"""What a look at a logdir saw and did not take, with the reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from torch_tb_profiler.storage.locations import Location

MAX_SENTENCES = 20
"""Sentences kept for the notes; more would hide the first ones."""

MAX_LISTED = 100
"""Entries listed; of more there is the number."""

NOT_A_TRACE = "not_a_trace"
UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that was seen and not taken.

    Attributes:
        name: Its path from the logdir, ``/`` between parts.
        reason: Why, for programs.
        text: Why, for people: a sentence that names it.
        can_open: Whether it may be opened all the same, by its name.
    """

    name: str
    reason: str
    text: str
    can_open: bool


@dataclass(slots=True)
class LeftOutFiles:
    """All that one look did not take.

    Attributes:
        sentences: The first few that everybody is told.
        counts: Reason → how many.
        openable: Name → place of what may be opened by its name.
    """

    sentences: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    openable: dict[str, Location] = field(default_factory=dict)
    _told: list[LeftOut] = field(default_factory=list)
    _quiet: list[LeftOut] = field(default_factory=list)

    def copy(self) -> LeftOutFiles:
        """The same so far."""
        return LeftOutFiles(
            list(self.sentences),
            Counter(self.counts),
            dict(self.openable),
            list(self._told),
            list(self._quiet),
        )

    def add(self, name: str, reason: str, text: str, opens: Location | None = None) -> None:
        """Remember one more thing.

        Args:
            name: Its path from the logdir.
            reason: Why.
            text: A sentence that names it.
            opens: The file, where it may be opened all the same.
        """
        self.counts[reason] += 1
        if opens is not None:
            self.openable[name] = opens
        listed = self._quiet if reason == NOT_A_TRACE else self._told
        if len(listed) < MAX_LISTED:
            listed.append(LeftOut(name, reason, text, opens is not None))

    def tell(self, name: str, reason: str, text: str) -> None:
        """Remember one more thing that everybody should know of."""
        self.add(name, reason, text)
        if len(self.sentences) < MAX_SENTENCES:
            self.sentences.append(text)

    @property
    def listed(self) -> list[LeftOut]:
        """The first of them; what is no trace last, because any folder is full of that."""
        return [*self._told, *self._quiet][:MAX_LISTED]
