"""The tables and charts of the view of roles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isnan

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.job_roles.activity import BETWEEN, JobActivity
from torch_tb_profiler.analysis.job_roles.assignment import NAME
from torch_tb_profiler.analysis.job_roles.evidence import KERNEL, RANGE, WINDOW
from torch_tb_profiler.analysis.job_roles.generation import generations
from torch_tb_profiler.analysis.job_roles.lanes import BusyLanes, rank_lanes, role_lanes
from torch_tb_profiler.analysis.job_roles.times import role_times
from torch_tb_profiler.knowledge.job_roles import roles_by_name
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.roles.columns import GENERATIONS, ROLE_PERIODS, ROLES
from torch_tb_profiler.views.schema import Line, Series, Table, TableSpec

FIRST_ROWS = 2000
"""Periods that come with the view: the longest; more where the table itself is asked for."""

MOST_LANES = 32
"""Ranks that a chart shows one by one; of more only the roles."""

_SOURCES = {NAME: "name", RANGE: "ranges", WINDOW: "scheduler windows", KERNEL: "kernels"}
_UNKNOWN = "Not known"
_BETWEEN = "Between roles"
UNALIGNED = (
    "The files are not stamped with the time of a clock, so ranks cannot be compared in time."
)


def role_title(role: str | None) -> str:
    """The title of a role."""
    if role is None:
        return _UNKNOWN
    return _BETWEEN if role == BETWEEN else roles_by_name()[role].title


def _titles(roles: pl.Series) -> pl.Series:
    distinct = roles.unique()
    titles = {role: role_title(role) for role in distinct.to_list()}
    return pl.Series(roles.name, [titles[role] for role in roles.to_list()], dtype=pl.String)


def roles_table(activity: JobActivity, traces: Mapping[str, Trace]) -> Table:
    """The ``roles`` table."""
    times = role_times(activity)
    members = times["workers"].to_list()
    count = pl.col("workers").list.len()
    mean_us = pl.col(
        "window_ns", "computation_ns", "communication_ns", "busy_ns", "bubble_ns",
        "waiting_ns", "other_ns",
    ) / (1000 * count)  # fmt: skip
    frame = times.with_columns(
        mean_us.name.map(lambda key: f"{key.removesuffix('_ns')}_us"),
        _titles(times["role"]),
        pl.Series("ranks", [_ranks(rows, traces, activity) for rows in members], dtype=pl.String),
        pl.Series(
            "known_by",
            [_known_by(rows, activity) for rows in members],
            dtype=pl.String,
        ),
        workers=count,
        other=_titles(times["other"]).set(times["other"].is_null(), None),
    ).with_columns(
        pl.when(pl.col("window_us") > 0)
        .then(100 * pl.col(f"{key}_us") / pl.col("window_us"))
        .alias(f"{key}_pct")
        for key in ("busy", "bubble", "waiting")
    )
    reasons = {} if activity.is_aligned else dict.fromkeys(("waiting_us", "waiting_pct"), UNALIGNED)
    return _table(ROLES, frame, reasons)


def _ranks(rows: Iterable[int], traces: Mapping[str, Trace], activity: JobActivity) -> str:
    """The ranks of workers; their names where one has no rank, or two have the same."""
    workers = [activity.workers[row] for row in rows]
    ranks = [own_rank(traces[worker]) for worker in workers]
    known = [rank for rank in ranks if rank is not None]
    if len(set(known)) == len(workers):
        return rank_text(known)
    shown = ", ".join(workers[:4])
    return shown if len(workers) <= 4 else f"{shown} … ({len(workers)} ranks)"


def _known_by(rows: Iterable[int], activity: JobActivity) -> str | None:
    sources = {activity.ranks[row].source for row in rows}
    named = [text for source, text in _SOURCES.items() if source in sources]
    return ", ".join(named) or None


def periods_table(
    activity: JobActivity, periods: pl.DataFrame, traces: Mapping[str, Trace]
) -> Table:
    """The ``role_periods`` table: the longest periods, all where the table is asked for.

    Args:
        activity: Of the job.
        periods: :func:`~torch_tb_profiler.analysis.job_roles.times.period_times` of it.
        traces: Of the job, by worker.
    """
    ranks = pl.Series([own_rank(trace) for trace in traces.values()], dtype=pl.Int64)
    workers = pl.Series(activity.workers, dtype=pl.String)
    duration = pl.col("end_ns") - pl.col("start_ns")
    rows = periods.with_columns(duration_ns=duration).sort(
        "duration_ns", descending=True, maintain_order=True
    )

    def filled(count: int) -> Table:
        first = rows.head(count)
        frame = first.with_columns(
            worker=workers.gather(first["worker"]),
            rank=ranks.gather(first["worker"]),
            role=_titles(first["role"]),
            busy_pct=100 * pl.col("busy_ns") / pl.col("duration_ns"),
            **{
                f"{key}_us": pl.col(f"{key}_ns") / 1000
                for key in ("start", "end", "duration", "busy")
            },
        ).sort("start_us", "worker", maintain_order=True)
        return _table(ROLE_PERIODS, frame, {"rank": "The rank was not recorded."})

    if rows.height <= FIRST_ROWS:
        return filled(rows.height)
    return replace(filled(FIRST_ROWS), row_count=rows.height, all_rows=lambda: filled(rows.height))


def generations_table(activity: JobActivity, periods: pl.DataFrame) -> tuple[Table, str | None]:
    """The ``generations`` table, and why it has no rows."""
    rows, reason = generations(periods)
    since = {
        f"{key}_us": (pl.col(f"{key}_end_ns") - pl.col("start_ns")) / 1000
        for key in ("first", "median")
    }
    frame = rows.with_columns(
        start_us=pl.col("start_ns") / 1000,
        duration_us=(pl.col("last_end_ns") - pl.col("start_ns")) / 1000,
        tail_us=(pl.col("last_end_ns") - pl.col("median_end_ns")) / 1000,
        idle_us=pl.col("idle_ns") / (1000 * pl.col("workers")),
        last_worker=pl.Series(activity.workers, dtype=pl.String).gather(rows["last_worker"]),
        **since,
    ).with_columns(tail_pct=100 * pl.col("tail_us") / pl.col("duration_us"))
    spec = GENERATIONS if reason is None else replace(GENERATIONS, when_empty=reason)
    return Table(spec, _declared(GENERATIONS, frame)), reason


def activity_series(activity: JobActivity) -> dict[str, Series]:
    """Busy shares over time: of the roles, and of the ranks where these are few."""
    series = {
        "role_activity": _series(
            "Busy over time, by role", role_lanes(activity), lambda role: role_title(role or None)
        )
    }
    if len(activity.workers) <= MOST_LANES:
        lanes = rank_lanes(activity)
        series["rank_activity"] = _series("Busy over time, by rank", lanes)
    return series


def _series(title: str, lanes: BusyLanes, names: Callable[[str], str] = str) -> Series:
    x = (lanes.start_ns / 1000).tolist()
    shares = np.round(100 * lanes.busy, 2)
    lines = tuple(
        Line(names(name), x, [None if isnan(value) else value for value in row.tolist()])
        for name, row in zip(lanes.names, shares, strict=True)
    )
    return Series(title, "stair", "Time", "us", "Busy", "pct", lines)


def _declared(spec: TableSpec, frame: pl.DataFrame) -> pl.DataFrame:
    schema = spec.polars_schema()
    return frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())


def _table(spec: TableSpec, frame: pl.DataFrame, reasons: Mapping[str, str]) -> Table:
    shown = _declared(spec, frame)
    return Table(spec, shown, needed(shown, reasons))
