"""A note on groups whose device time is mostly communication that was launched in them."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.groups.figures import totals_ns
from torch_tb_profiler.views.groups.rows import Measures
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

MOSTLY = 0.5
_SHOWN = 3


def communication_note(measures: Measures) -> tuple[Note, ...]:
    """That communication is most of the GPU time of some groups: what the group computes is the
    rest. A group is named where no group below it has most of its communication."""
    times, nodes = measures.times, measures.hierarchy.nodes
    every = np.arange(nodes.count)
    gpu = totals_ns(times.measures["gpu"], every, nodes.count)
    communication = totals_ns(times.communication, every, nodes.count)
    by_backward = totals_ns(times.backward_communication, every, nodes.count)
    named = (communication > MOSTLY * gpu) & ~_is_of_one_below(nodes.parent, communication)
    named[measures.hierarchy.first_outside :] = False
    rows = np.flatnonzero(named)
    rows = rows[np.argsort(-communication[rows], kind="stable")]
    if not len(rows):
        return ()
    texts = [
        f"{nodes.path[row][-80:]!r} {duration_text(communication[row] / NS_PER_US)} of "
        f"{duration_text(gpu[row] / NS_PER_US)}"
        + (
            " (launched by the backward pass)"
            if by_backward[row] > MOSTLY * communication[row]
            else ""
        )
        for row in rows[:_SHOWN].tolist()
    ]
    more = f", and {len(rows) - _SHOWN} more groups" if len(rows) > _SHOWN else ""
    text = (
        "GPU time of a group is of everything launched in it, communication too. Most of it is "
        f"communication in {', '.join(texts)}{more}: the rest is what the group computes."
    )
    evidence: dict[str, object] = {
        "groups": [nodes.path[row] for row in rows.tolist()],
        "columns": ["communication_us", "gpu_total_us"],
    }
    return (Note("quality", "groups_mostly_communication", "info", text, evidence),)


def _is_of_one_below(parent: Int64, ns: Int64) -> Bools:
    """Nodes of whose time one child has more than half."""
    result = np.zeros(len(ns), np.bool_)
    children = np.flatnonzero(parent >= 0)
    large = children[ns[children] > MOSTLY * ns[parent[children]]]
    result[parent[large]] = True
    return result
