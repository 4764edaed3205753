"""Calls of operators inside calls of the same operator, directly or with others between.

The time of such a call is part of that around it, so a total by name has it once
(``docs/metrics.md#operators``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.model import Trace

MAX_CLIMBS = 1000
"""Levels of nesting that are looked through; only damaged or hostile files nest deeper."""


def same_name_around(trace: Trace) -> Int64:
    """Per call of :func:`call_tree` the slice of the nearest call of the same name around it, -1
    for none."""
    tree = call_tree(trace)
    name = trace.slices["name_code"].to_numpy()[tree.slice]
    around = np.full(len(name), -1, np.int64)
    # Only a name that some call with others inside it has can be around itself.
    holds_others = np.zeros(len(trace.strings), np.bool_)
    holds_others[name[tree.parent[tree.parent >= 0]]] = True
    rows = np.flatnonzero(holds_others[name])
    above = tree.parent[rows]
    for _ in range(MAX_CLIMBS):
        inside = above >= 0
        rows, above = rows[inside], above[inside]
        if not len(rows):
            break
        is_same = name[above] == name[rows]
        around[rows[is_same]] = tree.slice[above[is_same]]
        rows, above = rows[~is_same], tree.parent[above[~is_same]]
    return around


def inside_own_group(calls: pl.DataFrame, keys: Sequence[str]) -> tuple[Bools, Bools]:
    """Which rows lie in another row of their group: in one that counts as a call, and in any.

    Args:
        calls: ``slice`` (ascending), ``around`` (as :func:`same_name_around`), ``calls`` and keys.
        keys: What rows of a group have in common; ``name_code`` is among them.
    """
    in_call, in_any = (np.zeros(calls.height, np.bool_) for _ in range(2))
    slices, around = calls["slice"].to_numpy(), calls["around"].to_numpy()
    rows = np.flatnonzero(around >= 0)
    if not len(rows):
        return in_call, in_any
    groups = [calls[key].to_numpy() for key in keys]
    counts = calls["calls"].to_numpy() > 0
    above = positions_in(slices, around[rows])
    for _ in range(MAX_CLIMBS):
        inside = above >= 0
        rows, above = rows[inside], above[inside]
        if not len(rows):
            break
        is_same = np.logical_and.reduce([group[above] == group[rows] for group in groups])
        in_any[rows[is_same]] = True
        is_done = is_same & counts[above]
        in_call[rows[is_done]] = True
        rows, above = rows[~is_done], positions_in(slices, around[above[~is_done]])
    return in_call, in_any
