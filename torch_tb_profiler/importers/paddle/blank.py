"""Tables of which nothing is known yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, TABLE_COLUMNS, ColumnArrays

_ABSENT: dict[Any, Any] = {np.int64: ABSENT, np.int32: -1, np.int8: -1, np.float64: np.nan}


def blank_table(name: str, count: int) -> ColumnArrays:
    """A table with so many rows, all of their values absent."""
    return {
        column: np.full(count, _ABSENT[dtype], dtype)
        for column, dtype in TABLE_COLUMNS[name].items()
    }
