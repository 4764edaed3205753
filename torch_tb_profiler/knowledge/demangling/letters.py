"""Reader of the characters of a mangled name, from left to right, with limits."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DEPTH = 48
"""Maximum depth of nested types, as the interpreter's stack is shared with the caller."""

MAX_WRITTEN_CHARS = 1 << 18
"""Maximum of characters written: short mangled names can expand without end. The longest kernels
of PyTorch need half of it."""

CHARS_OF_A_TYPE = 32
"""Minimum that each type counts towards :data:`MAX_WRITTEN_CHARS`."""

DIGITS = frozenset("0123456789")
MAX_DIGITS = 6


class UnreadableError(Exception):
    """The name does not fit the grammar, or exceeds a limit."""


class TypeText(NamedTuple):
    """A type or a template argument.

    Attributes:
        left: Text before the declared name: ``void (*``.
        right: Text after it: ``)(int)``.
        pack: The arguments of a pack; None for no pack.
    """

    left: str
    right: str = ""
    pack: tuple[TypeText, ...] | None = None

    def __str__(self) -> str:
        if self.pack is not None:
            return joined(self.pack)
        return self.left + self.right


def joined(texts: list[TypeText] | tuple[TypeText, ...]) -> str:
    """The texts separated by commas, without empty packs."""
    return ", ".join(text for text in map(str, texts) if text)


class LetterReader:
    """Position of the reader, and what remains of its limits."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self._depth = 0
        self._left_chars = MAX_WRITTEN_CHARS

    def peek(self, count: int = 1) -> str:
        """The next characters, fewer at the end."""
        return self.text[self.at : self.at + count]

    def at_end(self) -> bool:
        """Whether a list ends here: with an ``E``, or the end of the text."""
        return self.peek() in ("", "E")

    def take(self, letters: str) -> bool:
        """Read ``letters`` if they come next; whether they did."""
        is_next = self.text.startswith(letters, self.at)
        if is_next:
            self.at += len(letters)
        return is_next

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
        """Digits up to and including an ``E``; ``n`` is a minus."""
        end = self.text.find("E", self.at)
        value = self.text[self.at : end]
        if end < 0 or not re.fullmatch("n?[0-9a-f]*", value):
            raise UnreadableError
        self.at = end + 1
        return value.replace("n", "-")

    def wrote(self, text: str) -> str:
        """``text``, counted towards the limit."""
        self._left_chars -= len(text)
        if self._left_chars < 0:
            raise UnreadableError
        return text

    def enter(self) -> None:
        """Enter a type or function."""
        self._depth += 1
        self._left_chars -= CHARS_OF_A_TYPE
        if self._depth > MAX_DEPTH or self._left_chars < 0:
            raise UnreadableError

    def leave(self) -> None:
        """Leave a type or function."""
        self._depth -= 1
