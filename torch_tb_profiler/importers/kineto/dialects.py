"""The dialects there are, and which one a file is written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.importers.ascend.dialect import DIALECT as ASCEND
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.columns import ColumnArrays, Track
from torch_tb_profiler.trace.quality import QualityReport

DIALECTS: tuple[Dialect, ...] = (ASCEND,)


def dialect_of(
    header: Mapping[str, Any], tracks: Sequence[Track], quality: QualityReport
) -> Dialect | None:
    """The dialect of a file; None for PyTorch's own. ``quality`` is told of it."""
    spoken = next((each for each in DIALECTS if each.is_spoken(header, tracks)), None)
    if spoken is not None and spoken.issue is not None:
        quality.add(spoken.issue)
    return spoken


def rename(slices: ColumnArrays, strings: list[str], renamed: Callable[[str], str]) -> None:
    """Give slices other names, in place; equal ones become one."""
    first: dict[str, int] = {}
    code = np.arange(len(strings) + 1, dtype=np.int32)
    code[-1] = -1
    for old in np.unique(slices["name_code"]).tolist():
        if old >= 0:
            name = renamed(strings[old])
            code[old] = first.setdefault(name, old)
            strings[old] = name
    slices["name_code"] = code[slices["name_code"]]
