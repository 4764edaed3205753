"""Calls on different workers matched to collectives, and how long each worker waited in them.

Calls match by their keys (``analysis.communication.keys``), and where only order could say what
belongs together although calls were lost, by time (``analysis.communication.alignment``;
``docs/views-distributed.md#which-calls-are-one-collective``).

A collective ends for all its members together, when the last has arrived and the data has moved.
So the shortest of the matched ranges is the transfer, and a worker waited for as long as its range
exceeds that (``docs/views-distributed.md#definitions``). Where a file of the recording states how
long data moved, that is the transfer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.alignment import align_by_time
from torch_tb_profiler.analysis.communication.keys import add_keys
from torch_tb_profiler.analysis.communication.members import add_members
from torch_tb_profiler.analysis.communication.metadata import (
    in_rank_order,
    only_group,
    world_size,
)
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.communication.records import Records, records
from torch_tb_profiler.analysis.communication.stated_transfers import stated_transfers
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

NO_PARTNER = "no other worker has this call"
OTHERS_ABSENT = "the other members are not among the workers of this run"
ONE_FILE = (
    "calls are matched between workers, and this run has one: ranks that share a file are not "
    "told apart"
)
AMBIGUOUS = (
    "workers have different numbers of such calls, and nothing recorded says which belong together"
)
PEER_UNKNOWN = "the recording does not say which rank it was exchanged with"


class Matching(Struct, frozen=True, eq=False):
    """The calls of all workers of a run, matched to collectives.

    Attributes:
        workers: Names, in the order of the ``worker`` columns.
        calls: :data:`~torch_tb_profiler.analysis.communication.records.RECORDS` of all workers with
            ``worker`` (index), ``step_name``, ``match`` (id of the collective, null when no other
            worker has it), ``members`` (workers in the match), ``loaded`` (members of its group
            that are workers of the run, null if unknown), ``size_bytes`` and ``unmatched_reason``.
        ranges: One row per range: ``worker``, ``record``, ``start_ns``, ``end_ns``, ``match``,
            ``transfer_ns`` (null when unmatched, or when no other range is in a recording, unless a
            file states it), ``is_stated``.
    """

    workers: list[str]
    calls: pl.DataFrame
    ranges: pl.DataFrame


class _LastMatching(Struct, eq=False):
    """The last two results of :func:`match` with their input, of a run and of its first program; in
    one attribute since several threads read and write it."""

    results: tuple[tuple[Mapping[str, Records], Matching], ...] = ()


@per_split
def _last_matching(_trace: Trace) -> _LastMatching:
    """The result cached with the first trace of a run, valid for the same set of traces."""
    return _LastMatching()


def match(traces: Mapping[str, Trace]) -> Matching:
    """Match the communication of the workers of one run and span, in the order of their ranks; the
    last results are cached."""
    traces = in_rank_order(traces)
    parts = {worker: records(trace) for worker, trace in traces.items()}
    last = _last_matching(next(iter(traces.values())))
    for cached, matching in last.results:
        if list(cached) == list(parts) and all(cached[name] is parts[name] for name in parts):
            return matching
    matching = _match(traces, parts)
    last.results = ((parts, matching), *last.results[:1])
    return matching


def _match(traces: Mapping[str, Trace], parts: Mapping[str, Records]) -> Matching:
    """The workers of each program are matched among themselves."""
    apart = programs(traces).workers
    if len(apart) == 1:
        return _match_program(traces, parts)
    workers = list(parts)
    matchings, first = [], 0
    for names in apart:
        matching = _match_program(
            {name: traces[name] for name in names}, {name: parts[name] for name in names}
        )
        number = pl.Series([workers.index(name) for name in names], dtype=pl.Int64)
        matchings.append(_renumbered(matching, number, first))
        first += matching.calls["match"].n_unique() + 1
    order = ("worker", "record")
    return Matching(
        workers,
        pl.concat([each.calls for each in matchings]).sort(order, maintain_order=True),
        pl.concat([each.ranges for each in matchings]).sort(order, maintain_order=True),
    )


def _renumbered(matching: Matching, number: pl.Series, first: int) -> Matching:
    """A matching with other numbers of its workers, and of its collectives from ``first`` on."""
    calls, ranges = (
        frame.with_columns(number.gather(frame["worker"]).alias("worker"), pl.col("match") + first)
        for frame in (matching.calls, matching.ranges)
    )
    return Matching(matching.workers, calls, ranges)


def _match_program(traces: Mapping[str, Trace], parts: Mapping[str, Records]) -> Matching:
    calls = _joined([traces[worker] for worker in parts], [part.frame for part in parts.values()])
    participants = [traces[worker] for worker, part in parts.items() if part.frame.height]
    same_steps = len({tuple(trace.steps["name"]) for trace in participants}) == 1
    calls = add_keys(_fill_only_group(calls, participants), same_steps)
    ranges = _ranges(list(parts.values()))
    spans = ranges.group_by("worker", "record").agg(
        pl.col("start_ns").min(), pl.col("end_ns").max()
    )
    calls = _add_matches(align_by_time(calls, spans))
    calls = add_members(calls, traces)
    calls = _add_sizes(calls, traces).with_columns(unmatched_reason=_reasons(traces))
    ranges = _with_stated(_add_transfers(ranges, calls), list(traces.values()))
    return Matching(list(parts), calls, ranges)


def _joined(traces: list[Trace], frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The calls of all workers, with ``worker`` (its index) and ``step_name``.

    In one batch: a call of polars for each of a thousand workers takes longer than all the rest.
    """
    calls = pl.concat(frames, rechunk=True)
    step_names = [trace.steps["name"] for trace in traces]
    heights = [frame.height for frame in frames]
    first_step = np.cumsum([0, *map(len, step_names)])[:-1]
    step = calls["step"] + pl.Series(np.repeat(first_step, heights), dtype=pl.Int64)
    return calls.with_columns(
        worker=np.repeat(np.arange(len(frames)), heights),
        step_name=pl.concat(step_names, rechunk=True).gather(step),
    )


def _fill_only_group(calls: pl.DataFrame, participants: list[Trace]) -> pl.DataFrame:
    """Put calls without a group into the only group, where all workers with calls declare just
    that one."""
    groups = {only_group(trace) for trace in participants}
    label, key, size = groups.pop() if len(groups) == 1 else (None, None, None)
    return calls.with_columns(
        group=pl.coalesce("group", pl.lit(label, pl.String)),
        group_key=pl.coalesce("group_key", pl.lit(key, pl.String)),
        group_size=pl.coalesce("group_size", pl.lit(size, pl.Int64)),
    )


def _add_matches(calls: pl.DataFrame) -> pl.DataFrame:
    """Add ``match`` and ``members``."""
    members = pl.col("worker").n_unique().over("key")
    alone = pl.col("key").is_null() | ((members < 2) & (pl.col("group_size") != 1).fill_null(True))
    return calls.with_columns(
        members=pl.when(pl.col("key").is_not_null()).then(members).otherwise(1).cast(pl.Int64),
        match=pl.when(~alone).then(pl.col("key").rank("dense").cast(pl.Int64)),
    )


def _add_sizes(calls: pl.DataFrame, traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Fill ``group_size`` where a match has all ranks of the job, or the job has one rank, and add
    ``size_bytes``: the size that nccl-tests divide by the time (of an all_gather the whole
    output)."""
    ranks = {size for trace in traces.values() if (size := world_size(trace)) is not None}
    whole = pl.col("members").is_in(list(ranks)) if len(ranks) == 1 else pl.lit(value=False)
    known = whole & ((pl.col("members") > 1) | pl.lit(ranks == {1}))
    sent, received = pl.col("input_bytes"), pl.col("output_bytes")
    total = communication.names_of_size("total")
    unsized = communication.names_of_size("none", "nothing")
    return calls.with_columns(
        group_size=pl.coalesce("group_size", pl.when(known).then("members"))
    ).with_columns(
        size_bytes=pl.when(pl.col("collective").is_in(unsized))
        .then(None)
        .when(pl.col("collective") == "all_gather")
        .then(pl.max_horizontal(received, sent * pl.col("group_size")))
        .when(pl.col("collective").is_in(total))
        .then(pl.max_horizontal(sent, received))
        .otherwise(pl.when(sent > 0).then(sent).otherwise(pl.coalesce(received, sent)))
    )


def _reasons(traces: Mapping[str, Trace]) -> pl.Expr:
    """Why a call has no match."""
    single = next(iter(traces.values())) if len(traces) == 1 else None
    # Normally a rank uses one device.
    shares_file = single is not None and int(single.devices["used"].sum()) > 1
    absent = pl.lit(len(traces) < 2) | (pl.col("loaded") < 2).fill_null(value=False)
    return (
        pl.when(pl.col("match").is_not_null())
        .then(None)
        .when(absent)
        .then(pl.lit(ONE_FILE if shares_file else OTHERS_ABSENT))
        .when(pl.col("peer_unknown"))
        .then(pl.lit(PEER_UNKNOWN))
        .when(pl.col("is_ambiguous"))
        .then(pl.lit(AMBIGUOUS))
        .otherwise(pl.lit(NO_PARTNER))
    )


def _ranges(parts: list[Records]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "worker": np.repeat(np.arange(len(parts)), [len(part.record) for part in parts]),
            "record": np.concatenate([part.record for part in parts]),
            "start_ns": np.concatenate([part.start_ns for part in parts]),
            "end_ns": np.concatenate([part.end_ns for part in parts]),
        },
        schema=dict.fromkeys(("worker", "record", "start_ns", "end_ns"), pl.Int64),
    )


def _with_stated(ranges: pl.DataFrame, traces: list[Trace]) -> pl.DataFrame:
    """Transfers as files of the recordings state them, where they do; and ``is_stated``."""
    stated = np.full(ranges.height, -1, np.int64)
    worker = ranges["worker"].to_numpy()
    start_ns, end_ns = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    for number, trace in enumerate(traces):
        if "recorded_collectives" in trace.side:
            rows = np.flatnonzero(worker == number)
            stated[rows] = stated_transfers(trace, start_ns[rows], end_ns[rows])
    return (
        ranges.with_columns(stated=stated, is_stated=stated >= 0)
        .with_columns(transfer_ns=pl.when("is_stated").then("stated").otherwise("transfer_ns"))
        .drop("stated")
    )


def _add_transfers(ranges: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Add ``transfer_ns``: the shortest range of the collective. Where workers differ in how many
    ranges one call has, the ranges of a worker count as one, from first start to last end."""
    call = ("worker", "record")
    joined = ranges.join(calls.select(*call, "match"), on=call, how="left").with_columns(
        position=pl.int_range(pl.len()).over(*call),
        count=pl.len().over(*call),
    )
    even = pl.col("count").min().over("match") == pl.col("count").max().over("match")
    joined = joined.with_columns(even=even.fill_null(value=True))
    whole = (
        joined.filter(~pl.col("even"))
        .group_by(*call, "match", maintain_order=True)
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        .with_columns(position=pl.lit(0, pl.Int64))
    )
    columns = ("worker", "record", "start_ns", "end_ns", "match", "position")
    both = pl.concat([joined.filter("even").select(columns), whole.select(columns)])
    duration = pl.col("end_ns") - pl.col("start_ns")
    timed = pl.col("worker").n_unique().over("match", "position")
    known = pl.col("match").is_not_null() & ((timed > 1) | (pl.col("group_size") == 1))
    return both.join(calls.select(*call, "group_size"), on=call, how="left").select(
        *columns[:4],
        "match",
        transfer_ns=pl.when(known).then(duration.min().over("match", "position")),
    )
