"""The text of an answer within its size: what does not fit is left out, and the answer says so."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.reports.text import ELLIPSIS, shortened, visible

DEFAULT_BYTES = 12_000
MIN_BYTES = 1_000
MAX_BYTES = 20_000
"""Of an answer in UTF-8: an agent pays for every character that it reads."""

MAX_NAME = 160
"""Characters of a text from a recording in a cell or a sentence."""

_RESERVED_BYTES = 500
"""For what says that something was left out."""


def quoted(text: str, limit: int = MAX_NAME) -> str:
    """A text from a recording on one line, without control characters, shortened in the middle."""
    return shortened(visible(text[: 8 * limit] + text[8 * limit :][-limit:]), limit)


class AnswerText:
    """An answer that grows block by block and never exceeds its size.

    Args:
        max_bytes: Size of the whole answer in UTF-8.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[str] = []
        self._used = 0
        self._cuts: list[str] = []

    @property
    def room_bytes(self) -> int:
        """What is left for further blocks."""
        return max(0, self._max_bytes - _RESERVED_BYTES - self._used)

    def add(self, text: str, cut: str | None = None) -> bool:
        """Add a block of lines if it fits.

        Args:
            text: The block, without a line end.
            cut: What to say where it does not fit, and how to ask for it; None cuts its end.

        Returns:
            Whether all of it is there.
        """
        size = _size(text) + 1
        if size <= self.room_bytes:
            self._parts.append(text)
            self._used += size
            return True
        if cut is None:
            cut = "the end of a text; ask for more with max_chars"
            start = _start(text, self.room_bytes - 1 - _size(ELLIPSIS))
            if start:
                self._parts.append(start + ELLIPSIS)
                self._used += _size(start + ELLIPSIS) + 1
        self.note_cut(cut)
        return False

    def add_lines(
        self, head: Sequence[str], lines: Sequence[str], after: Sequence[str] = ()
    ) -> int:
        """Add ``head`` and as many of ``lines`` as fit; nothing where not even one does.

        Args:
            head: What stands above them.
            lines: The lines.
            after: What the caller adds below them: room is reserved for it, at most a third.

        Returns:
            How many of ``lines`` are there; the caller says what was left out.
        """
        reserved = min(sum(_size(line) + 1 for line in after), self.room_bytes // 3)
        room = self.room_bytes - reserved - sum(_size(line) + 1 for line in head)
        count = 0
        for line in lines:
            room -= _size(line) + 1
            if room < 0:
                break
            count += 1
        if count or not lines:
            self.add("\n".join([*head, *lines[:count]]))
        return count

    def note_cut(self, text: str) -> None:
        """Say at the end of the answer what was left out, and how to ask for it."""
        if text not in self._cuts:
            self._cuts.append(text)

    def text(self) -> str:
        """The answer."""
        parts = list(self._parts)
        if self._cuts:
            parts.append("Left out: " + "; ".join(self._cuts) + ".")
        return _start("\n".join(parts), self._max_bytes)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _start(text: str, size_bytes: int) -> str:
    """The longest start of ``text`` of at most so many bytes."""
    return text.encode("utf-8", "replace")[: max(0, size_bytes)].decode("utf-8", "ignore")
