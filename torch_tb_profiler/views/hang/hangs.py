"""The table of hangs: equal ones of several groups are one row."""

from __future__ import annotations

from itertools import chain

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.views.hang.columns import HANGS
from torch_tb_profiler.views.hang.tables import hang_cells, hang_table, ranks_cell
from torch_tb_profiler.views.schema import Table

SHOWN_GROUPS = 4
"""Of more groups of a row the first ones are named."""


def hangs_table(diagnosis: HangDiagnosis) -> Table:
    """The hangs, those that explain the others first. Equal ones have the same operation, number,
    problem and size of the group, and the same groups hold them; of roots also the same ranks."""
    channels = diagnosis.dumps.channels.all
    equal: dict[tuple[object, ...], list[int]] = {}
    for number, (problem, cause) in enumerate(
        zip(diagnosis.problems, diagnosis.causes, strict=True)
    ):
        cells = hang_cells(diagnosis, number)
        key = (
            *(cells[name] for name in ("operation", "sequence", "problem", "is_root", "held_by")),
            len(channels[problem.channel].members),
            (problem.blockers, problem.no_dump, problem.channel) if cause.is_root else None,
        )
        equal.setdefault(key, []).append(number)
    return hang_table(HANGS, [_row(diagnosis, numbers) for numbers in equal.values()])


def _row(diagnosis: HangDiagnosis, numbers: list[int]) -> dict[str, object]:
    problems = [diagnosis.problems[number] for number in numbers]
    groups = dict.fromkeys(problem.channel for problem in problems)
    labels = list(dict.fromkeys(diagnosis.dumps.channels.all[each].label for each in groups))
    more = f" and {len(labels) - SHOWN_GROUPS} more" if len(labels) > SHOWN_GROUPS else ""
    ranks = {
        "waiting_ranks": [each.waiting for each in problems],
        "blocking_ranks": [each.odd or each.blockers for each in problems],
        "no_dump_ranks": [each.no_dump for each in problems],
    }
    waits = [diagnosis.waited_s(problem.since_ns) for problem in problems]
    longest = max((each for each in waits if each is not None), default=None)
    return hang_cells(diagnosis, numbers[0]) | {
        "group_count": len(groups),
        "group": ", ".join(labels[:SHOWN_GROUPS]) + more,
        **{
            name: ranks_cell(sorted({*chain.from_iterable(each)})) or None
            for name, each in ranks.items()
        },
        "waited_us": None if longest is None else longest * 1e6,
    }
