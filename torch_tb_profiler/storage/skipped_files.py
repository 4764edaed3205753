"""Files and folders that discovery saw and did not take as traces, with the reason."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from torch_tb_profiler.storage.locations import Location

MAX_SENTENCES = 20
"""Sentences retained for the notes; more would hide the first ones."""

MAX_LISTED = 100
"""Entries listed; beyond that only their number is known."""

NOT_A_TRACE = "not_a_trace"
UNDECIDED = "undecided"


class SkippedFile(Struct, frozen=True):
    """One file or folder that was not taken.

    Attributes:
        name: Path relative to the logdir, ``/`` between parts.
        reason: Stable code of the reason.
        text: The reason as a sentence that names the file.
        can_open: Whether it can still be opened by its name.
    """

    name: str
    reason: str
    text: str
    can_open: bool


class SkippedFiles(Struct):
    """All files and folders that one scan did not take.

    Attributes:
        sentences: The first few sentences that every user sees.
        counts: Reason → number of files.
        openable: Name → location of each file that can be opened by its name.
    """

    sentences: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    openable: dict[str, Location] = field(default_factory=dict)
    _listed_first: list[SkippedFile] = field(default_factory=list)
    _not_traces: list[SkippedFile] = field(default_factory=list)

    def copy(self) -> SkippedFiles:
        """An independent copy."""
        return SkippedFiles(
            list(self.sentences),
            Counter(self.counts),
            dict(self.openable),
            list(self._listed_first),
            list(self._not_traces),
        )

    def add(self, name: str, reason: str, text: str, opens: Location | None = None) -> None:
        """Record one skipped file.

        Args:
            name: Path relative to the logdir.
            reason: Stable code of the reason.
            text: A sentence that names the file.
            opens: The file, if it can still be opened by its name.
        """
        self.counts[reason] += 1
        if opens is not None:
            self.openable[name] = opens
        listed = self._not_traces if reason == NOT_A_TRACE else self._listed_first
        if len(listed) < MAX_LISTED:
            listed.append(SkippedFile(name, reason, text, opens is not None))

    def report(self, name: str, reason: str, text: str) -> None:
        """Record one skipped file whose sentence every user sees."""
        self.add(name, reason, text)
        if len(self.sentences) < MAX_SENTENCES:
            self.sentences.append(text)

    @property
    def listed(self) -> list[SkippedFile]:
        """The first :data:`MAX_LISTED`; files that are not traces last, as any folder has many."""
        return [*self._listed_first, *self._not_traces][:MAX_LISTED]
