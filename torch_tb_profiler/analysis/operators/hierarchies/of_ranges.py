"""User ranges as hierarchies, one per domain: the ranges of a domain nested on their threads."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, merged_calls
from torch_tb_profiler.analysis.operators.hierarchies.of_modules import owned_elsewhere
from torch_tb_profiler.analysis.operators.hierarchies.of_slices import slices_hierarchy
from torch_tb_profiler.analysis.recording.range_domains import (
    has_recorded_domain,
    range_ids,
    ranges_of_devices,
    resolve_domains,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def domains_of_ranges(trace: Trace) -> dict[str, Int64]:
    """The domains of a trace with the slices of each, made once: first those of scopes that device
    work states, which have all its time, then ranges of the program."""
    ids = range_ids(trace)
    names, number = resolve_domains(trace, ids)
    ids_by_domain = {name: ids[number == domain] for domain, name in enumerate(names)}
    present = {name: of_domain for name, of_domain in ids_by_domain.items() if len(of_domain)}
    of_devices = ranges_of_devices(trace)
    return dict(sorted(present.items(), key=lambda each: not of_devices[each[1]].all()))


def ranges_hierarchy(trace: Trace, domain: str) -> Hierarchy:
    """The ranges of one domain.

    Ranges of other domains between two of them are not looked at. Of ranges that overlap without
    nesting on one thread none is in the other; work belongs to the one that the trace nests it in.
    Where the format names domains, to the innermost range of this one around its launch, be an
    operator between them or around both.
    """
    slices = trace.slices
    ids = domains_of_ranges(trace)[domain]
    marked = np.zeros(slices.height, np.bool_)
    marked[ids] = True
    number = np.full(slices.height, -1, np.int64)
    number[ids] = np.arange(len(ids))
    parent = indices(slices["parent"])
    around = gather(number, nearest_marked(parent, marked))
    codes, name = factorize(slices["name_code"].to_numpy()[ids])
    call_parent = gather(around, parent[ids])
    node, nodes = merged_calls(
        name.reshape(-1),
        [trace.text(code) or "" for code in codes.tolist()],
        call_parent,
        slices["start_ns"].to_numpy()[ids],
        "/",
    )
    hierarchy = slices_hierarchy(
        trace, nodes, slices=ids, node=node, parent=call_parent, around=around
    )
    if has_recorded_domain(trace)[ids].all():
        work_call = _calls_around_launches(trace, ids, number, hierarchy)
    else:
        work_call = gather(around, indices(trace.device_work["node"]))
    return replace(hierarchy, work_call=work_call)


def _calls_around_launches(trace: Trace, ids: Int64, number: Int64, hierarchy: Hierarchy) -> Int64:
    """Per row of ``trace.device_work`` the innermost range around its launch. Work that belongs to
    what is elsewhere stays with that."""
    launch = indices(trace.device_work["launch"])
    call = gather(number, innermost_around_start(trace, ids, launch))
    return np.where((launch >= 0) & ~owned_elsewhere(trace), call, hierarchy.work_call)
