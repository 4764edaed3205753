"""The host waits for the device, and then the device for the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.advice.synchronizations import waiting_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.views.forests import covered_lengths, gather, indices
from torch_tb_profiler.views.intervals import union

CODE = "host_synchronization"
OUTSIDE = "(no operator)"


def detect(context: Context) -> Advice | None:
    """After synchronising calls the devices stand idle for more than the threshold of the step.

    The gain is that idle time: from the end of a wait that left no work on any device, until the
    next work begins or the step ends.
    """
    calls = waiting_calls(context.trace)
    calls = calls.filter(pl.Series(context.inside(calls["start_ns"].to_numpy())))
    if calls.is_empty() or context.work.is_empty():
        return None
    idle_start, idle_end = _idle_after(context, calls)
    one_group = np.zeros(len(idle_start), np.int64)
    (idle_ns,) = covered_lengths(one_group, idle_start, idle_end, 1)
    idle = context.per_step(float(idle_ns))
    share = context.share_pct(idle)
    known = entry(CODE)
    if share <= known.threshold:
        return None
    rows = _rows(context, calls, idle_end - idle_start)
    return Advice(
        CODE,
        share,
        idle / 1000,
        values={
            "calls": calls.height,
            "operator": rows[0]["operator"],
        },
        rows=tuple(rows[: int(known.parameters["max_rows"])]),
        source={"view": "operators", "table": "operators", "filter": "name~_local_scalar_dense"},
        architecture=context.architecture_name,
    )


def _idle_after(context: Context, calls: pl.DataFrame) -> tuple[Int64, Int64]:
    """Per call the idle stretch that begins where it returns; empty where work is under way."""
    work = context.trace.device_work
    start = work["start_ns"].to_numpy()
    busy = union(start, start + work["dur_ns"].to_numpy())
    returned = (calls["start_ns"] + calls["dur_ns"]).to_numpy()
    row = np.searchsorted(context.windows.start_ns, calls["start_ns"].to_numpy(), "right") - 1
    limit = context.windows.end_ns[row]
    following = np.searchsorted(busy.start_ns, returned, "right")
    none = np.iinfo(np.int64).max
    next_start = np.append(busy.start_ns, none)[following]
    last_end = np.append(np.int64(-none), busy.end_ns)[following]
    idle_end = np.where(last_end > returned, returned, np.minimum(next_start, limit))
    return returned, np.maximum(idle_end, returned)


def _rows(context: Context, calls: pl.DataFrame, idle_ns: Int64) -> list[dict[str, Any]]:
    """Calls by the operator that made them, those with most idle time first."""
    names = context.trace.slices["name_code"]
    owner = gather(indices(names), indices(calls["parent"]))
    frame = gather(indices(names), indices(calls["frame"]))
    groups = (
        calls.select("name_code", "dur_ns")
        .with_columns(owner=pl.Series(owner), frame=pl.Series(frame), idle_ns=pl.Series(idle_ns))
        .group_by("owner", "name_code", "frame")
        .agg(
            pl.len().alias("calls"),
            (pl.col("dur_ns").sum() / 1000).alias("waited_us"),
            (pl.col("idle_ns").sum() / 1000).alias("idle_us"),
        )
        .sort("idle_us", "calls", "owner", descending=[True, True, False])
    )
    return [
        {
            "operator": _operator(context, row),
            "call": context.trace.text(row["name_code"]),
            "frame": context.trace.text(row["frame"]),
            "calls": row["calls"],
            "waited_us": row["waited_us"],
            "idle_us": row["idle_us"],
        }
        for row in groups.iter_rows(named=True)
    ]


def _operator(context: Context, row: dict[str, Any]) -> str:
    """Who made the call: the operator, else the python frame, else the call itself."""
    owner = context.trace.text(row["owner"])
    if owner is not None and not owner.startswith("ProfilerStep#"):
        return owner
    return context.trace.text(row["frame"]) or context.trace.text(row["name_code"]) or OUTSIDE
