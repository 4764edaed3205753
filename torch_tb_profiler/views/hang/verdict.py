"""Why the job hangs, in a sentence or two."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.analysis.hang.problems import HangProblem
from torch_tb_profiler.analysis.hang.sibling_transfers import odd_transfers
from torch_tb_profiler.analysis.hang.signatures import differences
from torch_tb_profiler.analysis.hang.stack_shifts import stack_shifts
from torch_tb_profiler.views.answering import counted, joined, quoted
from torch_tb_profiler.views.hang.last_calls import LastCall, last_calls
from torch_tb_profiler.views.hang.moment_texts import host_sentence
from torch_tb_profiler.views.hang.texts import (
    call_text,
    group_text,
    in_sentence,
    operation_text,
    subject,
    waited_text,
)

_OTHERS = {
    "operation": "another operation",
    "sizes": "other sizes",
    "types": "other types",
}


def verdict(diagnosis: HangDiagnosis) -> str:
    """Which rank holds the job up in which collective, and what stays open."""
    if not diagnosis.problems:
        return _no_hang(diagnosis)
    problem, cause = diagnosis.problems[0], diagnosis.causes[0]
    first = (
        _deadlock(diagnosis) if cause.is_cycle else _sentence(diagnosis, problem, cause.culprits)
    )
    ranks = cause.culprits or problem.blockers or problem.odd or problem.no_dump
    parts = (
        first,
        _shifted(diagnosis, problem),
        host_sentence(diagnosis, problem, ranks),
        _others(diagnosis),
        _open(diagnosis, problem),
    )
    return joined(parts) or ""


def _no_hang(diagnosis: HangDiagnosis) -> str:
    last = [
        (number, sequence)
        for number, sequence in completed_by_all(diagnosis).items()
        if sequence is not None
    ]
    dumps = counted(len(diagnosis.dumps.ranks), "rank")
    if not last:
        return f"No rank waits in a collective: the dumps of {dumps} hold no call that is open."
    channels = diagnosis.dumps.channels.all
    number, sequence = max(last, key=lambda each: len(channels[each[0]].members))
    text = (
        f"No rank waits in a collective: every call in the dumps of {dumps} is completed. The last "
        f"one that all members of {group_text(diagnosis, number)} completed is #{sequence}."
    )
    dumped = set(diagnosis.dumps.ranks)
    absent = tuple(rank for rank in channels[number].members if rank not in dumped)
    older = tuple(rank for rank in absent if rank in diagnosis.dumps.older)
    absent = tuple(rank for rank in absent if rank not in older)
    if absent:
        text += f" {subject(absent)} wrote no dump."
    if older:
        text += f" {_older(older)}"
    return text


def completed_by_all(diagnosis: HangDiagnosis) -> dict[int, int | None]:
    """Per channel the last collective that every member with a dump completed."""
    sequence = pl.col("sequence")
    table = diagnosis.progress.collectives.with_columns(
        limit=sequence.filter((pl.col("pending") > 0) | (pl.col("missing") > 0))
        .min()
        .over("channel")
    )
    before = pl.when(pl.col("limit") > 1).then(pl.col("limit") - 1)
    is_whole = pl.col("limit").is_null() | (sequence < pl.col("limit"))
    rows = table.group_by("channel", maintain_order=True).agg(
        pl.coalesce(sequence.filter(is_whole).max(), before.first()).alias("last")
    )
    return dict(zip(rows["channel"].to_list(), rows["last"].to_list(), strict=True))


def _sentence(diagnosis: HangDiagnosis, problem: HangProblem, culprits: tuple[int, ...]) -> str:
    call = call_text(diagnosis, problem)
    waiting = _waiting(diagnosis, problem)
    if problem.kind == "mismatch":
        return _mismatch(diagnosis, problem)
    if problem.kind == "not_entered":
        culprits = culprits or problem.missing
        last = last_calls(diagnosis, culprits[:1])
        return f"{subject(culprits)} never called {call} ({waiting}){_at(last)}."
    if problem.kind == "not_started":
        them = "its device has" if len(problem.behind) == 1 else "their devices have"
        return (
            f"{subject(problem.behind)} called {call}, and {them} not started it, while "
            f"{in_sentence(problem.started)} {_wait(problem.started)} in it"
            f"{_for(diagnosis, problem)}: earlier work on {them.split(maxsplit=1)[0]} "
            f"{'device' if len(problem.behind) == 1 else 'devices'} has not finished."
        )
    if problem.kind == "no_counterpart":
        operation = operation_text(diagnosis, problem.call)
        what = "receive" if "send" in operation else "send"
        return (
            f"{subject(problem.waiting)} waits in {operation} of "
            f"{group_text(diagnosis, problem.channel)}{_for(diagnosis, problem)}, and "
            f"{in_sentence(problem.missing)} called no {what} that fits it."
        )
    if problem.kind == "transfer_differs":
        return (
            f"{subject(problem.waiting)} waits in {operation_text(diagnosis, problem.call)} of "
            f"{group_text(diagnosis, problem.channel)}{_for(diagnosis, problem)}: the call of the "
            "other rank has other sizes or types."
        )
    if problem.kind == "no_dump":
        return (
            f"{_without_dump(diagnosis, problem)} "
            f"{subject(problem.waiting)} {_wait(problem.waiting)} in {call}"
            f"{_for(diagnosis, problem)}, and every other member with a dump called it."
        )
    if problem.kind == "queued":
        return (
            f"All {len(problem.waiting)} members called {call}, and no device has started it"
            f"{_for(diagnosis, problem)}: earlier work on the devices has not finished."
        )
    return (
        f"All members with a dump called {call} with the same sizes and types, and "
        f"{in_sentence(problem.waiting)} {_wait(problem.waiting)} in it{_for(diagnosis, problem)}: "
        "the transfer itself does not end, or the dump was written while it ran."
    )


def _mismatch(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    calls = diagnosis.progress.calls.filter(
        (diagnosis.progress.calls["channel"] == problem.channel)
        & (diagnosis.progress.calls["sequence"] == problem.sequence)
    )
    by_rank = dict(zip(calls["rank"].to_list(), calls["call"].to_list(), strict=True))
    others = [rank for rank in by_rank if rank not in problem.odd]
    odd_call = by_rank[problem.odd[0]]
    group = group_text(diagnosis, problem.channel)
    if not others:
        names = sorted({operation_text(diagnosis, call) for call in by_rank.values()})
        return (
            f"The {len(by_rank)} ranks that entered #{problem.sequence} of {group} made calls that "
            f"do not match ({', '.join(names[:3])}), none of them the call of most ranks."
        )
    rows = [tuple(diagnosis.dumps.calls.row(call)) for call in (odd_call, problem.call)]
    what = differences(rows[0], rows[1])
    odd_text, most_text = (operation_text(diagnosis, call) for call in (odd_call, problem.call))
    most = f"the other {len(others)} ranks" if len(others) > 1 else f"rank {others[0]}"
    if "operation" in what:
        return (
            f"{subject(problem.odd)} called {odd_text} as #{problem.sequence} of {group}, where "
            f"{most} called {most_text}{_as_siblings(problem)}{_then(diagnosis, problem)}."
        )
    side = 0 if rows[0][1] != rows[1][1] or rows[0][3] != rows[1][3] else 1
    shown = [f"{row[1 + side]} {row[3 + side]}".strip() for row in rows]
    kind = " and ".join(_OTHERS[each] for each in what) or "other values"
    return (
        f"{subject(problem.odd)} called {odd_text} #{problem.sequence} of {group} with {kind} "
        f"({quoted(shown[0])}) than {most} ({quoted(shown[1])}){_as_siblings(problem)}"
        f"{_then(diagnosis, problem)}."
    )


def _as_siblings(problem: HangProblem) -> str:
    count = problem.sibling_groups
    like = "1 other group" if count == 1 else f"{count} other groups"
    return f", as {like} with the same purpose did" if count else ""


def _then(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    waited = waited_text(diagnosis, problem.since_ns)
    return "" if waited is None else f"; they wait {waited}"


def _waiting(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    members = len(diagnosis.dumps.channels.all[problem.channel].members)
    waiting = len(problem.waiting)
    return f"{waiting} of {counted(members, 'rank')} {_wait(problem.waiting)} in it" + _for(
        diagnosis, problem
    )


def _wait(ranks: tuple[int, ...]) -> str:
    return "waits" if len(ranks) == 1 else "wait"


def _for(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    waited = waited_text(diagnosis, problem.since_ns)
    return "" if waited is None else f" {waited}"


def _at(last: list[LastCall]) -> str:
    """Where the first of the missing ranks was when it last called torch."""
    if not last:
        return "; the dump holds no call of it"
    call = last[0]
    where = f" at {quoted(call.location)}" if call.location else ""
    return f"; the last call of rank {call.rank} was {call.text}{where}"


def _deadlock(diagnosis: HangDiagnosis) -> str:
    # Of several transfers in which the same ranks wait for the same others, the first is enough.
    first: dict[tuple[object, ...], HangProblem] = {}
    for problem, cause in zip(diagnosis.problems, diagnosis.causes, strict=True):
        key = (problem.channel, problem.waiting, problem.blockers)
        if cause.is_cycle and (key not in first or problem.sequence < first[key].sequence):
            first[key] = problem
    parts = [
        f"{in_sentence(problem.waiting)} {_wait(problem.waiting)} in "
        f"{call_text(diagnosis, problem)} for {in_sentence(problem.blockers)}"
        for problem in first.values()
    ]
    more = f", and so on ({len(parts)} waits)" if len(parts) > 3 else ""
    waits = f"{', while '.join(parts[:3])}{more}."
    if not diagnosis.problems[0].is_transfer:
        return f"Deadlock, calls in another order: {waits}"
    return f"{_skipped_transfer(diagnosis, diagnosis.problems[0])} Deadlock: {waits}"


def _skipped_transfer(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    """Which rank of a pipeline called another transfer than its siblings, or that it is open."""
    odd = odd_transfers(diagnosis.dumps, problem.channel)
    if not odd:
        return "Which rank skipped or swapped a transfer is open: the dumps do not decide it."
    first = min(odd, key=lambda each: each.sequence)
    own, usual = (operation_text(diagnosis, call) for call in (first.call, first.usual_call))
    ranks = f"{first.siblings} ranks" if first.siblings > 1 else "the one other rank"
    return (
        f"{subject((first.rank,))} called {own} as #{first.sequence} of "
        f"{group_text(diagnosis, first.channel)}, where {ranks} at the same position in other "
        f"groups called {usual}."
    )


def _others(diagnosis: HangDiagnosis) -> str | None:
    causes, problems = diagnosis.causes, diagnosis.problems
    known = {problems[number].channel for number in diagnosis.roots}
    held = len({problem.channel for problem in problems} - known)
    roots = [] if causes[0].is_cycle else [_blamed(diagnosis, number) for number in diagnosis.roots]
    same = sum(bool(each) and each <= roots[0] for each in roots[1:])
    others = max(0, len(roots) - 1) - same
    return joined(
        (
            f"The same holds up {counted(same, 'other group')}." if same else None,
            f"{counted(held, 'other group')} {'hangs' if held == 1 else 'hang'} as a consequence."
            if held
            else None,
            f"{counted(others, 'other hang')} {'has' if others == 1 else 'have'} another cause."
            if others
            else None,
        )
    )


def _blamed(diagnosis: HangDiagnosis, number: int) -> frozenset[int]:
    """The ranks that a problem waits for in the end, or those of which nothing is known."""
    return frozenset(diagnosis.causes[number].culprits or diagnosis.problems[number].no_dump)


def _shifted(diagnosis: HangDiagnosis, problem: HangProblem) -> str | None:
    """Which rank skipped a call before that looks like the next one, by the stacks."""
    if problem.is_transfer:
        return None
    shifts = stack_shifts(diagnosis.progress, problem.channel)
    if not shifts:
        return None
    first = min(shifts, key=lambda each: each.sequence)
    same = tuple(
        each.rank
        for each in shifts
        if (each.sequence, each.is_skip) == (first.sequence, first.is_skip)
    )
    verb = "skipped a call" if first.is_skip else "made a call too many"
    other = "next" if first.is_skip else "previous"
    return (
        f"{subject(same)} {verb} at or before #{first.sequence} of "
        f"{group_text(diagnosis, problem.channel)}: from there on, the stacks are those of the "
        f"{other} call on the other ranks."
    )


def _open(diagnosis: HangDiagnosis, problem: HangProblem) -> str | None:
    if problem.kind == "no_dump" or not problem.no_dump:
        return None
    they = "it holds" if len(problem.no_dump) == 1 else "they hold"
    return f"{_without_dump(diagnosis, problem)} Whether {they} the group up too is open."


def _without_dump(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    """Why dumps do not say where ranks are."""
    older = tuple(rank for rank in problem.no_dump if rank in diagnosis.dumps.older)
    dumped = set(diagnosis.dumps.ranks)
    silent = tuple(rank for rank in problem.no_dump if rank in dumped)
    absent = tuple(rank for rank in problem.no_dump if rank not in (*older, *silent))
    wrote = "has no dump: it" if len(absent) == 1 else "have no dumps: they"
    return joined(
        (
            f"{subject(absent)} {wrote} died, or wrote none." if absent else None,
            _older(older) if older else None,
            f"What {in_sentence(silent)} called then is not in the dump, which is cut or begins "
            "later."
            if silent
            else None,
        )
    ) or ""  # fmt: skip


def _older(ranks: tuple[int, ...]) -> str:
    return (
        f"The {'dump' if len(ranks) == 1 else 'dumps'} of {in_sentence(ranks)} "
        f"{'is' if len(ranks) == 1 else 'are'} older than the others, or of another run: others "
        "completed collectives that need every rank and are not in "
        f"{'it' if len(ranks) == 1 else 'them'}."
    )
