"""Kinds of the work of graphs, from the names of kernels.

Definitions: ``docs/views-compiled.md#kinds``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MATRIX, ATTENTION, COMMUNICATION, OTHER = "matrix", "attention", "communication", "other"
GROUPS = (MATRIX, ATTENTION, COMMUNICATION, OTHER)
"""Groups of kinds, summed per launch, in order of columns."""

_GROUP_OF = {
    "gemm": MATRIX,
    "gemv": MATRIX,
    "convolution": MATRIX,
    "attention": ATTENTION,
    "communication": COMMUNICATION,
}
_COPIES = {Category.MEMCPY: "memcpy", Category.MEMSET: "memset"}


class WorkKinds(Struct, frozen=True, eq=False):
    """Kinds of the work of graphs, aligned with ``GraphLaunches.row``.

    Attributes:
        names: The kinds that occur, keys of ``[kinds]`` in ``kernels.toml``.
        kind: Index of its kind in ``names``.
        group: Index of the group of its kind in :data:`GROUPS`.
    """

    names: tuple[str, ...]
    kind: Int64
    group: Int8


@per_trace
def graph_work_kinds(trace: Trace) -> WorkKinds:
    """The kinds of all work of graphs."""
    rows = graph_launches(trace).row
    work = trace.device_work
    by_name = kernel_name_kinds(trace)
    names: dict[str, int] = {}
    kind_of_name = np.array(
        [names.setdefault(kind.kind, len(names)) for kind in by_name.kinds], np.int64
    )
    kind = kind_of_name[by_name.index[work["name_code"].to_numpy()[rows]]]
    category = work["category"].to_numpy()[rows]
    for each, name in _COPIES.items():
        kind[category == each] = names.setdefault(name, len(names))
    moves = kernel_kinds(trace).is_communication[rows]
    kind[moves] = names.setdefault("communication", len(names))
    groups = np.array([GROUPS.index(_GROUP_OF.get(name, OTHER)) for name in names], np.int8)
    return WorkKinds(tuple(names), kind, groups[kind])
