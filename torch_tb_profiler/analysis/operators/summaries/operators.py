"""Operators summed by name, with what they are made of: inner parts, kernels, copies and memsets.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.summaries.calls import (
    calls_of,
    selected_calls,
    summed,
    threads,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

INNER, DEVICE = "inner", "device"
"""Kinds of what operators are made of."""


@per_trace
def _calls(trace: Trace) -> pl.DataFrame:
    """The calls of operators, as :func:`calls_of`, with ``is_root`` (no operator is around it)."""
    tree = call_tree(trace)
    gpu_ns = indices(trace.slices["device_total_ns"][tree.slice])
    return calls_of(trace, tree.slice, gpu_ns).with_columns(is_root=pl.Series(tree.parent < 0))


@per_trace
def _parts(trace: Trace) -> pl.DataFrame:
    """What is directly inside calls of operators: operators, parts that a format names itself
    (Paddle's ``OperatorInner``), and device work; as :func:`calls_of`, with ``outer`` (slice of the
    call) and ``kind``. Device work has no cpu_ns."""
    tree, slices = call_tree(trace), trace.slices
    parent = tree.parent
    below = np.flatnonzero(parent >= 0)
    inner, around = tree.slice[below], tree.slice[parent[below]]
    own, own_around = _named_parts(trace)
    ids = np.concatenate((inner, own))
    gpu_ns = np.concatenate((indices(slices["device_total_ns"][inner]), _launched_in(trace, own)))
    order = np.argsort(ids, kind="stable")
    hosts = calls_of(trace, ids[order], gpu_ns[order]).with_columns(
        outer=pl.Series(np.concatenate((around, own_around))[order]), kind=pl.lit(INNER)
    )
    work = trace.device_work
    rows = np.flatnonzero(tree.is_own)
    device = work.select("name_code", "start_ns", slice="slice", gpu_ns="dur_ns")[rows]
    return pl.concat(
        [
            hosts,
            device.with_columns(
                track=slices["track"][work["slice"].to_numpy()[rows]],
                cpu_ns=pl.lit(None, pl.Int64),
                outer=pl.Series(tree.slice[tree.owner[rows]]),
                kind=pl.lit(DEVICE),
            ).select(hosts.columns),
        ]
    )


def _named_parts(trace: Trace) -> tuple[Int64, Int64]:
    """Parts that the format names, directly inside operators, and the slice of the operator; one
    inside another is a part of that."""
    ids = np.flatnonzero(trace.slices["category"].to_numpy() == Category.HOST_OTHER)
    start = trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    outer = innermost_around_start(trace, call_tree(trace).slice, ids)
    inside = outer >= 0
    inside[inside] = end[ids[inside]] <= end[outer[inside]]
    ids, outer = ids[inside], outer[inside]
    parts = pl.DataFrame({"outer": outer, "start": start[ids], "end": end[ids]})
    before = pl.col("end").cum_max().shift(1).over("outer")
    is_direct = (before.is_null() | (pl.col("start") >= before)).alias("is_direct")
    direct = parts.select(is_direct)["is_direct"].to_numpy()
    return ids[direct], outer[direct]


def _launched_in(trace: Trace, slices: Int64) -> Int64:
    """Device work launched inside each of ``slices`` (ascending, none in another), in ns."""
    launch = indices(trace.device_work["launch"])
    host_slice = innermost_around_start(trace, slices, launch)
    sums = np.zeros(len(slices), np.int64)
    known = np.flatnonzero(host_slice >= 0)
    at = np.searchsorted(slices, host_slice[known])
    np.add.at(sums, at, trace.device_work["dur_ns"].to_numpy()[known])
    return sums


def operator_summary(
    trace: Trace, selection: Selection, *, by_thread: bool = False
) -> pl.DataFrame:
    """Operators of a selection: ``name``, ``thread`` (null where threads are merged), the columns
    of :func:`summed`, and ``cpu_whole_ns`` and ``gpu_whole_ns``: the time of the thread's calls
    that no operator is around.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = _selected(trace, selection, _calls(trace), by_thread)
    groups = summed(calls, ["name_code", "thread"])
    wholes = (
        calls.filter("is_root")
        .group_by("thread")
        .agg(cpu_whole_ns=pl.col("cpu_ns").sum(), gpu_whole_ns=pl.col("gpu_ns").sum())
    )
    named = groups.with_columns(name=codes.texts(trace, groups["name_code"]))
    return named.join(wholes, on="thread", how="left", nulls_equal=True, maintain_order="left")


def operator_parts(trace: Trace, selection: Selection, *, by_thread: bool = False) -> pl.DataFrame:
    """What the operators of :func:`operator_summary` are made of: ``operator``, ``thread``,
    ``kind``, ``name`` and the columns of :func:`summed`.

    Raises:
        SelectionError: as there.
    """
    outer = _selected(trace, selection, _calls(trace), by_thread).select(
        "thread", outer="slice", operator_code="name_code"
    )
    parts = _parts(trace).join(outer, on="outer", how="inner", maintain_order="left")
    groups = summed(parts, ["operator_code", "thread", "kind", "name_code"])
    return groups.with_columns(
        operator=codes.texts(trace, groups["operator_code"]),
        name=codes.texts(trace, groups["name_code"]),
    )


def _selected(
    trace: Trace, selection: Selection, calls: pl.DataFrame, by_thread: bool
) -> pl.DataFrame:
    calls = selected_calls(trace, selection, calls)
    if by_thread:
        return calls.with_columns(thread=threads(trace)[calls["track"].to_numpy()])
    return calls.with_columns(thread=pl.lit(None, pl.String))
