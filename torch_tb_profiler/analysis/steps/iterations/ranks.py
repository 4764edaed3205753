"""The recordings of several ranks, cut at the same moments.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from torch_tb_profiler.analysis.communication.clocks import clock_offsets
from torch_tb_profiler.analysis.steps.iterations.key_node import (
    InstancesOf,
    boundaries_ns,
    instances,
    key_node_names,
)
from torch_tb_profiler.analysis.steps.iterations.key_nodes import best_key_node, clear_key_node
from torch_tb_profiler.analysis.steps.iterations.split import (
    IterationSplit,
    UnknownKeyNodeError,
    cached_split,
    check_calls,
    has_recorded_steps,
    split_at,
    split_iterations,
)
from torch_tb_profiler.analysis.steps.iterations.split_by import SplitBy, parse_split_by
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def split_ranks(
    traces: Mapping[str, Trace],
    iterations_by: str | None,
    instances_of: InstancesOf = instances,
) -> dict[str, Trace]:
    """``traces`` of one run, by worker, with the iterations that ``iterations_by`` asks for.
    ``instances_of`` resolves the text of a key node.

    Where every rank that has the key node has as many instances, the n-th cut is the latest of
    their n-th on the aligned clock; otherwise every instance on any rank is a cut of all.

    Raises:
        UnknownKeyNodeError: no rank has the key node.
        SelectionError: the text is malformed, or the key node is called too often.
    """
    by = parse_split_by(iterations_by)
    reason = None
    is_default = by.kind == "default"
    if by.kind in ("auto", "default") and not any(map(has_recorded_steps, traces.values())):
        by, reason = _chosen(by, traces)
    if by.kind == "default":
        return dict(traces)
    if by.kind not in ("name", "start") or len(traces) < 2:
        return {
            worker: split_iterations(trace, iterations_by, instances_of)
            for worker, trace in traces.items()
        }
    times = _times(traces, by, instances_of)
    counts = {worker: len(each) for worker, each in times.items()}
    if not any(counts.values()):
        names = {name for trace in traces.values() for name in key_node_names(trace)}
        raise UnknownKeyNodeError(by.name, sorted(names))
    offsets = _offsets(traces)
    having = [worker for worker, count in counts.items() if count]
    sequence = np.repeat(np.arange(len(having)), [counts[worker] for worker in having])
    moments = boundaries_ns(
        np.concatenate([times[worker] + offsets[worker] for worker in having]), sequence
    )
    check_calls(by, len(moments))
    return {
        worker: _split_at(
            trace,
            moments - offsets[worker],
            IterationSplit(by, counts[worker], reason, is_default),
        )
        for worker, trace in traces.items()
    }


def _chosen(by: SplitBy, traces: Mapping[str, Trace]) -> tuple[SplitBy, str | None]:
    """The best (by default: a clear) key node of the first rank that has one."""
    choose = clear_key_node if by.kind == "default" else best_key_node
    for trace in traces.values():
        name, reason = choose(trace)
        if name is not None:
            return SplitBy("name", name), reason
    return by, None


def _times(traces: Mapping[str, Trace], by: SplitBy, instances_of: InstancesOf) -> dict[str, Int64]:
    """Per rank the moments at which its own instances cut."""
    times = {}
    for worker, trace in traces.items():
        nodes = instances_of(trace, by.name)
        times[worker] = boundaries_ns(
            nodes.start_ns if by.kind == "start" else nodes.end_ns, nodes.process
        )
    return times


def _offsets(traces: Mapping[str, Trace]) -> dict[str, int]:
    """Per rank what its times are behind those of the first one: by the ends of their common
    collectives, else by the stamps of the files."""
    reference = next(iter(traces))
    by_collectives = clock_offsets(traces, reference)
    base_ns = traces[reference].meta.base_ns
    return {
        worker: by_collectives[worker].offset_ns
        if worker in by_collectives
        else trace.meta.base_ns - base_ns
        for worker, trace in traces.items()
    }


def _split_at(trace: Trace, times_ns: Int64, how: IterationSplit) -> Trace:
    text = f"{how.by.kind}:{how.by.name} at {hash(times_ns.tobytes())}"
    return cached_split(trace, text, lambda: split_at(trace, times_ns, how, of_ranks=True))
