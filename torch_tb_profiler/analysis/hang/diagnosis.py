"""The diagnosis of a hang from the dumps of a run."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.hang.call_order import preceded
from torch_tb_profiler.analysis.hang.dumps import (
    FlightDumps,
    collect_dumps,
    dump_time_ns,
    last_time_ns,
)
from torch_tb_profiler.analysis.hang.positions import positions_of
from torch_tb_profiler.analysis.hang.problems import HangProblem, collective_problems
from torch_tb_profiler.analysis.hang.progress import GroupProgress, progress_of
from torch_tb_profiler.analysis.hang.rank_moments import RankMoments, rank_moments
from torch_tb_profiler.analysis.hang.silent_ranks import older_dumps, without_older
from torch_tb_profiler.analysis.hang.transfers import pending_transfers, transfer_problems
from torch_tb_profiler.analysis.hang.waits import WaitCause, causes, ranked
from torch_tb_profiler.knowledge.hang import knowledge
from torch_tb_profiler.trace.model import Trace


class HangDiagnosis(Struct, frozen=True):
    """Everything the dumps of a run say about a hang.

    Attributes:
        dumps, progress, transfers: What was recorded.
        problems: Where ranks wait, the one that explains most first.
        causes: How each problem stands to the others; numbers are positions in ``problems``.
        end_ns: When the dumps were written, in nanoseconds since 1970; the last time stamp of any
            call where that is unknown; None where there is no time.
        is_end_known: Whether ``end_ns`` is when they were written.
        moments: What traces of the same job say of the moment.
    """

    dumps: FlightDumps
    progress: GroupProgress
    transfers: pl.DataFrame
    problems: list[HangProblem]
    causes: list[WaitCause]
    end_ns: int | None
    is_end_known: bool
    moments: RankMoments

    @property
    def roots(self) -> list[int]:
        """The numbers of the problems that nothing else explains."""
        return [number for number, cause in enumerate(self.causes) if cause.is_root]

    def waited_s(self, since_ns: int | None) -> float | None:
        """How long a rank waited until the dumps were written, at least."""
        if since_ns is None or self.end_ns is None:
            return None
        return max(0.0, (self.end_ns - since_ns) / 1e9)


def diagnose(traces: Mapping[str, Trace]) -> HangDiagnosis | None:
    """The diagnosis of a run; None where no worker has a dump."""
    dumps = collect_dumps(traces)
    if dumps is None:
        return None
    progress = progress_of(dumps)
    older = older_dumps(dumps, progress)
    if older:
        dumps = without_older(dumps, older)
        progress = progress_of(dumps)
    transfers = pending_transfers(dumps)
    positions = positions_of(dumps)
    problems = [
        *collective_problems(dumps, progress, positions),
        *transfer_problems(transfers, positions),
    ]
    how = causes(problems)
    order = ranked(problems, how, preceded(dumps, problems, how))
    position = {number: at for at, number in enumerate(order)}
    times = knowledge().times
    written = dump_time_ns(dumps, times.after_timeout_s, times.default_timeout_s)
    return HangDiagnosis(
        dumps,
        progress,
        transfers,
        [problems[number] for number in order],
        [
            replace(
                how[number],
                held_by=tuple(sorted(position[each] for each in how[number].held_by)),
            )
            for number in order
        ],
        written if written is not None else last_time_ns(dumps),
        written is not None,
        rank_moments(traces, written),
    )
