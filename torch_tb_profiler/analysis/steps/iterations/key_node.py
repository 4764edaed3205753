"""The instances of a key node, and the moments at which they cut a recording.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.knowledge.iterations import matches_wildcard
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

KEY_NODE_CATEGORIES = (NODE_CATEGORIES, PYTHON_CATEGORIES)
"""What a name is looked for in, the first that has it: operators and ranges, then python frames
and modules."""


InstancesOf = Callable[["Trace", str], "Instances"]
"""What returns the calls of a key node by its text."""


class Instances(Struct, frozen=True, eq=False):
    """The calls of a key node, in order of slice id.

    Attributes:
        slice: Their slices.
        start_ns: Start of each.
        end_ns: End of each.
        process: Number of the process each ran in, -1 where the file does not tell.
    """

    slice: Int64
    start_ns: Int64
    end_ns: Int64
    process: Int64


def key_node_names(trace: Trace) -> list[str]:
    """The names that may be key nodes: of operators and ranges, sorted."""
    codes = trace.slices["name_code"].filter(trace.slices["category"].is_in(NODE_CATEGORIES))
    return sorted({str(trace.strings[code]) for code in codes.unique().to_list()})


def instances(trace: Trace, name: str) -> Instances:
    """The calls of ``name`` that are not inside another call of it; ``*`` in it stands for any
    text, unless something has that very name."""
    category = trace.slices["category"].to_numpy()
    codes = trace.slices["name_code"].to_numpy()
    for categories in KEY_NODE_CATEGORIES:
        wanted = np.zeros(len(Category), np.bool_)
        wanted[list(categories)] = True
        rows = np.flatnonzero(wanted[category])
        present = distinct_values(codes[rows])
        named = _matching(trace, present, name)
        if len(named):
            return outermost(trace, rows[np.isin(codes[rows], named)])
    return outermost(trace, np.empty(0, np.int64))


def _matching(trace: Trace, codes: Int64, name: str) -> Int64:
    texts = [str(trace.strings[code]) for code in codes.tolist()]
    hits = [text == name for text in texts]
    if not any(hits) and "*" in name:
        hits = [matches_wildcard(text, name) for text in texts]
    return codes[np.array(hits, np.bool_)]


def outermost(trace: Trace, rows: Int64) -> Instances:
    """The calls at slices ``rows`` (ascending) that are not inside another of them."""
    start = trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    track = trace.slices["track"].to_numpy()[rows]
    if ((track[1:] == track[:-1]) & (start[1:] < np.maximum.accumulate(end)[:-1])).any():
        marked = np.zeros(trace.slices.height, np.bool_)
        marked[rows] = True
        parent = indices(trace.slices["parent"])
        outermost = gather(nearest_marked(parent, marked), parent[rows]) < 0
        rows, start, end, track = (
            rows[outermost],
            start[outermost],
            end[outermost],
            track[outermost],
        )
    return Instances(rows, start, end, indices(trace.tracks["process"])[track])


def boundaries_ns(times_ns: Int64, sequence: Int64) -> Int64:
    """The moments that cut, ascending and each once.

    Where every sequence (process, rank) has as many times, the n-th cut is the latest of their
    n-th; otherwise every time is a cut.

    Args:
        times_ns: Ends (or starts) of instances.
        sequence: Which process or rank each is of.
    """
    order = np.lexsort((times_ns, sequence))
    _, counts = np.unique(sequence, return_counts=True)
    times = times_ns[order]
    if len(counts) > 1 and (counts == counts[0]).all():
        times = times.reshape(len(counts), -1).max(axis=0)
    return distinct_values(times)
