"""What each role of a job costs: busy time, idle time, and what the other roles did meanwhile.

Definitions: ``docs/views-roles.md#definitions``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, total_within, union, union_all
from torch_tb_profiler.analysis.job_roles.activity import BETWEEN, JobActivity

ROLE_TIMES: dict[str, Any] = {
    "role": pl.String,  # null: ranks whose role is unknown
    "workers": pl.List(pl.Int64),
    "window_ns": pl.Int64,  # of all ranks together, as all times
    "computation_ns": pl.Int64,
    "communication_ns": pl.Int64,
    "busy_ns": pl.Int64,
    "bubble_ns": pl.Int64,
    "waiting_ns": pl.Int64,  # part of the bubble; null where clocks are not aligned
    "other": pl.String,  # the role that was busy for most of the bubble
    "other_ns": pl.Int64,
}


def role_times(activity: JobActivity) -> pl.DataFrame:
    """One row per role, as :data:`ROLE_TIMES`: known roles in order, then the time between the
    roles of ranks with several, then ranks of unknown role."""
    windows = activity.windows
    window = (windows["end_ns"] - windows["start_ns"]).alias("window_ns")
    busy = activity.covered_ns(activity.busy, windows)
    frame = windows.select("role", "worker").with_columns(
        window,
        computation_ns=activity.covered_ns(activity.computing, windows),
        communication_ns=activity.covered_ns(activity.communicating, windows),
        busy_ns=busy,
        bubble_ns=window.to_numpy() - busy,
    )
    sums = frame.group_by("role").agg(
        pl.col("worker").unique().sort().alias("workers"), pl.exclude("worker").sum()
    )
    order = [*activity.roles, BETWEEN, None]
    by_role = {row["role"]: row for row in sums.iter_rows(named=True)}
    waits = _waits(activity)
    rows = [{**by_role[role], **waits.get(role, {})} for role in order if role in by_role]
    return pl.DataFrame(rows, schema=ROLE_TIMES)


def _waits(activity: JobActivity) -> dict[str | None, dict[str, object]]:
    """Per role the time of its bubble in which ranks of other roles were busy, and the role that
    was so for the longest time."""
    if not activity.is_aligned:
        return {}
    role = activity.windows["role"]
    busy, idle = (
        pieces.with_columns(role=role.gather(pieces["window"]))
        for pieces in (
            activity.busy_pieces(activity.windows),
            activity.idle_pieces(activity.windows),
        )
    )
    work = {each: _union(busy.filter(role=each)) for each in activity.roles}
    waits: dict[str | None, dict[str, object]] = {}
    for each in (*activity.roles, BETWEEN, None):
        pieces = idle.filter(pl.col("role").eq_missing(pl.lit(each, pl.String)))
        start, end = pieces["start_ns"].to_numpy(), pieces["end_ns"].to_numpy()
        others = [other for other in activity.roles if other != each]
        spent = {other: int(total_within(work[other], start, end).sum()) for other in others}
        most = max(spent, key=lambda other: spent[other], default=None)
        any_other = union_all(*(work[other] for other in others))
        waits[each] = {
            "waiting_ns": int(total_within(any_other, start, end).sum()),
            "other": most if most is not None and spent[most] else None,
            "other_ns": spent[most] if most is not None and spent[most] else None,
        }
    return waits


def _union(pieces: pl.DataFrame) -> Intervals:
    return union(pieces["start_ns"].to_numpy(), pieces["end_ns"].to_numpy())


def period_times(activity: JobActivity) -> pl.DataFrame:
    """The windows, and the phases of ranks with one role, with ``busy_ns`` and ``busy_end_ns``, the
    end of the last work in each (null where there is none)."""
    windows = pl.concat([activity.windows, activity.phases])
    last = activity.busy_pieces(windows).group_by("window").agg(busy_end_ns=pl.col("end_ns").max())
    counted = windows.with_columns(
        busy_ns=activity.covered_ns(activity.busy, windows), window=np.arange(windows.height)
    )
    return counted.join(last, on="window", how="left", maintain_order="left").drop("window")
