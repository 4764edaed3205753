"""Times per step of the workers of a run, of thousands in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_by_group
from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, total_within
from torch_tb_profiler.analysis.algebra.many_intervals import MovedRanks, moved_apart
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.columns import Float64, Int64


def means_per_step(contexts: Sequence[Context], times: Sequence[Intervals]) -> Float64:
    """Per worker ``context.per_step_ns`` of its own time, shape ``(workers,)``."""
    return _means(contexts, lambda ranks: ranks.moved(times))


def exposed_means(contexts: Sequence[Context]) -> tuple[Float64, Float64]:
    """``exposed_ns`` and ``peer_to_peer_ns`` of the exposure of each worker
    (:class:`torch_tb_profiler.evidence.exposure.Exposure`), shape ``(workers,)`` each."""
    if not contexts:
        return np.empty(0), np.empty(0)
    exposed = [exposed_time(context.trace) for context in contexts]
    collectives = _collective_times(contexts)
    exposed_ns = means_per_step(contexts, exposed)
    return exposed_ns, exposed_ns - _means(
        contexts, lambda ranks: intersect(ranks.moved(exposed), ranks.moved(collectives))
    )


def gpu_times(contexts: Mapping[str, Context]) -> list[tuple[str, int, Intervals]]:
    """Worker, number and time of each GPU of :attr:`Context.compute_intervals`; that part of the
    time included in which kernels of the steps run on after their end."""
    nothing = np.empty(0, np.int64)
    gpus, starts, ends = [nothing], [nothing], [nothing]
    for context in contexts.values():
        work, kinds = context.trace.device_work, kernel_kinds(context.trace)
        gpu, start = indices(work["device"]), work["start_ns"].to_numpy()
        chosen = kinds.is_kernel & ~kinds.is_communication & (gpu >= 0) & context.inside(start)
        gpus.append(gpu[chosen])
        starts.append(start[chosen])
        ends.append(starts[-1] + work["dur_ns"].to_numpy()[chosen])
    gpu, start, end = (np.concatenate(column) for column in (gpus, starts, ends))
    of_worker = np.repeat(np.arange(len(contexts)), [len(each) for each in gpus[1:]])
    numbers = int(gpu.max(initial=0)) + 1
    keys, group = np.unique(of_worker * numbers + gpu, return_inverse=True)
    times = split_by_group(*union_by_group(group, start, end), len(keys))
    workers = list(contexts)
    return [
        (workers[key // numbers], key % numbers, time)
        for key, time in zip(keys.tolist(), times, strict=True)
    ]


def _means(contexts: Sequence[Context], time: Callable[[MovedRanks], Intervals]) -> Float64:
    """The mean per step of what ``time`` returns for ranks whose times are moved apart."""
    total = np.zeros(len(contexts), np.int64)
    windows = [Intervals(each.windows.start_ns, each.windows.end_ns) for each in contexts]
    for ranks in moved_apart(windows):
        within = total_within(time(ranks), *ranks.windows)
        np.add.at(total, ranks.rank, within)
    steps = np.array([context.step_count for context in contexts], np.int64)
    means: Float64 = total / np.maximum(steps, 1)
    return means


def _collective_times(contexts: Sequence[Context]) -> list[Intervals]:
    """Per worker the time in which any collective ran, sends and receives left out."""
    known = [records(context.trace) for context in contexts]
    names = pl.concat([each.frame["collective"] for each in known], rechunk=True)
    pairs = names.is_in(communication.peer_to_peer_names()).fill_null(value=False).to_numpy()
    first = np.cumsum([0, *(each.frame.height for each in known)])
    counts = [len(each.record) for each in known]
    worker = np.repeat(np.arange(len(known)), counts)
    record = np.concatenate([each.record for each in known]) + first[worker]
    chosen = ~pairs[record]
    start = np.concatenate([each.start_ns for each in known])[chosen]
    end = np.concatenate([each.end_ns for each in known])[chosen]
    return split_by_group(*union_by_group(worker[chosen], start, end), len(known))


def split_by_group(group: Int64, start_ns: Int64, end_ns: Int64, count: int) -> list[Intervals]:
    """The intervals of each group ``0 … count - 1``, as :func:`union_by_group` returns them."""
    filled = end_ns > start_ns
    edges = np.searchsorted(group[filled], np.arange(count + 1)).tolist()
    start, end = start_ns[filled], end_ns[filled]
    return [Intervals(start[first:last], end[first:last]) for first, last in pairwise(edges)]
