"""Rows that are longer than a page: their rest lies in a chain of other pages."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.sqlite.pages import Bytes, PageFile


class Chains:
    """Reads chains of overflow pages; all together no more bytes than the file has."""

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._left = file.pages

    def read(self, pointer: Bytes, size_bytes: int) -> Bytes | None:
        """The first bytes of the chain that begins at the page that ``pointer`` names; None when
        it ends before, or leads out of the file.

        Raises:
            OSError: the file cannot be read.
        """
        parts: list[Bytes] = []
        number = int.from_bytes(pointer.tobytes(), "big")
        while size_bytes > 0:
            if not 1 < number <= self._file.pages or self._left <= 0:
                return None
            self._left -= 1
            page = self._file.read(np.array([number], np.int64))
            number = int.from_bytes(page[:4].tobytes(), "big")
            parts.append(page[4 : min(self._file.usable_bytes, 4 + size_bytes)])
            size_bytes -= len(parts[-1])
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)
