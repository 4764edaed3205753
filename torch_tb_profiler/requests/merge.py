"""Chosen ranks of a run on one clock, to be written as one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace, TraceMeta


class MergedRank(Struct, frozen=True):
    """A rank of a merged file.

    Attributes:
        worker: Name of the worker.
        rank: Its recorded rank.
        meta: Facts of its recording.
        offset_ns: Turns times of its trace into times of the first one's trace, at ``pivot_ns``.
        drift: What that grows by per unit of time.
        pivot_ns: A moment in the middle of its trace.
        uncertainty_ns: Standard error (est.) of that; None if unknown.
        is_aligned: Whether its clock was compared with the first one's.
        is_reference: Whether it is the first one.
    """

    worker: str
    rank: int | None
    meta: TraceMeta
    offset_ns: int
    drift: float
    pivot_ns: int
    uncertainty_ns: int | None
    is_aligned: bool
    is_reference: bool

    def offset_at(self, time_ns: float) -> float:
        """What to add to a time of its trace."""
        return self.offset_ns + self.drift * (time_ns - self.pivot_ns)


class Merge(Struct, frozen=True):
    """What is merged, known before the first trace is opened.

    Attributes:
        run: Name of the run.
        span: Name of the span.
        ranks: The ranks in the order of their processes.
        selection: Steps are those of each rank, and one without them has only its process; times
            are those of the first one's trace.
        open_trace: The trace of a worker, called when it is that worker's turn; may raise a
            LoadingError.
    """

    run: str
    span: str
    ranks: Sequence[MergedRank]
    selection: Selection
    open_trace: Callable[[str], Trace]
