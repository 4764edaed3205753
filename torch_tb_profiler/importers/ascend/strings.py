"""The dictionary of a trace's texts, to which readers of side files add."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int32


class Strings:
    """Codes of texts; new ones are appended to the list it was made of.

    Attributes:
        texts: The list.
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
        """Their codes."""
        return np.array([self.code(text) for text in texts], np.int32)

    def codes_of(self, texts: pl.Series) -> Int32:
        """Those of a long column of few texts."""
        known = {text: self.code(text) for text in texts.unique(maintain_order=True).to_list()}
        codes: Int32 = texts.replace_strict(known, return_dtype=pl.Int32).to_numpy()
        return codes

    def rewritten(self, codes: Int32, written: Callable[[str], str]) -> Int32:
        """Codes of the same texts written otherwise; absent ones stay absent."""
        distinct, place = np.unique(codes, return_inverse=True)
        new = [self.code(written(self.texts[code])) if code >= 0 else -1 for code in distinct]
        return np.array(new, np.int32)[place] if new else codes
