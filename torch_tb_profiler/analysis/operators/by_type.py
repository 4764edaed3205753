"""The calls of operators by type of operator, and what no operator is around.

Definitions: ``docs/metrics.md#operator-types``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.algebra.grouped_intervals import span_lengths, union_lengths
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import selected_operator_calls
from torch_tb_profiler.analysis.operators.identity import operator_identity, operator_types_of_calls
from torch_tb_profiler.analysis.operators.times import MEASURES, call_times, times_by_group
from torch_tb_profiler.analysis.operators.unattributed_work import work_outside
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def same_type_around(trace: Trace) -> Int64:
    """Per call of :func:`call_tree` the slice of the nearest call of its type around it, -1 for
    none; made once."""
    tree, kind = call_tree(trace), operator_types_of_calls(trace)
    around = np.full(len(kind), -1, np.int64)
    for each in distinct_values(kind).tolist():
        is_of_type = kind == each
        calls = np.flatnonzero(is_of_type & (tree.parent >= 0))
        nearest = gather(nearest_marked(tree.parent, is_of_type), tree.parent[calls])
        around[calls] = gather(tree.slice, nearest)
    return around


def operators_by_type(trace: Trace, selection: Selection) -> pl.DataFrame:
    """One row per type (``-1``: no rule knows it), in order of first call.

    Columns: type (place in ``knowledge.operator_types.TYPES``); operators, calls; eligible and used
    (verdicts on Tensor Cores); host_self_ns, device_self_ns; and the measures of
    :func:`times_by_group`, of which those of the GPU count what overlaps inside a call once.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = selected_operator_calls(trace, selection)
    call = calls["call"].to_numpy()
    times = call_times(trace, selection, calls)
    calls = calls.with_columns(
        *(times[key] for key in ("cpu_overhead_ns", "gpu_idle_ns", "kernel_calls")),
        # Flattened: work on parallel streams counts once.
        times["gpu_busy_ns"].alias("device_total_ns"),
        type=pl.Series(operator_types_of_calls(trace)[call]),
        around=pl.Series(same_type_around(trace)[call]),
        operator=pl.Series(operator_identity(trace).operator[call]),
        is_used=pl.col("tensor_core_total_ns") > 0,
    )
    groups = calls.group_by("type", maintain_order=True).agg(
        pl.col("operator").filter(pl.col("calls") > 0).n_unique().alias("operators"),
        pl.col("calls").sum(),
        pl.col("eligible").max(),
        pl.when(pl.col("is_used").any())
        .then(1)
        .when(pl.col("unknown_total").any())
        .then(-1)
        .otherwise(0)
        .alias("used"),
        pl.col("host_self_ns", "device_self_ns").sum(),
    )
    return groups.hstack(times_by_group(calls, ["type"]).drop("type"))


def unassociated_work(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Selected device work outside every operator, by the host call that launched it, or by the
    kernel where the file does not tell.

    Columns: name_code; calls (of launching calls in the selection; of kernels); used (verdict);
    device_self_ns; and the measures as in :func:`operators_by_type`, null where there is no call
    of the host.

    Raises:
        SelectionError: as :func:`operators_by_type`.
    """
    outside = work_outside(trace)
    work = outside.filter(
        pl.Series(device_work_mask(trace, selection)[outside["row"].to_numpy()], dtype=pl.Boolean)
    )
    row, launch = work["row"].to_numpy(), work["launch"].to_numpy()
    has_launch = launch >= 0
    launches, number = factorize(launch[has_launch])
    instance = np.empty(len(row), np.int64)
    instance[has_launch] = number
    instance[~has_launch] = len(launches) + np.arange(np.count_nonzero(~has_launch))
    count = len(launches) + int(np.count_nonzero(~has_launch))
    device = trace.device_work
    start_ns = device["start_ns"].to_numpy()[row]
    end_ns = start_ns + device["dur_ns"].to_numpy()[row]
    busy = union_lengths(instance, start_ns, end_ns, count)
    idle = span_lengths(instance, start_ns, end_ns, count) - busy
    host = np.append(launches, np.full(count - len(launches), -1))
    is_call = (host < 0) | np.append(slice_mask(trace, selection), True)[host]
    kernel = np.empty(count, np.int64)
    kernel[instance] = indices(device["name_code"])[row]
    instances = pl.DataFrame(
        {
            "name_code": np.where(
                host >= 0, gather(indices(trace.slices["name_code"]), host), kernel
            ),
            "is_launch": host >= 0,
            "calls": is_call.astype(np.int64),
            "gpu": busy,
            "gpu_idle": idle,
            **_host_times(trace, host, is_call),
        }
    ).with_columns(pl.col("cpu", "cpu_overhead").replace(-1, None))
    verdicts = _verdicts(
        work.select("dur_ns", "tensor_core_ns", "unknown").hstack(
            instances.select("name_code", "is_launch")[instance]
        )
    )
    return verdicts.join(_statistics(instances), on=["name_code", "is_launch"], how="left")


def _verdicts(work: pl.DataFrame) -> pl.DataFrame:
    """Per name the time of its device work and whether it uses Tensor Cores."""
    used = (
        pl.when((pl.col("tensor_core_ns") > 0).any())
        .then(1)
        .when(pl.col("unknown").any())
        .then(-1)
        .otherwise(0)
    )
    return work.group_by("name_code", "is_launch", maintain_order=True).agg(
        pl.col("dur_ns").sum().alias("device_self_ns"), used.alias("used")
    )


def _host_times(trace: Trace, host: Int64, is_call: Int64) -> dict[str, Int64]:
    """Range and overhead of launching calls; -1 for none, or one outside the selection."""
    slices = trace.slices
    duration = gather(slices["dur_ns"].to_numpy(), host)
    category = gather(slices["category"].to_numpy().astype(np.int64), host)
    known = (host >= 0) & is_call.astype(np.bool_)
    overhead = np.where(category == Category.RUNTIME, 0, duration)
    return {
        "cpu": np.where(known, duration, -1),
        "cpu_overhead": np.where(known, overhead, -1),
    }


def _statistics(instances: pl.DataFrame) -> pl.DataFrame:
    """Calls and measures of launching calls by name."""
    is_call = pl.col("calls") > 0
    return instances.group_by("name_code", "is_launch", maintain_order=True).agg(
        pl.col("calls").sum(),
        *(
            expression.alias(f"{measure}_{statistic}")
            for measure in MEASURES
            for each in (pl.col(measure).filter(is_call),)
            for statistic, expression in (
                ("total", pl.when(pl.col(measure).count() > 0).then(pl.col(measure).sum())),
                ("mean", each.mean()),
                ("min", each.min()),
                ("max", each.max()),
            )
        ),
    )
