"""The string dictionary of a trace, which readers of side files extend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int32


class Strings:
    """Codes of texts; new texts are appended to the list.

    Attributes:
        texts: The texts, by code.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self._codes = {text: code for code, text in reversed(list(enumerate(texts)))}

    def code(self, text: str | None) -> int:
        """The code of a text, -1 for None."""
        if text is None:
            return -1
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code

    def codes(self, texts: Sequence[str | None]) -> Int32:
        """The code of each text, -1 for None."""
        return np.array([self.code(text) for text in texts], np.int32)

    def codes_of(self, texts: pl.Series) -> Int32:
        """The codes of a long column with few distinct texts."""
        known = {text: self.code(text) for text in texts.unique(maintain_order=True).to_list()}
        codes: Int32 = texts.replace_strict(known, return_dtype=pl.Int32).to_numpy()
        return codes

    def rewritten(self, codes: Int32, rewrite: Callable[[str], str]) -> Int32:
        """The codes of ``rewrite(text)`` for the texts behind ``codes``; -1 stays -1."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        new = [self.code(rewrite(self.texts[code])) if code >= 0 else -1 for code in distinct]
        return np.array(new, np.int32)[inverse] if new else codes
