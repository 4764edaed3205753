"""What one side of a comparison says: operators, kernels and modules, in total and by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.operators.calls import operator_groups, selected_operator_calls
from torch_tb_profiler.analysis.operators.modules.sums import module_sums
from torch_tb_profiler.analysis.operators.modules.times import module_times
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.steps.masks import (
    device_work_mask,
    device_work_steps,
    slice_mask,
    slice_steps,
)
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.compare.steps import StepBasis, step_samples, unknown_samples
from torch_tb_profiler.views.compare.tables import Measure, Side

OPERATOR_MEASURES = (
    Measure("calls", "Calls", "count"),
    Measure("device_self_us", "Device Self", "us", sampled=True),
    Measure("device_total_us", "Device Total", "us"),
    Measure("host_self_us", "Host Self", "us", sampled=True),
    Measure("host_total_us", "Host Total", "us"),
)
KERNEL_MEASURES = (
    Measure("calls", "Calls", "count"),
    Measure("total_us", "Total", "us", sampled=True),
    Measure("mean_us", "Mean", "us", is_mean=True),
)
MODULE_MEASURES = (
    Measure("occurrences", "Occurrences", "count"),
    Measure("host_total_us", "Host Total", "us", sampled=True),
    Measure("host_self_us", "Host Self", "us"),
    Measure("device_total_us", "Device Total", "us", sampled=True),
    Measure("device_self_us", "Device Self", "us"),
    Measure("backward_host_total_us", "Backward Host Total", "us"),
    Measure("backward_device_total_us", "Backward Device Total", "us"),
)


_DEVICE_TIMES = ("device_self_us", "device_total_us")


class NamedSide(Struct, frozen=True, eq=False):
    """A side whose rows have names: ``names[i]`` is row ``i``."""

    names: list[str]
    side: Side


def _values(
    sums: pl.DataFrame, measures: tuple[Measure, ...], divisor: float, unknown: Mapping[str, str]
) -> dict[str, Float64]:
    """The sums of each row, per step: NaN where the trace says nothing.

    Args:
        sums: Per measure a column of whole numbers, times in ns: ``…_ns`` for ``…_us``.
        measures: What is compared; means are left out.
        divisor: Among how many each sum is divided.
        unknown: Measures the trace says nothing about.
    """
    values = {}
    for measure in measures:
        if measure.is_mean:
            continue
        is_time = measure.unit == "us"
        column = sums[f"{measure.stem}_ns" if is_time else measure.key]
        values[measure.key] = column.cast(pl.Float64).fill_null(np.nan).to_numpy() / (
            divisor * (NS_PER_US if is_time else 1)
        )
        if measure.key in unknown:
            values[measure.key] = np.full(sums.height, np.nan)
    return values


def operator_side(basis: StepBasis) -> NamedSide:
    """Operators by name."""
    trace = basis.trace
    calls = selected_operator_calls(trace, basis.selection)
    groups = _ordered(
        trace, operator_groups(calls, ["name_code"]), "device_self_ns", "host_self_ns"
    )
    key = _row_of_code(trace, groups)[calls["name_code"].to_numpy()]
    step = slice_steps(trace)[calls["slice"].to_numpy()]
    samples = {
        f"{stem}_us": step_samples(
            basis, key, step, calls[f"{stem}_ns"].to_numpy() / NS_PER_US, keys=groups.height
        )
        for stem in ("device_self", "host_self")
    }
    no_time = no_device_time(trace)
    unknown = {} if no_time is None else dict.fromkeys(_DEVICE_TIMES, no_time)
    values = _values(groups, OPERATOR_MEASURES, basis.divisor, unknown)
    return NamedSide(groups["name"].to_list(), Side(groups.height, values, samples, unknown))


def kernel_side(basis: StepBasis) -> NamedSide:
    """Kernels by name."""
    trace = basis.trace
    calls = selected_kernel_calls(trace, basis.selection)
    groups = calls.group_by("name_code", maintain_order=True).agg(
        pl.len().alias("calls"), pl.col("dur_ns").sum().alias("total_ns")
    )
    groups = _ordered(trace, groups, "total_ns")
    key = _row_of_code(trace, groups)[calls["name_code"].to_numpy()]
    duration = calls["dur_ns"].to_numpy() / NS_PER_US
    shown = kernel_kinds(trace).is_kernel & device_work_mask(trace, basis.selection)
    step = device_work_steps(trace)[shown]
    samples = {"total_us": step_samples(basis, key, step, duration, keys=groups.height)}
    values = _values(groups, KERNEL_MEASURES, basis.divisor, {})
    values["mean_us"] = microseconds(groups["total_ns"], groups["calls"]).to_numpy()
    no_time = no_device_time(trace)
    keys = (measure.key for measure in KERNEL_MEASURES)
    reasons = {} if no_time is None else dict.fromkeys(keys, no_time)
    return NamedSide(groups["name"].to_list(), Side(groups.height, values, samples, reasons))


def _ordered(trace: Trace, groups: pl.DataFrame, *times: str) -> pl.DataFrame:
    """Groups with their ``name``, those with most time first, as in the tables of one trace."""
    named = groups.with_columns(codes.texts(trace, groups["name_code"]).alias("name"))
    order = [pl.col(key) for key in times] + [pl.col("name").str.to_lowercase()]
    return named.sort(order, descending=[*(True for _ in times), False], maintain_order=True)


def _row_of_code(trace: Trace, groups: pl.DataFrame) -> Int64:
    """Per string of the trace the row of its group."""
    row = np.zeros(len(trace.strings), np.int64)
    row[groups["name_code"].to_numpy()] = np.arange(groups.height)
    return row


class ModuleSide(Struct, frozen=True, eq=False):
    """Modules: ``path``, ``name`` and ``parent`` of each row, and their numbers; and the node that
    each row is in the tree, nothing where no tree was recorded."""

    frame: pl.DataFrame
    side: Side
    node: Int64


def module_side(basis: StepBasis) -> ModuleSide:
    """Modules by place in the tree."""
    trace = basis.trace
    sums = module_sums(trace, basis.selection)
    unknown = {
        f"{key.removesuffix('_ns')}_us" if key.endswith("_ns") else key: text
        for key, text in sums.unknown.items()
    }
    values = _values(sums.frame, MODULE_MEASURES, basis.divisor, unknown)
    height = sums.frame.height
    tree = module_tree(trace)
    times = {"host_total_us": "host_total_ns", "device_total_us": "device_total_ns"}
    samples = {key: unknown_samples(height) for key in times}
    if tree.count:
        mask = slice_mask(trace, basis.selection)[tree.slice]
        row = np.zeros(len(tree.nodes.path), np.int64)
        row[sums.node] = np.arange(height)
        step = slice_steps(trace)[tree.slice[mask]]
        for key, attribute in times.items():
            ns = getattr(module_times(trace), attribute)[mask]
            value = ns / NS_PER_US
            samples[key] = step_samples(basis, row[tree.node[mask]], step, value, keys=height)
    return ModuleSide(sums.frame, Side(height, values, samples, unknown), sums.node)
