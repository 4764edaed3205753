"""Roles: who works and who waits in a job of several roles.

Definitions: ``docs/views-roles.md#definitions``.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.job_roles.activity import job_activity
from torch_tb_profiler.analysis.job_roles.assignment import (
    joined_evidence,
    rank_roles,
    stated_roles,
)
from torch_tb_profiler.analysis.job_roles.evidence import RANGE, role_evidence
from torch_tb_profiler.analysis.job_roles.times import period_times
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.job_roles import COLOCATED
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.roles.answer import answer
from torch_tb_profiler.views.roles.columns import GENERATIONS, ROLE_PERIODS, ROLES
from torch_tb_profiler.views.roles.notes import role_notes
from torch_tb_profiler.views.roles.tables import (
    activity_series,
    generations_table,
    periods_table,
    roles_table,
)
from torch_tb_profiler.views.schema import Fact, View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = (
    "The ranks of this run have one role, or no file name, range or kernel states their roles "
    "(such as rollout and training, or prefill and decode)."
)


def roles(traces: Mapping[str, Trace], selection: Selection) -> View:
    """The roles of the workers of one run and span.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    traces = in_rank_order(traces)
    activity = job_activity(traces, selection)
    periods = period_times(activity)
    tail, reason = generations_table(activity, periods)
    tables = (roles_table(activity, traces), periods_table(activity, periods, traces), tail)
    widest = tail.frame["tail_us"].max()
    facts = (
        Fact(
            "role_count",
            "Roles",
            len(activity.roles),
            "count",
            None,
            "Different roles that are known.",
        ),
        Fact(
            "job_us",
            "Recorded time",
            activity.span_ns / 1000,
            "us",
            None,
            "From the start of the first recording to the end of the last.",
        ),
        Fact(
            "longest_tail_us",
            "Longest tail of a generation",
            widest if isinstance(widest, float) else None,
            "us",
            None,
            "From the median of the ranks' ends to the last one.",
            reason,
        ),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        series=activity_series(activity),
        facts=facts,
        notes=role_notes(activity, traces),
    )


def _missing(trace: Trace) -> str | None:
    ranges = role_evidence(trace).filter(source=RANGE)
    return None if ranges.height else NOTHING


def _missing_in_run(traces: Mapping[str, Trace | None]) -> str | None:
    if len(stated_roles(traces)) > 1:
        return None
    known = {worker: trace for worker, trace in traces.items() if trace is not None}
    if not known:
        return NOTHING
    each = {role.role for role in rank_roles(known, joined_evidence(known)).values()}
    return None if len(each - {None}) > 1 or COLOCATED in each else NOTHING


SPEC = ViewSpec(
    name="roles",
    title="Distributed: Roles",
    help="Which roles does the job have, which of them works, and which waits for another?",
    scope="run",
    tables=(ROLES, ROLE_PERIODS, GENERATIONS),
    function=roles,
    missing=_missing,
    missing_in_run=_missing_in_run,
    reads_summaries=True,
    answer=answer,
)
