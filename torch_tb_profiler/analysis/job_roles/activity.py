"""When each rank of a job was busy, and in which role, on one clock.

The recordings of a job have a clock each: times are counted from the epoch by the stamps of the
files (``baseTimeNanoseconds``), so between hosts they are as exact as the clocks of the hosts are
synchronized. Where a file has no stamp its times are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    complement,
    split_at_windows,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.job_roles.assignment import (
    RankRole,
    joined_evidence,
    rank_roles,
    role_order,
)
from torch_tb_profiler.analysis.job_roles.evidence import RANGE
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.knowledge.job_roles import COLOCATED
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

MAX_SPAN_NS = 2**47
"""A job of 39 hours: times of 32,768 ranks fit on one axis. Recordings further apart are of no one
job, or their stamps are wrong."""

BETWEEN = "between"
"""The role of a rank with several roles outside of the ranges of all of them."""


class JobActivity(Struct, frozen=True, eq=False):
    """The work of the ranks of a job. Times are ns since the start of the first recording.

    Attributes:
        workers: Names, in the order of the ``worker`` columns.
        ranks: The role of each.
        roles: The roles that any rank has at any time, in order.
        span_ns: End of the last recording.
        windows: One row per stretch of time of a rank in one role: ``worker`` (index), ``role``
            (name, :data:`BETWEEN`, null where unknown), ``phase`` (name of its ranges, null for
            none), ``start_ns``, ``end_ns``, ``calls`` (ranges in it, null for none). A rank with
            one role has its whole recording, or what is selected of it.
        phases: Of ranks with one role the periods of their ranges, likewise.
        computing: When kernels computed (on a rank without any: operators of the host), of all
            ranks on one axis (:meth:`on_axis`).
        communicating: When collectives and transfers ran, likewise.
        busy: When either ran, likewise.
        is_aligned: Whether all files are stamped with the time of their clock, or none is.
    """

    workers: list[str]
    ranks: list[RankRole]
    roles: list[str]
    span_ns: int
    windows: pl.DataFrame
    phases: pl.DataFrame
    computing: Intervals
    communicating: Intervals
    busy: Intervals
    is_aligned: bool

    def on_axis(self, worker: Int64, time_ns: Int64) -> Int64:
        """Times of ranks on the axis on which the ranks follow each other, one span apart."""
        at: Int64 = worker * (self.span_ns + 1) + time_ns
        return at

    def off_axis(self, time_ns: Int64) -> Int64:
        """The inverse of :meth:`on_axis`: times in the job."""
        at: Int64 = time_ns % (self.span_ns + 1)
        return at

    def bounds(self, windows: pl.DataFrame) -> tuple[Int64, Int64]:
        """Start and end of windows, on the axis."""
        worker = windows["worker"].to_numpy()
        return (
            self.on_axis(worker, windows["start_ns"].to_numpy()),
            self.on_axis(worker, windows["end_ns"].to_numpy()),
        )

    def busy_pieces(self, windows: pl.DataFrame) -> pl.DataFrame:
        """Busy stretches inside windows: ``window`` (row), ``start_ns`` and ``end_ns`` in the
        job."""
        return self._pieces(self.busy, windows)

    def idle_pieces(self, windows: pl.DataFrame) -> pl.DataFrame:
        """The rest of the windows, likewise."""
        end = int(self.on_axis(np.array(len(self.workers)), np.array(0)))
        return self._pieces(complement(self.busy, 0, end), windows)

    def covered_ns(self, intervals: Intervals, windows: pl.DataFrame) -> Int64:
        """How much of each window intervals on the axis cover."""
        return total_within(intervals, *self.bounds(windows))

    def _pieces(self, intervals: Intervals, windows: pl.DataFrame) -> pl.DataFrame:
        pieces = split_at_windows(intervals, *self.bounds(windows))
        start_ns = self.off_axis(pieces.start_ns)
        return pl.DataFrame(
            {
                "window": pieces.window,
                "start_ns": start_ns,
                "end_ns": start_ns + pieces.length_ns,
            },
            schema=dict.fromkeys(("window", "start_ns", "end_ns"), pl.Int64),
        )


def job_activity(traces: Mapping[str, Trace], selection: Selection) -> JobActivity:
    """The work of the ranks of a job, of the selected steps and times.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    evidence = joined_evidence(traces)
    roles = rank_roles(traces, evidence)
    shift, span_ns, is_aligned = _clock(traces)
    own = _own_windows(traces, selection, shift)
    single, periods, phases = _role_windows(own, list(roles.values()), evidence, shift)
    between = _between(own, periods, list(roles.values()))
    frame = pl.concat([single, periods, between]).sort("worker", "start_ns", "end_ns")
    present = {role for role in frame["role"].unique().to_list() if role is not None}
    computing = _on_axis([computation(trace) for trace in traces.values()], shift, span_ns)
    parts = [records(trace).intervals() for trace in traces.values()]
    communicating = _on_axis(parts, shift, span_ns)
    return JobActivity(
        list(traces),
        list(roles.values()),
        role_order(present),
        span_ns,
        frame,
        phases,
        computing,
        communicating,
        union_all(computing, communicating),
        is_aligned,
    )


_WINDOWS = pl.Schema(
    {
        "worker": pl.Int64,
        "role": pl.String,
        "phase": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "calls": pl.Int64,
    }
)


def _clock(traces: Mapping[str, Trace]) -> tuple[Int64, int, bool]:
    """Per recording what its times are behind those of the job, the span of the job, and whether
    the stamps of the files allow that; where they do not, every recording begins at 0."""
    metas = [trace.meta for trace in traces.values()]
    bases = np.array([meta.base_ns for meta in metas], np.int64)
    starts = np.array([meta.start_ns for meta in metas], np.int64)
    timed = [meta for meta in metas if meta.end_ns > meta.start_ns] or metas
    first_ns = min(meta.base_ns + meta.start_ns for meta in timed)
    span_ns = max(meta.base_ns + meta.end_ns for meta in timed) - first_ns
    are_stamped = {meta.base_ns > 0 for meta in timed}
    if len(are_stamped) == 1 and span_ns <= MAX_SPAN_NS:
        return bases - first_ns, span_ns, True
    longest_ns = max(meta.end_ns - meta.start_ns for meta in timed)
    return -starts, min(longest_ns, MAX_SPAN_NS), False


def _own_windows(
    traces: Mapping[str, Trace], selection: Selection, shift: Int64
) -> tuple[Int64, Int64, Int64]:
    """Per selected stretch of a recording its worker, start and end."""
    if selection.is_everything:
        metas = [trace.meta for trace in traces.values()]
        return (
            np.arange(len(metas)),
            np.array([meta.start_ns for meta in metas], np.int64) + shift,
            np.array([meta.end_ns for meta in metas], np.int64) + shift,
        )
    steps = selected_windows(traces, selection)
    parts = [
        (number, steps[worker].start_ns + shift[number], steps[worker].end_ns + shift[number])
        for number, worker in enumerate(traces)
        if worker in steps
    ]
    return (
        np.repeat([number for number, _, _ in parts], [len(start) for _, start, _ in parts]),
        np.concatenate([start for _, start, _ in parts]),
        np.concatenate([end for _, _, end in parts]),
    )


def _role_windows(
    own: tuple[Int64, Int64, Int64],
    roles: list[RankRole],
    evidence: pl.DataFrame,
    shift: Int64,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The windows of ranks with one role, the periods of the others, and the periods of the former,
    which are phases of their role."""
    worker, start, end = own
    role_of = np.array([each.role or "" for each in roles], np.str_)
    frame = pl.DataFrame({"worker": worker, "start_ns": start, "end_ns": end})
    frame = frame.filter(pl.col("end_ns") > pl.col("start_ns"))
    frame = frame.with_columns(own_role=pl.Series(role_of[frame["worker"]], dtype=pl.String))
    frame = frame.with_columns(pl.col("own_role").replace("", None))
    is_single = (pl.col("own_role") != COLOCATED).fill_null(value=True)
    single = frame.filter(is_single).select(
        "worker", role="own_role", phase=None, start_ns="start_ns", end_ns="end_ns", calls=None
    )
    ranges = evidence.filter(source=RANGE)
    moved = pl.Series(shift, dtype=pl.Int64).gather(ranges["worker"])
    periods = (
        ranges.with_columns(pl.col("start_ns", "end_ns") + moved)
        .join(frame, on="worker")
        .with_columns(
            start_ns=pl.max_horizontal("start_ns", "start_ns_right"),
            end_ns=pl.min_horizontal("end_ns", "end_ns_right"),
        )
        .filter(pl.col("end_ns") > pl.col("start_ns"))
    )
    phases = periods.filter(is_single).with_columns(role="own_role")
    several, of_single = (
        each.select(_WINDOWS.names()).cast(_WINDOWS)
        for each in (periods.filter(~is_single), phases)
    )
    return single.cast(_WINDOWS), several, of_single


def _between(
    own: tuple[Int64, Int64, Int64], windows: pl.DataFrame, roles: list[RankRole]
) -> pl.DataFrame:
    """What no period of a rank with several roles covers, inside what is selected of it."""
    several = {number for number, each in enumerate(roles) if each.role == COLOCATED}
    starts, ends = windows["start_ns"].to_numpy(), windows["end_ns"].to_numpy()
    of_worker = windows["worker"].to_numpy()
    order = np.argsort(of_worker, kind="stable")
    bounds = np.searchsorted(of_worker[order], np.arange(len(roles) + 1))
    workers: list[int] = []
    rests: list[Intervals] = []
    for worker, start, end in zip(*(each.tolist() for each in own), strict=True):
        if worker in several:
            rows = order[bounds[worker] : bounds[worker + 1]]
            rest = complement(union(starts[rows], ends[rows]), start, end)
            rests.append(rest)
            workers += [worker] * len(rest.start_ns)
    if not workers:
        return pl.DataFrame(schema=_WINDOWS)
    columns = {
        "worker": workers,
        "start_ns": np.concatenate([rest.start_ns for rest in rests]),
        "end_ns": np.concatenate([rest.end_ns for rest in rests]),
    }
    frame = pl.DataFrame(columns).with_columns(
        role=pl.lit(BETWEEN), phase=pl.lit(None), calls=pl.lit(None)
    )
    return frame.select(_WINDOWS.names()).cast(_WINDOWS)


def _on_axis(parts: list[Intervals], shift: Int64, span_ns: int) -> Intervals:
    """Intervals of all ranks, each on its own stretch of one axis."""
    counts = [len(part.start_ns) for part in parts]
    moved = np.repeat(shift + np.arange(len(parts)) * (span_ns + 1), counts)
    return Intervals(
        np.concatenate([part.start_ns for part in parts]) + moved,
        np.concatenate([part.end_ns for part in parts]) + moved,
    )
