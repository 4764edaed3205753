"""All ranks of a job in arrays: their steps, their own time, and the chains that replays follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order, own_rank
from torch_tb_profiler.analysis.communication.queues import ALWAYS_NS, call_queues
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.ranks.rank_steps import rank_steps
from torch_tb_profiler.analysis.ranks.replay import RankProgram
from torch_tb_profiler.analysis.ranks.segments import RankEvent, segments
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace

DIRECTLY_NS = 20_000
"""A call that starts within this time after another has ended may have waited for it."""

PARTS = ("computation", "input", "pause", "host", "device")
"""The parts of a rank's own time (:mod:`torch_tb_profiler.analysis.ranks.own_time`)."""


class RankJob(Struct, frozen=True, eq=False):
    """The ranks of a job and their selected whole steps.

    Attributes:
        traces: The recordings by worker, in the order of their ranks; only those with such steps.
        steps: Names of the steps.
        column: Per worker and row of its ``steps`` the position in ``steps``, -1 for none.
        duration_ns: ``[ranks, steps]``, NaN where a rank lacks a step.
        own_ns: Own time by part of :data:`PARTS`, each ``[ranks, steps]``.
        longest_gap_ns: Longest stretch in which the host held the rank up, likewise.
        collection_ns: The part of ``pause`` that is garbage collection, likewise.
        stopped_ns: How long the host did nothing for the device, computation or not: ``input`` and
            ``pause``, each ``[ranks, steps]``.
        program: The chains of all ranks.
        parts_ns: Own time before each event of them, ``[parts, events]``.
        rank: Per event its rank.
        transfer_ns: How long the data of each collective of the program moves.
        calls: One row per matched collective with at least two recorded members: ``collective``
            (its number in the program), ``collective_name``, ``group_key``, ``group_size``,
            ``pair``, ``size_bytes``, ``dtype``, ``step`` (position), ``transfer_ns``, ``members``
            (list of positions in ``traces``), ``sizes`` (what each of them states, bytes).
    """

    traces: dict[str, Trace]
    steps: list[str]
    column: list[Int64]
    duration_ns: Float64
    own_ns: dict[str, Float64]
    longest_gap_ns: Float64
    collection_ns: Float64
    stopped_ns: dict[str, Float64]
    program: RankProgram
    parts_ns: Float64
    rank: Int64
    transfer_ns: Float64
    calls: pl.DataFrame

    @property
    def numbers(self) -> list[int]:
        """The rank that each recording declares, else its position."""
        declared = map(own_rank, self.traces.values())
        return [row if rank is None else rank for row, rank in enumerate(declared)]

    @property
    def step_ns(self) -> float:
        """Mean duration of a step of the job, which lasts as long as on its slowest rank: where
        ranks do not wait for each other, what one loses may exceed the mean step of all."""
        return float(np.nanmean(np.fmax.reduce(self.duration_ns, axis=0)))


def rank_job(traces: Mapping[str, Trace], selection: Selection) -> RankJob | None:
    """The job of some ranks; None where no rank has a selected step that it recorded to its end.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    ordered = in_rank_order(traces)
    windows = selected_windows(ordered, selection)
    columns: dict[str, Int64] = {}
    names: dict[str, int] = {}
    for worker, steps in windows.items():
        number = [
            names.setdefault(name, len(names)) if whole else -1
            for name, whole in zip(steps.names, steps.whole.tolist(), strict=True)
        ]
        columns[worker] = np.array([*number, -1], np.int64)[steps.of_step]
    workers = {worker: ordered[worker] for worker in windows if (columns[worker] >= 0).any()}
    if not workers:
        return None
    column = [columns[worker] for worker in workers]
    tables = _by_step([rank_steps(trace) for trace in workers.values()], column, len(names))
    program = _program(ordered, workers, column, len(names))
    return RankJob(
        dict(workers),
        list(names),
        column,
        tables["duration_ns"],
        {
            "computation": tables["computation_ns"],
            "input": tables["input_wait_ns"],
            "pause": tables["pause_ns"],
            "host": tables["host_wait_ns"],
            "device": tables["device_wait_ns"],
        },
        tables["longest_gap_ns"],
        tables["collection_ns"],
        {"input": tables["loading_ns"], "pause": tables["pausing_ns"]},
        *program,
    )


def _by_step(frames: list[pl.DataFrame], column: list[Int64], steps: int) -> dict[str, Float64]:
    """Columns of ``rank_steps`` as matrices of ranks and steps; steps of one name add up."""
    rows = pl.concat(frames, rechunk=True)
    rank = np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    step = np.concatenate(
        [of_rank[frame["step"].to_numpy()] for of_rank, frame in zip(column, frames, strict=True)]
    )
    chosen = step >= 0
    known = np.zeros((len(frames), steps), np.bool_)
    known[rank[chosen], step[chosen]] = True
    matrices = {}
    for name in rows.columns:
        if name not in ("step", "memory_peak_bytes"):
            matrix = np.zeros((len(frames), steps))
            np.add.at(matrix, (rank[chosen], step[chosen]), rows[name].to_numpy()[chosen])
            matrices[name] = np.where(known, matrix, np.nan)
    return matrices


def _program(
    ordered: Mapping[str, Trace], workers: Mapping[str, Trace], column: list[Int64], steps: int
) -> tuple[RankProgram, Float64, Int64, Float64, pl.DataFrame]:
    matching = match(ordered)
    frames = [segments(trace) for trace in workers.values()]
    rank = np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    rows = pl.concat(frames, rechunk=True)
    step = np.concatenate(
        [of_rank[frame["step"].to_numpy()] for of_rank, frame in zip(column, frames, strict=True)]
    )
    first_call = _first_calls(matching, workers)
    event, record = rows["event"].to_numpy(), rows["record"].to_numpy().astype(np.int64)
    call = np.where(record >= 0, first_call[rank] + record, -1)
    entered = np.zeros(matching.calls.height + 1, np.bool_)
    entered[call[(event == RankEvent.CALL) & (step >= 0)]] = True
    entered[-1] = True
    chosen = np.flatnonzero((step >= 0) & entered[call])
    rows, rank, step, event, call = (
        rows[chosen],
        rank[chosen],
        step[chosen],
        event[chosen],
        call[chosen],
    )
    collective, transfer, table = _collectives(
        matching, call[event == RankEvent.CALL], step[event == RankEvent.CALL]
    )
    of_event = collective[call]
    is_call = event == RankEvent.CALL
    program = RankProgram(
        np.searchsorted(rank, np.arange(len(frames) + 1)),
        event.astype(np.int64),
        of_event,
        step,
        _previous(workers, first_call, rank, np.where(is_call, call, -1), of_event),
        np.bincount(of_event[is_call], minlength=len(transfer)),
        steps,
    )
    parts = np.stack([rows[f"{part}_ns"].to_numpy() for part in PARTS]).astype(np.float64)
    return program, parts, rank, transfer, table


def _first_calls(matching: Matching, workers: Mapping[str, Trace]) -> Int64:
    """Per worker the first of its rows of ``matching.calls``."""
    first = np.searchsorted(matching.calls["worker"].to_numpy(), np.arange(len(matching.workers)))
    number = {worker: row for row, worker in enumerate(matching.workers)}
    return first[[number[worker] for worker in workers]].astype(np.int64)


def _collectives(
    matching: Matching, call: Int64, step: Int64
) -> tuple[Int64, Float64, pl.DataFrame]:
    """Per row of ``matching.calls`` the number of its collective (-1: not in the program, and at
    the end for no call), the transfers of all collectives, and :attr:`RankJob.calls`."""
    calls = matching.calls.with_row_index("call")
    times = matching.ranges.group_by("worker", "record").agg(
        pl.col("transfer_ns").sum().alias("moved"),
        pl.col("transfer_ns").null_count().alias("unknown"),
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("ran"),
    )
    used = (
        calls.join(times, on=["worker", "record"], how="left", maintain_order="left")
        .select(
            "worker", "collective", "group_key", "group_size", "pair", "size_bytes", "dtype",
            "match", "call",
            took=pl.when(pl.col("unknown") == 0).then("moved").otherwise("ran").fill_null(0),
        )[call]
        .with_columns(step=pl.Series(step))
    )  # fmt: skip
    alone = -1 - pl.col("call").cast(pl.Int64)
    used = used.with_columns(key=pl.coalesce("match", alone)).with_columns(
        number=pl.col("key").rank("dense").cast(pl.Int64) - 1
    )
    collective = np.full(matching.calls.height + 1, -1, np.int64)
    collective[used["call"].to_numpy()] = used["number"].to_numpy()
    grouped = used.group_by("number").agg(pl.col("took").min()).sort("number")
    table = (
        used.filter(pl.col("match").is_not_null())
        .group_by("number", maintain_order=True)
        .agg(
            pl.col("collective", "group_key", "group_size", "pair", "size_bytes", "dtype").first(),
            pl.col("step").max(),
            pl.col("took").min().alias("transfer_ns"),
            pl.col("worker").alias("members"),
            pl.col("size_bytes").alias("sizes"),
        )
        .filter(pl.col("members").list.n_unique() > 1)
        .rename({"collective": "collective_name", "number": "collective"})
    )
    return collective, grouped["took"].to_numpy().astype(np.float64), table


def _previous(
    workers: Mapping[str, Trace], first_call: Int64, rank: Int64, call: Int64, collective: Int64
) -> Int64:
    """Per event that is a call (others: call -1) the collective that its start waited for on its
    rank, beside its launch and the computation before it; -1 for none.

    That is the call before it in its queue, or one of another queue that ended directly before it
    started, though it was ready before: the data of a receive that the next exchange passes on.
    """
    previous = np.full(len(call), -1, np.int64)
    rows = np.flatnonzero(call >= 0)
    if not len(rows):
        return previous
    timed = [_timed_calls(trace) for trace in workers.values()]
    offset = np.cumsum([0, *(len(each.start_ns) for each in timed)])
    track, ready, start, end = (np.concatenate(column) for column in zip(*timed, strict=True))
    at = offset[rank[rows]] + call[rows] - first_call[rank[rows]]
    of_rank, track, ready, start, end = rank[rows], track[at], ready[at], start[at], end[at]
    order = np.lexsort((at, track, of_rank))
    same = (np.diff(of_rank[order]) == 0) & (np.diff(track[order]) == 0)
    before = np.full(len(rows), -1, np.int64)
    before[order[1:][same]] = order[:-1][same]
    # Times of one rank after those of the rank before: one search serves all.
    lowest, highest = int(start.min()), int(end.max())
    lift = of_rank * (highest - lowest + 1)
    by_end = np.argsort(end + lift, kind="stable")
    last = np.searchsorted((end + lift)[by_end], start + lift, "right") - 1
    held_by = np.where(last >= 0, by_end[last], -1)
    is_held = (
        (held_by >= 0)
        & (of_rank[held_by] == of_rank)
        & (start - end[held_by] <= DIRECTLY_NS)
        & (end[held_by] > ready)
    )
    before = np.where(is_held, held_by, before)
    previous[rows] = np.where(before >= 0, collective[rows[before]], -1)
    return previous


class _TimedCalls(NamedTuple):
    """Per row of ``records``: its track, when it was ready, its first start and last end."""

    track: Int64
    ready_ns: Int64
    start_ns: Int64
    end_ns: Int64


def _timed_calls(trace: Trace) -> _TimedCalls:
    calls, queues = records(trace), call_queues(trace)
    count = calls.frame.height
    start, end = calls.frame["start_ns"].to_numpy().copy(), np.zeros(count, np.int64)
    record, first = np.unique(calls.record, return_index=True)
    start[record] = calls.start_ns[first]
    np.maximum.at(end, calls.record, calls.end_ns)
    ready = np.where(queues.ready_ns == ALWAYS_NS, start, queues.ready_ns)
    return _TimedCalls(queues.track, ready, start, np.maximum(end, start))
