"""The string dictionary of a trace while it is filled."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.trace.columns import Int32


def until_nul(text: str) -> str:
    """A text up to the first NUL, which ended the text in the program that wrote it."""
    return text.partition("\0")[0] if "\0" in text else text


class TextCodes:
    """Codes of texts; each text is in the dictionary once.

    Attributes:
        strings: Texts by code.
        cut_count: Number of texts that were cut because they are too long.
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self.cut_count = 0
        self._most_chars = UNLIMITED.count("text_chars")
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The code of a text."""
        code = self._codes.get(text)
        if code is None:
            if len(text) > self._most_chars:
                self.cut_count += 1
                return self.code(text[: self._most_chars])
            code = self._codes[text] = len(self.strings)
            self.strings.append(until_nul(text))
        return code

    def codes(self, texts: Iterable[str | None]) -> Int32:
        """The codes of texts, -1 for None."""
        return np.array([-1 if text is None else self.code(text) for text in texts], np.int32)
