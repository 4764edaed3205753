"""The order of nodes as positions: a graph of nodes inside one another without any time.

Every node begins at a position and ends at one, as in a walk through the forest in order of ids, so
that a node lies inside its parent. Positions count beginnings and ends; they are no times.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64


def parent_rows(ids: Int64, parents: Int64) -> tuple[Int64, int]:
    """Row of the parent of each node; -1 without one.

    Args:
        ids: Distinct ids, ascending.
        parents: Id of each parent; any number that is no id for none.

    Returns:
        The rows, and how many nodes were inside a circle, which is cut at its oldest nodes.
    """
    count = len(ids)
    if not count:
        return np.empty(0, np.int64), 0
    at = np.minimum(np.searchsorted(ids, parents), count - 1)
    row = np.where(ids[at] == parents, at, -1)
    is_inside = ~_reaches_root(row)
    circles = int(is_inside.sum())
    if circles:
        row[is_inside & (row >= np.arange(count))] = -1
    return row, circles


def _reaches_root(row: Int64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each node has a root above it, by doubling the length of jumps."""
    count = len(row)
    above = np.append(np.where(row < 0, count, row), count)
    for _ in range(count.bit_length() + 1):
        above = above[above]
    result: np.ndarray[tuple[int], np.dtype[np.bool_]] = above[:-1] == count
    return result


def positions(row: Int64) -> tuple[Int64, Int64]:
    """Position of the beginning and of the end of each node.

    Args:
        row: Row of the parent of each node, from :func:`parent_rows`.
    """
    count = len(row)
    order = np.argsort(row, kind="stable")
    edges = np.searchsorted(row[order], np.arange(-1, count + 1))
    children, first = order.tolist(), edges.tolist()
    begins, ends = [0] * count, [0] * count
    position = 0
    stack = [(-1, first[0])]
    while stack:
        node, at = stack.pop()
        if at < first[node + 2]:
            child = children[at]
            stack.append((node, at + 1))
            begins[child] = position
            position += 1
            stack.append((child, first[child + 1]))
        elif node >= 0:
            ends[node] = position
            position += 1
    return np.array(begins, np.int64), np.array(ends, np.int64)
