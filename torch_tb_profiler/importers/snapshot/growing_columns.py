"""Columns that grow as they are filled, without being there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_ROWS = 1 << 12


class GrowingColumns:
    """Columns of equal length.

    Args:
        kinds: The type of each column, by name.
    """

    def __init__(self, kinds: dict[str, type[np.generic]]) -> None:
        self._columns = {name: np.empty(_FIRST_ROWS, kind) for name, kind in kinds.items()}
        self._capacity = _FIRST_ROWS

    def room_for(self, count: int) -> None:
        """Have at least so many rows."""
        if count > self._capacity:
            self._resize(max(count, self._capacity + self._capacity // 8))

    def _resize(self, count: int) -> None:
        # A large block of memory grows where it is: the system moves its pages, not its bytes.
        # Nobody else has a view of it.
        for column in self._columns.values():
            column.resize(count, refcheck=False)
        self._capacity = count

    def put(self, name: str, row: int, values: npt.NDArray[Any]) -> None:
        """Write values from a row on."""
        self._columns[name][row : row + len(values)] = values

    def put_row(self, row: int, values: dict[str, int]) -> None:
        """Write one row."""
        self.room_for(row + 1)
        for name, value in values.items():
            self._columns[name][row] = value

    def taken(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """The columns, so many rows long; they are filled no more."""
        self._resize(count)
        return self._columns
