"""The collectives in which ranks wait, and whom they wait for.

Definitions: ``docs/views-hang.md#kinds-of-hangs``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.hang.dumps import COMPLETED, STARTED, FlightDumps
from torch_tb_profiler.analysis.hang.positions import Positions
from torch_tb_profiler.analysis.hang.progress import GroupProgress
from torch_tb_profiler.analysis.hang.sibling_calls import sibling_call
from torch_tb_profiler.analysis.hang.silent_ranks import silent_members

HangKind = Literal[
    "mismatch", "not_entered", "not_started", "no_counterpart", "transfer_differs", "no_dump",
    "not_completed", "queued",
]  # fmt: skip
"""What keeps ranks waiting, the most telling first:

* ``mismatch``: ranks called another operation, or the same with other sizes or types;
* ``not_entered``: members never called it;
* ``not_started``: members called it, and their devices have not begun;
* ``no_counterpart``: a send without a receive, or the other way round;
* ``transfer_differs``: a send and its receive have other sizes or types;
* ``no_dump``: all members with a dump are in it; those without one may be missing;
* ``not_completed``: all members are in it, and it does not end;
* ``queued``: all members called it, and no device has begun: it waits for other work.
"""

ORDER: tuple[HangKind, ...] = (
    "mismatch", "not_entered", "no_counterpart", "transfer_differs", "not_started", "no_dump",
    "not_completed", "queued",
)  # fmt: skip


LEAST_EVEN = 3
"""So many collectives of a group with equal sizes make the first unequal one odd."""


class HangProblem(Struct, frozen=True):
    """A collective or transfer in which ranks wait.

    Attributes:
        channel: Number of the channel.
        sequence: Its sequence number.
        kind: What is wrong.
        waiting: Ranks in it.
        started: Those of them whose devices have begun; all, where that is not recorded.
        at: Ranks that are at a collective of the channel, or at this transfer
            (:mod:`~torch_tb_profiler.analysis.hang.positions`).
        missing: Members with a dump that did not enter it; of a transfer the other rank.
        behind: Those that called it and whose devices have not begun.
        odd: Members whose call does not fit that of most others; all where no call has a majority.
        sibling_groups: How many like groups say which call does fit, where no majority does.
        no_dump: Members without a dump, and those whose dump cannot say whether they entered it
            (:mod:`~torch_tb_profiler.analysis.hang.silent_ranks`).
        completed: Members that have completed it, or left it with an error.
        since_ns: When the first of those at it called it; where none is, of those that wait.
        call: The call of most ranks (row in ``FlightDumps.calls``).
        is_transfer: Whether it is a transfer between two ranks.
    """

    channel: int
    sequence: int
    kind: HangKind = "not_completed"
    waiting: tuple[int, ...] = ()
    started: tuple[int, ...] = ()
    at: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    odd: tuple[int, ...] = ()
    sibling_groups: int = 0
    no_dump: tuple[int, ...] = ()
    completed: tuple[int, ...] = ()
    since_ns: int | None = None
    call: int = -1
    is_transfer: bool = False

    @property
    def blockers(self) -> tuple[int, ...]:
        """The ranks that those in it wait for; none where the calls themselves do not fit."""
        return () if self.kind == "mismatch" else (*self.missing, *self.behind)


_PARTS = ("rank", "state", "compared", "call", "created_ns")
"""The columns of ``GroupProgress.calls`` that say what is wrong with a collective."""


def first_pending(progress: GroupProgress) -> pl.DataFrame:
    """The first collective of each channel that a member entered and did not complete: its rows of
    ``GroupProgress.collectives``."""
    pending = progress.collectives.filter(pl.col("pending") > 0)
    return pending.unique("channel", keep="first", maintain_order=True)


def collective_problems(
    dumps: FlightDumps, progress: GroupProgress, positions: Positions
) -> list[HangProblem]:
    """The first collective of each channel in which ranks wait."""
    first = first_pending(progress)
    if first.is_empty():
        return []
    keys = ["channel", "sequence"]
    of_channels = (
        progress.calls.join(first.select(keys), on=keys, maintain_order="left")
        .sort("rank", maintain_order=True)
        .group_by("channel")
        .agg(_PARTS)
    )
    rows = {row["channel"]: row for row in of_channels.iter_rows(named=True)}
    reached = progress.reached.join(first.select(keys), on="channel")
    missing = reached.filter(pl.col("reached") < pl.col("sequence"))
    unknown = silent_members(dumps, missing, first)
    silent = _ranks_by_channel(unknown)
    absent = _ranks_by_channel(missing.join(unknown, on=["channel", "rank"], how="anti"))
    current = positions.calls.filter(~pl.col("is_transfer")).group_by("channel")
    at = {
        row["channel"]: row
        for row in current.agg(pl.col("rank").sort(), pl.col("created_ns").min()).iter_rows(
            named=True
        )
    }
    dumped = set(dumps.ranks)
    nowhere: dict[str, Any] = {"rank": (), "created_ns": None}
    uneven = _newly_uneven(progress, first)
    problems = []
    for number, sequence in first.select(keys).iter_rows():
        position = at.get(number, nowhere)
        problem = HangProblem(
            channel=number,
            sequence=sequence,
            missing=tuple(absent.get(number, ())),
            no_dump=(
                *(each for each in dumps.channels.all[number].members if each not in dumped),
                *silent.get(number, ()),
            ),
            at=tuple(position["rank"]),
            since_ns=position["created_ns"],
        )
        has_starts = number in positions.with_starts
        calls = rows[number]
        if number in uneven:
            calls["compared"] = calls["call"]
        classified = _classified(problem, calls, has_starts)
        if len(classified.odd) == len(calls["rank"]):
            classified = _by_siblings(classified, calls, dumps, progress)
        problems.append(classified)
    return problems


def _by_siblings(
    problem: HangProblem,
    calls: Mapping[str, list[Any]],
    dumps: FlightDumps,
    progress: GroupProgress,
) -> HangProblem:
    """A problem whose members all called something else, with the odd ones by what like groups
    called."""
    usual = sibling_call(dumps, progress, problem.channel, problem.sequence)
    if usual is None or usual.compared not in calls["compared"]:
        return problem
    fits = [each == usual.compared for each in calls["compared"]]
    odd = tuple(rank for rank, is_fit in zip(calls["rank"], fits, strict=True) if not is_fit)
    call = calls["call"][fits.index(True)]
    return replace(problem, odd=odd, call=call, sibling_groups=usual.groups)


def _ranks_by_channel(rows: pl.DataFrame) -> dict[int, list[int]]:
    """Channel → its ranks in order."""
    ranks = rows.group_by("channel").agg(pl.col("rank").sort())
    return dict(zip(ranks["channel"].to_list(), ranks["rank"].to_list(), strict=True))


def _newly_uneven(progress: GroupProgress, first: pl.DataFrame) -> set[int]:
    """Channels that hang in a collective whose sizes may differ, and differ for the first time."""
    differs = first.filter((pl.col("forms") > 1) & (pl.col("variants") == 1))
    earlier = progress.collectives.join(
        differs.select("channel", until="sequence"), on="channel"
    ).filter(pl.col("sequence") < pl.col("until"))
    even = earlier.group_by("channel").agg(pl.len(), pl.col("forms").max())
    return set(even.filter((pl.col("len") >= LEAST_EVEN) & (pl.col("forms") == 1))["channel"])


def _classified(
    problem: HangProblem, calls: Mapping[str, list[Any]], has_starts: bool
) -> HangProblem:
    """The problem with its kind and the ranks that entered it.

    Args:
        problem: The collective, with the members that are not in it and those that are at it.
        calls: Columns of its rows of ``GroupProgress.calls``, by rank.
        has_starts: Whether the back end records that devices begin.
    """
    ranks, states, compared = calls["rank"], calls["state"], calls["compared"]
    state = dict(zip(ranks, states, strict=True))
    waiting = tuple(rank for rank, each in state.items() if each < COMPLETED)
    started = tuple(rank for rank in waiting if state[rank] == STARTED or not has_starts)
    are_started = set(started)
    behind = tuple(rank for rank in waiting if rank not in are_started)
    variants = Counter(compared).most_common()
    common = variants[0][0]
    has_majority = len(variants) == 1 or variants[0][1] > variants[1][1]
    is_odd = [not has_majority or each != common for each in compared]
    odd = tuple(rank for rank, differs in zip(ranks, is_odd, strict=True) if differs)
    kind: HangKind = "not_completed"
    if len(variants) > 1:
        kind = "mismatch"
    elif problem.missing:
        kind = "not_entered"
    elif behind and started:
        kind = "not_started"
    elif behind:
        kind = "queued"
    elif problem.no_dump:
        kind = "no_dump"
    created_ns = min(
        (
            time_ns
            for time_ns, each in zip(calls["created_ns"], states, strict=True)
            if each < COMPLETED and time_ns is not None
        ),
        default=None,
    )
    since_ns = created_ns if problem.since_ns is None else problem.since_ns
    return replace(
        problem,
        kind=kind,
        waiting=waiting,
        started=started,
        behind=behind,
        odd=odd if len(variants) > 1 else (),
        completed=tuple(rank for rank, each in state.items() if each == COMPLETED),
        since_ns=since_ns,
        call=calls["call"][compared.index(common)],
    )
