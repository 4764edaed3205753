"""User ranges as hierarchies, one per domain: the ranges of a domain nested on their threads."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.codes import of_names
from torch_tb_profiler.analysis.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.hierarchies.hierarchy import Hierarchy, merged_calls
from torch_tb_profiler.analysis.hierarchies.of_slices import slices_hierarchy
from torch_tb_profiler.knowledge.range_domains import (
    USER_DOMAIN,
    range_domain,
    range_domains_file,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

RANGE_CATEGORIES = (Category.ANNOTATION, Category.DATALOADER, Category.OPTIMIZER)
"""Ranges that somebody put around work; steps are iterations and no ranges."""


@per_trace
def domains_of_ranges(trace: Trace) -> dict[str, Int64]:
    """The domains of a trace with the slices of each, ranges of the program first; made once.

    No format read today names domains: they follow from the names of the ranges.
    """
    slices = trace.slices
    category = slices["category"].to_numpy()
    ids = np.flatnonzero(np.isin(category, [int(kind) for kind in RANGE_CATEGORIES]))
    names = [USER_DOMAIN, *(entry.name for entry in range_domains_file().domains)]
    number = of_names(
        trace,
        slices["name_code"].to_numpy()[ids],
        lambda name: names.index(range_domain(name)),
        np.int8,
    )
    found = {name: ids[number == place] for place, name in enumerate(names)}
    return {name: of_domain for name, of_domain in found.items() if len(of_domain)}


def ranges_hierarchy(trace: Trace, domain: str) -> Hierarchy:
    """The ranges of one domain.

    Ranges of other domains between two of them are not looked at. Of ranges that overlap without
    nesting on one thread none is in the other; work belongs to the one that the trace nests it in.
    """
    slices = trace.slices
    ids = domains_of_ranges(trace)[domain]
    marked = np.zeros(slices.height, np.bool_)
    marked[ids] = True
    number = np.full(slices.height, -1, np.int64)
    number[ids] = np.arange(len(ids))
    parent = indices(slices["parent"])
    around = gather(number, nearest_marked(parent, marked))
    codes, name = np.unique(slices["name_code"].to_numpy()[ids], return_inverse=True)
    call_parent = gather(around, parent[ids])
    node, nodes = merged_calls(
        name.reshape(-1),
        [trace.text(code) or "" for code in codes.tolist()],
        call_parent,
        slices["start_ns"].to_numpy()[ids],
        "/",
    )
    return slices_hierarchy(trace, nodes, slices=ids, node=node, parent=call_parent, around=around)
