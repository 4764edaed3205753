"""The longest gaps of GPUs in some steps, and the cause of most of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import (
    IntervalPieces,
    Intervals,
    split_at_windows,
    total_within,
)
from torch_tb_profiler.analysis.idle.attribution import GpuIdle
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Int64

MAX_GAPS = 200
"""Gaps of all GPUs together; of equal ones at the end each GPU may have more."""


class LongGaps(NamedTuple):
    """The gaps of one GPU.

    Attributes:
        pieces: The gaps, as pieces of the steps.
        causes: Per gap the key of :data:`~torch_tb_profiler.analysis.idle.causes.GPU_CAUSES` that
            explains most of it.
        explained_ns: How much of it that is.
    """

    pieces: IntervalPieces
    causes: list[str]
    explained_ns: Int64


def long_gaps(idle: Mapping[int, GpuIdle], windows: StepWindows) -> dict[int, LongGaps]:
    """The :data:`MAX_GAPS` longest gaps in the steps, by GPU."""
    pieces = {gpu: _longest(gpu_idle, windows) for gpu, gpu_idle in idle.items()}
    lengths = [piece.length_ns for piece in pieces.values()]
    least_ns = _least(np.concatenate(lengths)) if lengths else 0
    return {gpu: _explained(idle[gpu], _chosen(piece, least_ns)) for gpu, piece in pieces.items()}


def _explained(gpu_idle: GpuIdle, pieces: IntervalPieces) -> LongGaps:
    start, end = pieces.start_ns, pieces.end_ns
    explained = np.stack([total_within(gpu_idle.causes[cause], start, end) for cause in GPU_CAUSES])
    keys = list(GPU_CAUSES)
    causes = [keys[row] for row in explained.argmax(axis=0).tolist()]
    return LongGaps(pieces, causes, explained.max(axis=0))


def _longest(gpu_idle: GpuIdle, windows: StepWindows) -> IntervalPieces:
    """The gaps of a GPU in the windows, of many only the longest."""
    gaps = Intervals(gpu_idle.gaps.start_ns, gpu_idle.gaps.end_ns)
    pieces = split_at_windows(gaps, windows.start_ns, windows.end_ns)
    return _chosen(pieces, _least(pieces.length_ns))


def _least(length_ns: Int64) -> int:
    """The length of the last of the longest."""
    if len(length_ns) <= MAX_GAPS:
        return 0
    return int(np.partition(length_ns, -MAX_GAPS)[-MAX_GAPS])


def _chosen(pieces: IntervalPieces, least_ns: int) -> IntervalPieces:
    long = np.flatnonzero(pieces.length_ns >= least_ns)
    if len(long) > MAX_GAPS:  # equals: the first ones
        long = long[np.argsort(-pieces.length_ns[long], kind="stable")[:MAX_GAPS]]
    return IntervalPieces(*(values[long] for values in pieces))
