"""The host waits for the device, and then the device for the host."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import CALLS, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.sources import operator_rows
from torch_tb_profiler.advice.synchronizations import waiting_calls
from torch_tb_profiler.analysis.forests import covered_lengths, gather, indices
from torch_tb_profiler.analysis.intervals import union
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "host_synchronization"
OUTSIDE = "(no operator)"
EVIDENCE = TableSpec(
    CODE,
    "Waiting calls",
    "One row per caller and call, those with most idle time after them first.",
    (
        Column(
            "operator",
            "Caller",
            "string",
            None,
            "The operator that made the call, else the Python function, else the call itself.",
        ),
        Column("call", "Call", "string", None, "The call that waits for the device."),
        Column("frame", "Python function", "string", None, "The innermost one around the call."),
        CALLS,
        Column("waited_us", "Waited", "number", "us", "How long the host waited, summed."),
        Column(
            "idle_us",
            "Idle after",
            "number",
            "us",
            "How long no device had work after the calls returned, summed.",
        ),
    ),
)
REASONS = {"frame": "No Python function was recorded around these calls (with_stack)."}


def detect(context: Context) -> Finding | None:
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
    # Calls outside operators are in no table; what they cost is in the runtime of the steps.
    source = operator_rows(context, groups["owner"][0]) or {
        "view": "overview",
        "table": "steps",
        "sort": "-runtime_us",
    }
    return Finding(
        CODE,
        share,
        idle / NS_PER_US,
        values={
            "calls": calls.height,
            "operator": groups["operator"][0],
        },
        evidence=filled(EVIDENCE, groups.head(int(known.parameters["max_rows"])), REASONS),
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
    groups = (
        calls.select("name_code", "dur_ns")
        .with_columns(
            owner=pl.Series(owner), frame_code=pl.Series(frame), idle_ns=pl.Series(idle_ns)
        )
        .group_by("owner", "name_code", "frame_code")
        .agg(pl.len().alias("calls"), pl.col("dur_ns", "idle_ns").sum())
        .sort("idle_ns", "calls", "owner", descending=[True, True, False])
    )
    callers = [
        _caller(*(context.trace.text(code) for code in codes))
        for codes in groups.select("owner", "frame_code", "name_code").iter_rows()
    ]
    return groups.with_columns(
        operator=pl.Series(callers, dtype=pl.String),
        call=context.texts(groups["name_code"]),
        frame=context.texts(groups["frame_code"]),
        waited_us=microseconds(groups["dur_ns"]),
        idle_us=microseconds(groups["idle_ns"]),
    )


def _caller(owner: str | None, frame: str | None, call: str | None) -> str:
    """Who made the call: the operator, else the python frame, else the call itself."""
    if owner is not None and not owner.startswith("ProfilerStep#"):
        return owner
    return frame or call or OUTSIDE
