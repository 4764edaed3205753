"""The rows of the tables of the view ``hang``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.knowledge.hang import knowledge
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.views.hang.columns import (
    BATCH_TRANSFERS,
    HANG_COLLECTIVES,
    HANG_DUMPS,
    HANG_GROUPS,
    HANG_RANKS,
)
from torch_tb_profiler.views.hang.last_calls import last_calls
from torch_tb_profiler.views.hang.moment_texts import moment_cells
from torch_tb_profiler.views.hang.texts import PROBLEMS, STATES, operation_text
from torch_tb_profiler.views.hang.verdict import completed_by_all
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.schema import Table, TableSpec

FIRST_ROWS = 2000
"""Rows of a table that come with the view; more where the table itself is asked for."""


def hang_table(
    spec: TableSpec, rows: list[dict[str, object]], reasons_now: Mapping[str, str] | None = None
) -> Table:
    """A table of rows; of many the first ones come with the view."""

    def first(count: int) -> Table:
        frame = pl.DataFrame(rows[:count], spec.polars_schema())
        reasons = {each.key: each.null_reason for each in spec.columns}
        texts = {key: text for key, text in reasons.items() if isinstance(text, str)}
        texts |= reasons_now or {}
        return Table(spec, frame, needed(frame, texts))

    if len(rows) <= FIRST_ROWS:
        return first(len(rows))
    shown = first(FIRST_ROWS)
    return Table(
        shown.spec, shown.frame, shown.null_reasons, len(rows), all_rows=lambda: first(len(rows))
    )


def groups_table(diagnosis: HangDiagnosis) -> Table:
    """The groups, those that hang first."""
    channels = diagnosis.dumps.channels.all
    completed = completed_by_all(diagnosis)
    rows: list[dict[str, object]] = []
    used = set()
    for number, problem in enumerate(diagnosis.problems):
        used.add(problem.channel)
        rows.append(
            _group_row(diagnosis, problem.channel, completed)
            | hang_cells(diagnosis, number)
            | {
                "waiting_ranks": ranks_cell(problem.waiting),
                "blocking_ranks": ranks_cell(problem.odd or problem.blockers) or None,
                "no_dump_ranks": ranks_cell(problem.no_dump) or None,
                "waited_us": _waited_us(diagnosis, problem.since_ns),
            }
        )
    rows += [
        _group_row(diagnosis, number, completed)
        for number in range(len(channels))
        if number not in used
    ]
    return hang_table(HANG_GROUPS, rows)


def hang_cells(diagnosis: HangDiagnosis, number: int) -> dict[str, object]:
    """What a problem, by its number, is: the cells that equal ones share."""
    problem, cause = diagnosis.problems[number], diagnosis.causes[number]
    channels = diagnosis.dumps.channels.all
    holders = [channels[diagnosis.problems[each].channel].label for each in cause.held_by]
    return {
        "sequence": problem.sequence,
        "operation": _operation(diagnosis, problem.call),
        "problem": PROBLEMS[problem.kind],
        "is_root": cause.is_root,
        "held_by": ", ".join(dict.fromkeys(holders)) or None,
    }


def _group_row(
    diagnosis: HangDiagnosis, number: int, completed: dict[int, int | None]
) -> dict[str, object]:
    channel = diagnosis.dumps.channels.all[number]
    return {
        "group": channel.label,
        "backend": channel.backend or None,
        "members": len(channel.members),
        "ranks": ranks_cell(channel.members),
        "last_completed": completed.get(number),
    }


def ranks_table(diagnosis: HangDiagnosis) -> Table:
    """The members of the groups that hang."""
    calls = diagnosis.progress.calls
    blocking = {rank for each in diagnosis.problems for rank in each.blockers}
    last = {each.rank: each for each in last_calls(diagnosis, blocking)}
    rows: list[dict[str, object]] = []
    stacks = diagnosis.dumps.stacks
    hanging = _hanging(diagnosis)
    own = calls.join(hanging, on="channel", maintain_order="left").filter(
        pl.col("sequence") == pl.col("hangs_at")
    )
    rows_of: dict[int, dict[int, dict[str, Any]]] = {}
    for each in own.iter_rows(named=True):
        rows_of.setdefault(each["problem"], {})[each["rank"]] = each
    for position in hanging["problem"].to_list():
        problem, by_rank = diagnosis.problems[position], rows_of.get(position, {})
        channel = diagnosis.dumps.channels.all[problem.channel]
        no_dump, odd, missing = map(set, (problem.no_dump, problem.odd, problem.missing))
        order = dict.fromkeys((*problem.odd, *problem.missing, *problem.behind, *channel.members))
        for rank in order:
            row = by_rank.get(rank)
            cells: dict[str, object] = {
                "rank": rank,
                "group": channel.label,
                "sequence": problem.sequence,
                "operation": _operation(diagnosis, problem.call if row is None else row["call"]),
                "state": "no dump" if rank in no_dump else _state(rank in missing, row),
                "fits": None if row is None else rank not in odd,
            }
            if row is not None:
                stack = row["stack"]
                cells["waited_us"] = (
                    _waited_us(diagnosis, row["created_ns"]) if row["state"] < 2 else None
                )
                cells["location"] = stacks["frame"][stack] if stack >= 0 else None
                cells["stack"] = stacks["frames"][stack] if stack >= 0 else None
            elif rank in last:
                cells["location"], cells["stack"] = last[rank].location, last[rank].stack
                cells["last_call"] = last[rank].text
            cells |= moment_cells(diagnosis, rank, problem.since_ns)
            rows.append(cells)
    return hang_table(HANG_RANKS, rows, _gap_reasons(rows))


def _hanging(diagnosis: HangDiagnosis) -> pl.DataFrame:
    """The collectives that hang: ``problem`` (its position), ``channel`` and ``hangs_at``, the
    sequence of the call. One join finds the rows of all of them: thousands of groups may hang."""
    hanging = [
        (position, problem.channel, problem.sequence)
        for position, problem in enumerate(diagnosis.problems)
        if not problem.is_transfer
    ]
    names, kinds = ("problem", "channel", "hangs_at"), diagnosis.progress.calls.schema
    frame = pl.DataFrame(hanging, dict.fromkeys(names, pl.Int64), orient="row")
    return frame.with_columns(pl.col("channel").cast(kinds["channel"]))


def _gap_reasons(rows: list[dict[str, object]]) -> dict[str, str]:
    """Why the columns from traces have nulls, in the words of the rows."""
    gaps = dict.fromkeys(str(row["trace_gap"]) for row in rows if row.get("trace_gap"))
    if not gaps:
        return {}
    text = f"{'; '.join([*gaps][:3])}."
    return dict.fromkeys(("host_at_hang", "device_at_hang"), f"{text[0].upper()}{text[1:]}")


def _state(is_missing: bool, row: dict[str, object] | None) -> str:
    if row is not None:
        state = row["state"]
        assert isinstance(state, int)
        return STATES[state]
    return "not entered" if is_missing else "completed"


def collectives_table(diagnosis: HangDiagnosis) -> Table:
    """The collectives around those that hang, by state and call."""
    limits = knowledge().limits
    dumps, calls, reached = diagnosis.dumps, diagnosis.progress.calls, diagnosis.progress.reached
    hanging = _hanging(diagnosis)
    grouped = (
        calls.join(hanging, on="channel", maintain_order="left")
        .filter(
            pl.col("sequence").is_between(
                pl.col("hangs_at") - limits.shown_before, pl.col("hangs_at") + limits.shown_after
            )
        )
        .group_by("problem", "sequence", "state", "compared", maintain_order=True)
        .agg(pl.col("rank").sort(), pl.col("call", "stack").first())
        .sort("problem", "sequence", "state", "compared", maintain_order=True)
    )
    members = {
        channel: (ranks, at)
        for channel, ranks, at in reached.group_by("channel", maintain_order=True)
        .agg("rank", "reached")
        .iter_rows()
    }
    rows: list[dict[str, object]] = []
    for position, its_rows in groupby(grouped.iter_rows(named=True), itemgetter("problem")):
        problem, shown = diagnosis.problems[position], [*its_rows]
        channel = dumps.channels.all[problem.channel]
        for row in shown:
            stack = row["stack"]
            rows.append(
                {
                    "group": channel.label,
                    "sequence": row["sequence"],
                    "is_hang": row["sequence"] == problem.sequence,
                    "state": STATES[row["state"]],
                    **_call_cells(diagnosis, row["call"]),
                    "count": len(row["rank"]),
                    "ranks": ranks_cell(row["rank"]),
                    "location": dumps.stacks["frame"][stack] if stack >= 0 else None,
                }
            )
        ranks, last = members.get(problem.channel, ([], []))
        for each in dict.fromkeys(row["sequence"] for row in shown):
            absent = [
                rank for rank, at in zip(ranks, last, strict=True) if at is not None and at < each
            ]
            if absent:
                rows.append(
                    {
                        "group": channel.label,
                        "sequence": each,
                        "is_hang": each == problem.sequence,
                        "state": "not entered",
                        "count": len(absent),
                        "ranks": ranks_cell(absent),
                    }
                )
    return hang_table(HANG_COLLECTIVES, rows)


def _call_cells(diagnosis: HangDiagnosis, call: int) -> dict[str, object]:
    if call < 0:
        return {}
    operation, inputs, outputs, input_types, output_types = diagnosis.dumps.calls.row(call)
    types = input_types if input_types == output_types else f"{input_types} → {output_types}"
    return {
        "operation": operation,
        "input_sizes": inputs,
        "output_sizes": outputs,
        "types": types or None,
    }


def transfers_table(diagnosis: HangDiagnosis) -> Table:
    """The transfers that are not completed, those that cannot end first."""
    dumps = diagnosis.dumps
    rows: list[dict[str, object]] = []
    ordered = diagnosis.transfers.sort(
        pl.col("problem").is_null(), "channel", "rank", "sequence", maintain_order=True
    )
    for row in ordered.iter_rows(named=True):
        stack, problem = row["stack"], row["problem"]
        rows.append(
            {
                "group": dumps.channels.all[row["channel"]].label,
                "batch": row["sequence"],
                "rank": row["rank"],
                "peer": row["peer"],
                "operation": _operation(diagnosis, row["call"]),
                "state": STATES[row["state"]],
                "problem": None if problem is None else problem.replace("_", " "),
                "sizes": _moved(diagnosis, row["call"]),
                "peer_sizes": _moved(diagnosis, row["other_call"]),
                "waited_us": _waited_us(diagnosis, row["created_ns"]),
                "location": dumps.stacks["frame"][stack] if stack >= 0 else None,
            }
        )
    return hang_table(BATCH_TRANSFERS, rows)


def _moved(diagnosis: HangDiagnosis, call: int | None) -> str | None:
    if call is None:
        return None
    operation, inputs, outputs, input_types, output_types = diagnosis.dumps.calls.row(call)
    is_send = "send" in operation
    sizes, types = (inputs, input_types) if is_send else (outputs, output_types)
    return f"{sizes} {types}".strip()


def dumps_table(diagnosis: HangDiagnosis) -> Table:
    """The files, by rank."""
    oldest = dict(diagnosis.dumps.entries.group_by("dump").agg(pl.col("record").min()).iter_rows())
    rows: list[dict[str, object]] = [
        {
            "rank": row["rank"],
            "file": row["file"],
            "version": row["version"],
            "library": row["library_version"],
            "calls": row["entries"],
            "is_overwritten": (oldest.get(number) or 0) > 0,
            "is_cut": row["is_partial"],
        }
        for number, row in enumerate(diagnosis.dumps.files.iter_rows(named=True))
    ]
    return hang_table(HANG_DUMPS, sorted(rows, key=lambda row: (row["rank"], row["file"])))


def ranks_cell(ranks: Iterable[int]) -> str:
    """All of them: the pages draw a mark for each."""
    return rank_text(ranks, MAX_RANKS)


def _operation(diagnosis: HangDiagnosis, call: int) -> str | None:
    return diagnosis.dumps.calls["operation"][call] if call >= 0 else None


def _waited_us(diagnosis: HangDiagnosis, since_ns: int | None) -> float | None:
    waited = diagnosis.waited_s(since_ns)
    return None if waited is None else waited * 1e6


__all__ = [
    "collectives_table",
    "dumps_table",
    "groups_table",
    "hang_cells",
    "hang_table",
    "operation_text",
    "ranks_cell",
    "ranks_table",
    "transfers_table",
]
