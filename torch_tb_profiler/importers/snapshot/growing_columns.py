"""Columns that grow in place, without a second copy in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_ROWS = 1 << 12


class GrowingColumns:
    """Columns of equal length.

    Args:
        dtypes: Name → type of each column.
    """

    def __init__(self, dtypes: dict[str, type[np.generic]]) -> None:
        self._columns = {name: np.empty(_FIRST_ROWS, dtype) for name, dtype in dtypes.items()}
        self._capacity = _FIRST_ROWS

    def reserve(self, count: int) -> None:
        """Make room for at least ``count`` rows."""
        if count > self._capacity:
            self._resize(max(count, self._capacity + self._capacity // 8))

    def _resize(self, count: int) -> None:
        # realloc moves the pages of a large block, not its bytes. No other view of it exists.
        for column in self._columns.values():
            column.resize(count, refcheck=False)
        self._capacity = count

    def put(self, name: str, row: int, values: npt.NDArray[Any]) -> None:
        """Write values, starting at a row."""
        self._columns[name][row : row + len(values)] = values

    def put_row(self, row: int, values: dict[str, int]) -> None:
        """Write one row."""
        self.reserve(row + 1)
        for name, value in values.items():
            self._columns[name][row] = value

    def finish(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """The columns, truncated to ``count`` rows; nothing may be written afterwards."""
        self._resize(count)
        return self._columns
