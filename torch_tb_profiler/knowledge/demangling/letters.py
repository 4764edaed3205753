"""The letters of a mangled name, read from left to right, and the bounds of reading."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DEPTH = 48
"""Types in types in types: no more, for the interpreter's stack is shared with the caller."""

MAX_WRITTEN_CHARS = 1 << 18
"""Characters put together on the way: short names can stand for endless ones. The longest kernels
of PyTorch need half of it."""

CHARS_OF_A_TYPE = 32
"""What reading one type costs of :data:`MAX_WRITTEN_CHARS`, were its text ever so short."""

DIGITS = frozenset("0123456789")
MAX_DIGITS = 6


class UnreadableError(Exception):
    """Not a name of this grammar, or too much of one."""


class Text(NamedTuple):
    """A type or a template argument.

    Attributes:
        left: What stands before that which a type declares: ``void (*``.
        right: What stands behind: ``)(int)``.
        pack: The arguments of a pack; None for what is none.
    """

    left: str
    right: str = ""
    pack: tuple[Text, ...] | None = None

    def __str__(self) -> str:
        if self.pack is not None:
            return joined(self.pack)
        return self.left + self.right


def joined(texts: list[Text] | tuple[Text, ...]) -> str:
    """The texts with commas between; empty packs are none."""
    return ", ".join(text for text in map(str, texts) if text)


class Letters:
    """Where reading has come to, and how much may still be read."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self._depth = 0
        self._left_chars = MAX_WRITTEN_CHARS

    def peek(self, count: int = 1) -> str:
        """The next letters, fewer at the end."""
        return self.text[self.at : self.at + count]

    def at_end(self) -> bool:
        """Whether a list ends here: with an ``E``, or with the text."""
        return self.peek() in ("", "E")

    def take(self, letters: str) -> bool:
        """Whether ``letters`` come next; then they are read."""
        found = self.text.startswith(letters, self.at)
        if found:
            self.at += len(letters)
        return found

    def need(self, letters: str) -> None:
        """Read ``letters``, which must come next."""
        if not self.take(letters):
            raise UnreadableError

    def number(self) -> int:
        """Decimal digits."""
        start = self.at
        while self.peek() in DIGITS:
            self.at += 1
        if not 0 < self.at - start <= MAX_DIGITS:
            raise UnreadableError
        return int(self.text[start : self.at])

    def index(self, base: int = 10) -> int:
        """``_`` is 0, ``0_`` is 1, ``1_`` is 2 and so on."""
        end = self.text.find("_", self.at, self.at + MAX_DIGITS + 1)
        digits = self.text[self.at : end]
        if end < 0 or not re.fullmatch("[0-9]*" if base == 10 else "[0-9A-Z]*", digits):
            raise UnreadableError
        self.at = end + 1
        return int(digits, base) + 1 if digits else 0

    def literal_value(self) -> str:
        """Digits up to an ``E``, which is read too; ``n`` is a minus."""
        end = self.text.find("E", self.at)
        value = self.text[self.at : end]
        if end < 0 or not re.fullmatch("n?[0-9a-f]*", value):
            raise UnreadableError
        self.at = end + 1
        return value.replace("n", "-")

    def wrote(self, text: str) -> str:
        """``text``, counted."""
        self._left_chars -= len(text)
        if self._left_chars < 0:
            raise UnreadableError
        return text

    def enter(self) -> None:
        """One type or function deeper."""
        self._depth += 1
        self._left_chars -= CHARS_OF_A_TYPE
        if self._depth > MAX_DEPTH or self._left_chars < 0:
            raise UnreadableError

    def leave(self) -> None:
        """Out again."""
        self._depth -= 1
