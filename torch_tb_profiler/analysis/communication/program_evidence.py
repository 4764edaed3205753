"""What recordings say of the program that they are of: declarations, time, calls, work.

What follows from it: :mod:`torch_tb_profiler.analysis.communication.programs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import (
    only_group,
    own_rank,
    world_size,
)
from torch_tb_profiler.analysis.communication.offsets import components
from torch_tb_profiler.analysis.communication.records import (
    COALESCED,
    EXCHANGE,
    PAIRWISE,
    SAME_SIZE_COLLECTIVES,
    records,
)
from torch_tb_profiler.analysis.recording.step_work import step_work
from torch_tb_profiler.knowledge.job_roles import role_of_worker
from torch_tb_profiler.trace.model import Trace

EARLIEST_NS = 1_262_304_000_000_000_000
"""2010: an earlier time is not of a clock that was set."""

PAUSE_NS = 60 * 10**9
LONG_PAUSE_NS = 3600 * 10**9

SOURCES = ("calls", "pairs", "groups", "work", "ranges")
"""What two workers of one program may share, the strongest evidence first."""

EVIDENCE = pl.Schema(
    {"worker": pl.Int64, "source": pl.String, "feature": pl.UInt64, "calls": pl.Int64}
)
"""One row per worker and feature: ``calls`` are those of a process group in a step, ``pairs`` the
transfers between two ranks in a step, ``groups`` process groups with calls, ``work`` a kind of
kernel or operator, ``ranges`` the name of calls whose group is not recorded. ``calls`` says of how
many calls it is, of the last three 0."""


class WorkerFacts(Struct, frozen=True):
    """What one recording declares.

    Attributes:
        name: Of the worker.
        role: That its name states, if any.
        rank: In its job, None where not recorded, or where the job has this rank only.
        world_size: Ranks of its job likewise.
        backend: Of its job.
        host: The machine.
        span_ns: Start and end in epoch time; None where the recording states none.
        versions: Of what wrote it and of what it ran with, equal in one job.
        steps: Names of its steps.
    """

    name: str
    role: str | None
    rank: int | None
    world_size: int | None
    backend: str | None
    host: str | None
    span_ns: tuple[int, int] | None
    versions: tuple[object, ...]
    steps: frozenset[str]


def worker_facts(traces: Mapping[str, Trace]) -> list[WorkerFacts]:
    """What each recording declares, in the given order."""
    return [_facts(worker, trace) for worker, trace in traces.items()]


def _facts(worker: str, trace: Trace) -> WorkerFacts:
    meta, info = trace.meta, trace.meta.info
    world = world_size(trace)
    is_job = world is not None and world > 1
    start_ns = meta.base_ns + meta.start_ns
    is_dated = meta.base_ns > 0 and start_ns >= EARLIEST_NS
    return WorkerFacts(
        worker,
        role_of_worker(worker),
        own_rank(trace) if is_job or world is None else None,
        world if is_job else None,
        info.job.backend if info.job is not None else None,
        info.host_name,
        (start_ns, meta.base_ns + meta.end_ns) if is_dated else None,
        (
            meta.format,
            info.recorder_version,
            info.settings.torch_version,
            info.job.library_version if info.job is not None else None,
        ),
        frozenset(trace.steps["name"].to_list()),
    )


def evidence_of(traces: Sequence[Trace]) -> pl.DataFrame:
    """What the recordings may share, as :data:`EVIDENCE`; ``worker`` is the position."""
    frames = [_in_only_group(trace) for trace in traces]
    names = [trace.steps["name"] for trace in traces]
    heights = [frame.height for frame in frames]
    first_step = np.cumsum([0, *map(len, names)])[:-1]
    calls = pl.concat(frames, rechunk=True)
    step = calls["step"] + pl.Series(np.repeat(first_step, heights), dtype=pl.Int64)
    calls = calls.with_columns(
        worker=pl.Series(np.repeat(np.arange(len(frames)), heights), dtype=pl.Int64),
        step_name=pl.concat(names, rechunk=True).gather(step),
        is_pair=pl.col("collective").is_in(PAIRWISE).fill_null(value=False),
        is_mixed=pl.col("collective").is_in((COALESCED, EXCHANGE)).fill_null(value=False),
    )
    groups = calls.select("worker", "group_key").drop_nulls().unique()
    return pl.concat(
        [
            _of_groups(calls),
            _of_pairs(calls),
            _features(groups, "groups", pl.col("group_key").hash()),
            _of_ranges(calls),
            _of_work(traces),
        ]
    )


def _in_only_group(trace: Trace) -> pl.DataFrame:
    only = pl.lit(only_group(trace)[1], pl.String)
    return records(trace).frame.with_columns(pl.coalesce("group_key", only))


def _of_groups(calls: pl.DataFrame) -> pl.DataFrame:
    sized = pl.col("collective").is_in(SAME_SIZE_COLLECTIVES).fill_null(value=False)
    chosen = calls.filter(~pl.col("is_pair") & ~pl.col("is_mixed"))
    size = pl.when(sized).then("input_bytes").fill_null(-1)
    return _by_step(chosen.with_columns(size=size), "calls", ("group_key",))


def _of_pairs(calls: pl.DataFrame) -> pl.DataFrame:
    chosen = calls.filter("is_pair")
    size = pl.max_horizontal("input_bytes", "output_bytes").fill_null(-1)
    chosen = chosen.with_columns(size=size, collective=pl.lit("pair"))
    return _by_step(chosen, "pairs", ("group_key", "pair"))


def _by_step(calls: pl.DataFrame, source: str, within: tuple[str, ...]) -> pl.DataFrame:
    """The calls of a step as a set: those at the edges of a recording are of other steps."""
    call = pl.concat_str(
        pl.col("collective").fill_null(""),
        pl.col("dtype").fill_null(""),
        pl.col("size").cast(pl.String),
        separator="\n",
    )
    summed = (
        calls.drop_nulls((*within, "step_name"))
        .with_columns(call=call.hash() // 2**20)
        .group_by("worker", *within, "step_name")
        .agg(pl.len().alias("calls"), pl.col("call").sum())
    )
    whole = pl.concat_str(
        *(pl.col(key).cast(pl.String) for key in (*within, "step_name", "calls", "call")),
        separator="\n",
    )
    return _features(summed, source, whole.hash())


def _of_ranges(calls: pl.DataFrame) -> pl.DataFrame:
    unnamed = calls.filter(pl.col("group_key").is_null() & pl.col("name").is_not_null())
    # "nccl:send 0->1" differs on both sides.
    names = unnamed.select("worker", name=pl.col("name").str.replace(r"[\s\d].*$", "")).unique()
    return _features(names, "ranges", pl.col("name").hash())


def _of_work(traces: Sequence[Trace]) -> pl.DataFrame:
    frames = [step_work(trace).select("kind") for trace in traces]
    work = pl.concat(frames, rechunk=True).with_columns(
        worker=pl.Series(
            np.repeat(np.arange(len(frames)), [frame.height for frame in frames]), dtype=pl.Int64
        )
    )
    kinds = work.filter(pl.col("kind") != 0).unique(maintain_order=True)
    return _features(kinds, "work", pl.col("kind").hash())


def _features(frame: pl.DataFrame, source: str, feature: pl.Expr) -> pl.DataFrame:
    calls = pl.col("calls") if "calls" in frame.columns else pl.lit(0)
    columns = {"source": pl.lit(source), "feature": feature, "calls": calls}
    return frame.select("worker", **columns).cast(EVIDENCE)


def linked(evidence: pl.DataFrame, workers: Sequence[int], sources: Sequence[str]) -> list[int]:
    """Per worker of ``workers`` the first one that a chain of shared features leads to."""
    shared = evidence.filter(
        pl.col("source").is_in(list(sources)) & pl.col("worker").is_in(list(workers))
    )
    pairs = (
        shared.select(
            first=pl.col("worker").min().over("source", "feature"), second=pl.col("worker")
        )
        .filter(pl.col("first") != pl.col("second"))
        .unique()
        .sort("first", "second")
    )
    lowest = components(pairs, workers)
    return [lowest[worker] for worker in workers]


def linked_without_repeats(
    evidence: pl.DataFrame, workers: Sequence[int], ranks: Mapping[int, int | None]
) -> list[int]:
    """Per worker of ``workers`` another one of its program: those that share calls, pairs or a
    group, of most calls first, are joined where no rank then appears twice. What two ranks of one
    number share says nothing: all programs may have it.

    Args:
        evidence: Of all workers.
        workers: Those to be joined.
        ranks: The rank of each.
    """
    shared = (
        evidence.filter(
            pl.col("source").is_in(("calls", "pairs", "groups"))
            & pl.col("worker").is_in(list(workers))
        )
        .group_by("source", "feature")
        .agg(pl.col("worker").sort(), pl.col("calls").max())
        .filter(pl.col("worker").list.len() > 1)
        .sort("calls", "worker", descending=[True, False])
    )
    of_worker = {worker: worker for worker in workers}
    members = {worker: [worker] for worker in workers}
    known = {worker: {ranks[worker]} - {None} for worker in workers}
    for joined in shared["worker"]:
        parts = {of_worker[worker] for worker in joined}
        union: set[int | None] = set().union(*(known[part] for part in parts))
        if len(parts) < 2 or len(union) < sum(len(known[part]) for part in parts):
            continue
        first = max(parts, key=lambda part: (len(members[part]), -part))
        for part in sorted(parts - {first}):
            for worker in members[part]:
                of_worker[worker] = first
            members[first] += members.pop(part)
        known[first] = union
    return [of_worker[worker] for worker in workers]


def shared_counts(
    evidence: pl.DataFrame, pieces: Sequence[Sequence[int]], parts: Sequence[Sequence[int]]
) -> list[list[tuple[int, ...]]]:
    """Per piece and part (both sets of workers) how many features of each source they share, in the
    order of :data:`SOURCES`."""
    of_piece, of_part = (
        evidence.join(
            pl.DataFrame(
                [(worker, number) for number, workers in enumerate(sets) for worker in workers],
                schema={"worker": pl.Int64, name: pl.Int64},
                orient="row",
            ),
            on="worker",
        )
        .select(name, "source", "feature")
        .unique()
        for name, sets in (("piece", pieces), ("part", parts))
    )
    counts = of_piece.join(of_part, on=["source", "feature"]).group_by("piece", "part", "source")
    known = {tuple(key): count for *key, count in counts.agg(pl.len()).iter_rows()}
    return [
        [
            tuple(known.get((piece, part, source), 0) for source in SOURCES)
            for part in range(len(parts))
        ]
        for piece in range(len(pieces))
    ]


def times_apart(
    facts: Sequence[WorkerFacts], workers: Sequence[int], *, is_certain: bool
) -> list[list[int]]:
    """The dated workers by when they were recorded, cut where nothing was recorded for a while.

    Where several programs are certain (``is_certain``) a pause of :data:`PAUSE_NS` is enough. Else
    clocks may differ as much: it counts on one machine, whose clock is one, between steps of the
    same names; and from :data:`LONG_PAUSE_NS` on, unless no machine is on both sides.
    """
    dated = sorted(
        (span, worker) for worker in workers if (span := facts[worker].span_ns) is not None
    )
    if not dated:
        return []
    last = np.maximum.accumulate([end for (_, end), _ in dated]).tolist()
    ordered = [worker for _, worker in dated]
    cuts = [0]
    for at, ((start, _), _) in enumerate(dated):
        pause_ns = start - last[at - 1] if at else 0
        if pause_ns >= PAUSE_NS and (
            is_certain or _is_other_time(facts, ordered[cuts[-1] : at], ordered[at:], pause_ns)
        ):
            cuts.append(at)
    return [ordered[begin:end] for begin, end in pairwise([*cuts, len(ordered)])]


def _is_other_time(
    facts: Sequence[WorkerFacts], before: Sequence[int], after: Sequence[int], pause_ns: int
) -> bool:
    hosts, later = ({facts[worker].host for worker in side} for side in (before, after))
    if hosts & later - {None}:
        names = {name for worker in before for name in facts[worker].steps}
        shared = any(not names.isdisjoint(facts[worker].steps) for worker in after)
        return shared or pause_ns >= LONG_PAUSE_NS
    return pause_ns >= LONG_PAUSE_NS and (None in hosts or None in later)
