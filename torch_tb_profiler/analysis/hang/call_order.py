"""Which of several collectives that a rank owes it would have called first.

The rank itself made none of them. Other ranks run the same program: one that waits in the later one
has made the earlier call in a group of its own, with the same sequence number.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.analysis.hang.dumps import FlightDumps
from torch_tb_profiler.analysis.hang.problems import HangProblem
from torch_tb_profiler.analysis.hang.waits import WaitCause

MAX_PROBLEMS = 60
"""Of more hangs with one cause the order is that of their waits."""
MAX_WITNESSES = 8
"""Ranks of a hang that are asked."""


def preceded(
    dumps: FlightDumps, problems: Sequence[HangProblem], how: Sequence[WaitCause]
) -> set[int]:
    """The roots (by number) before which a rank that is missing in them owes another root."""
    owed = [
        number
        for number, (problem, cause) in enumerate(zip(problems, how, strict=True))
        if cause.is_root
        and not cause.is_cycle
        and not problem.is_transfer
        and problem.kind in ("not_entered", "no_dump", "not_started")
    ][:MAX_PROBLEMS]
    if len(owed) < 2:
        return set()
    owners = {number: set(how[number].culprits) or set(problems[number].no_dump) for number in owed}
    earlier = {number: _calls_before(dumps, problems[number]) for number in owed}
    codes = {number: _compared(dumps, problems[number]) for number in owed}
    before = {
        (first, second)
        for first in owed
        for second in owed
        if first != second
        and owners[first] & owners[second]
        and (codes[first], problems[first].sequence) in earlier[second]
    }
    return {second for first, second in before if (second, first) not in before}


def _calls_before(dumps: FlightDumps, problem: HangProblem) -> set[tuple[int, int]]:
    """What ranks that wait in a collective called before it in other groups: code of the call and
    sequence number."""
    witnesses = (problem.at or problem.waiting)[:MAX_WITNESSES]
    rows = dumps.entries.filter(pl.col("rank").is_in(list(witnesses)), ~pl.col("is_transfer"))
    own = rows.filter(
        (pl.col("channel") == problem.channel) & (pl.col("sequence") == problem.sequence)
    ).select("rank", limit="record")
    before = rows.join(own, on="rank").filter(
        (pl.col("record") < pl.col("limit")) & (pl.col("channel") != problem.channel)
    )
    return set(before.select("compared", "sequence").unique().iter_rows())


def _compared(dumps: FlightDumps, problem: HangProblem) -> int:
    """The code of the call of most ranks."""
    rows = dumps.entries.filter(
        (pl.col("channel") == problem.channel) & (pl.col("call") == problem.call)
    )
    return int(rows["compared"][0]) if rows.height else -1
