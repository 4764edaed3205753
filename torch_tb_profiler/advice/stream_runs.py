"""Runs of kernels on a stream that one fused kernel could do."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds, kinds_of_names
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.model import Trace

FUSABLE = frozenset(
    {
        "elementwise",
        "copy",
        "concatenation",
        "reduction",
        "normalization",
        "softmax",
        "fill",
        "random",
        "indexing",
    }
)
"""Kinds of kernels that a compiler makes one pass over memory of."""


def in_stream_order(trace: Trace, rows: Int64) -> tuple[Int64, Bools]:
    """Rows of ``trace.device_work`` by device, stream and start, and which are first on theirs."""
    keys = [indices(trace.device_work[key])[rows] for key in ("start_ns", "stream", "device")]
    order = np.lexsort(keys)
    _, stream, device = (key[order] for key in keys)
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (device[1:] != device[:-1]) | (stream[1:] != stream[:-1])
    return rows[order], is_first


def savings_of_runs(trace: Trace, at_most: float) -> Float64:
    """Per row of ``trace.device_work`` which part of its time fusing it with its neighbours saves.

    Of a run of kernels of :data:`FUSABLE` kinds that is what its longest kernel leaves, no more
    than ``at_most``; 0 for other rows.
    """
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication)
    rows, is_first = in_stream_order(trace, rows)
    names = trace.device_work["name_code"].to_numpy()[rows]
    fusable = kinds_of_names(trace).verdicts(names, lambda kind: kind.kind in FUSABLE) == codes.YES
    run = np.cumsum(is_first | ~fusable | np.append(True, ~fusable[:-1])[: len(rows)])
    dur_ns = trace.device_work["dur_ns"].to_numpy()[rows]
    whole_ns = np.bincount(run, dur_ns, len(rows) + 1)
    longest_ns = np.zeros(len(rows) + 1)
    np.maximum.at(longest_ns, run, dur_ns)
    share = np.zeros(len(rows) + 1)
    np.divide(whole_ns - longest_ns, whole_ns, out=share, where=whole_ns > 0)
    saved = np.zeros(trace.device_work.height)
    saved[rows[fusable]] = np.minimum(share, at_most)[run[fusable]]
    return saved
