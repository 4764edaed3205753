"""The host waits for the device, and then the device for the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.advice.sources import operator_rows
from torch_tb_profiler.advice.synchronizations import waiting_calls
from torch_tb_profiler.analysis.forests import covered_lengths, gather, indices
from torch_tb_profiler.analysis.intervals import union
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int64

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
    groups = _groups(context, calls, idle_end - idle_start)
    rows = [_row(context, group) for group in groups.iter_rows(named=True)]
    # Calls outside operators are in no table; what they cost is in the runtime of the steps.
    source = operator_rows(context, groups["owner"][0]) or {
        "view": "overview",
        "table": "steps",
        "sort": "-runtime_us",
    }
    return Advice(
        CODE,
        share,
        idle / 1000,
        values={
            "calls": calls.height,
            "operator": rows[0]["operator"],
        },
        rows=tuple(rows[: int(known.parameters["max_rows"])]),
        source=source,
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


def _groups(context: Context, calls: pl.DataFrame, idle_ns: Int64) -> pl.DataFrame:
    """Calls by the operator that made them (``owner``, a name code, -1 for none), those with most
    idle time first."""
    names = context.trace.slices["name_code"]
    owner = gather(indices(names), indices(calls["parent"]))
    frame = gather(indices(names), indices(calls["frame"]))
    return (
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


def _row(context: Context, group: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operator": _operator(context, group),
        "call": context.trace.text(group["name_code"]),
        "frame": context.trace.text(group["frame"]),
        "calls": group["calls"],
        "waited_us": group["waited_us"],
        "idle_us": group["idle_us"],
    }


def _operator(context: Context, row: Mapping[str, Any]) -> str:
    """Who made the call: the operator, else the python frame, else the call itself."""
    owner = context.trace.text(row["owner"])
    if owner is not None and not owner.startswith("ProfilerStep#"):
        return owner
    return context.trace.text(row["frame"]) or context.trace.text(row["name_code"]) or OUTSIDE
