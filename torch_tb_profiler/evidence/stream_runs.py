"""Consecutive kernels of a stream that one fused kernel could replace."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
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
"""Kinds of kernels that a compiler fuses into one pass over memory."""


def starts_stream(trace: Trace, rows: Int64) -> Bools:
    """Mask of the rows of ``trace.device_work`` that are the first of their stream; rows are in the
    order of tracks, and of starts on each."""
    track = trace.slices["track"].to_numpy()[trace.device_work["slice"].to_numpy()[rows]]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = track[1:] != track[:-1]
    return is_first


def fusion_savings(trace: Trace, at_most: float) -> Float64:
    """Per row of ``trace.device_work`` the share of its time saved by fusing it with its neighbors.

    For consecutive kernels of :data:`FUSABLE` kinds that is all but the longest kernel, at most
    ``at_most``; 0 for other rows.
    """
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication)
    is_first = starts_stream(trace, rows)
    names = trace.device_work["name_code"].to_numpy()[rows]
    fusable = (
        kernel_name_kinds(trace).verdicts(names, lambda kind: kind.kind in FUSABLE) == codes.YES
    )
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
