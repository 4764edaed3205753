"""What one side of a comparison says: operators, kernels and modules, in total and by step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.codes import of_names
from torch_tb_profiler.analysis.modules.times import module_times
from torch_tb_profiler.analysis.modules.tree import module_tree
from torch_tb_profiler.analysis.selection import (
    device_work_mask,
    device_work_steps,
    slice_mask,
    slice_steps,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, whole_nanoseconds
from torch_tb_profiler.views.compare.steps import StepBasis, step_samples, unknown_samples
from torch_tb_profiler.views.compare.tables import Measure, Side
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.modules.view import modules
from torch_tb_profiler.views.null_reasons import no_device_time
from torch_tb_profiler.views.operators.view import operator_calls, operators

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


@dataclass(frozen=True, slots=True, eq=False)
class NamedSide:
    """A side whose rows have names: ``names[i]`` is row ``i``."""

    names: list[str]
    side: Side


def _values(
    frame: pl.DataFrame, measures: tuple[Measure, ...], divisor: float
) -> dict[str, Float64]:
    values = {}
    for measure in measures:
        column = frame[measure.key].cast(pl.Float64).fill_null(np.nan).to_numpy()
        if measure.unit == "us" and not measure.is_mean:
            column = whole_nanoseconds(column) / (divisor * NS_PER_US)
        elif not measure.is_mean:
            column = column / divisor
        values[measure.key] = column
    return values


def _device_reasons(trace: Trace, keys: tuple[str, ...]) -> dict[str, str]:
    unknown = no_device_time(trace)
    return {} if unknown is None else dict.fromkeys(keys, unknown)


def operator_side(basis: StepBasis) -> NamedSide:
    """Operators by name."""
    trace = basis.trace
    frame = operators(trace, replace(basis.selection, group_by=None)).tables["operators"].frame
    names: list[str] = frame["name"].to_list()
    calls = operator_calls(trace)
    slices = calls["slice"].to_numpy()
    mask = slice_mask(trace, basis.selection)[slices]
    key = _row_of_name(trace, names, calls["name_code"].to_numpy()[mask])
    step = slice_steps(trace)[slices[mask]]
    samples = {
        f"{stem}_us": step_samples(
            basis, key, step, calls[f"{stem}_ns"].to_numpy()[mask] / NS_PER_US, keys=len(names)
        )
        for stem in ("device_self", "host_self")
    }
    values = _values(frame, OPERATOR_MEASURES, basis.divisor)
    reasons = _device_reasons(trace, ("device_self_us", "device_total_us"))
    return NamedSide(names, Side(len(names), values, samples, reasons))


def kernel_side(basis: StepBasis) -> NamedSide:
    """Kernels by name."""
    trace = basis.trace
    frame = kernels(trace, replace(basis.selection, group_by=None)).tables["kernels"].frame
    names: list[str] = frame["name"].to_list()
    work = trace.device_work
    is_kernel = (work["category"] == Category.KERNEL).to_numpy()
    rows = np.flatnonzero(is_kernel & device_work_mask(trace, basis.selection))
    key = _row_of_name(trace, names, work["name_code"].to_numpy()[rows])
    step = device_work_steps(trace)[rows]
    duration = work["dur_ns"].to_numpy()[rows] / NS_PER_US
    samples = {"total_us": step_samples(basis, key, step, duration, keys=len(names))}
    values = _values(frame, KERNEL_MEASURES, basis.divisor)
    reasons = _device_reasons(trace, tuple(measure.key for measure in KERNEL_MEASURES))
    return NamedSide(names, Side(len(names), values, samples, reasons))


def _row_of_name(trace: Trace, names: list[str], name_code: Int64) -> Int64:
    """The row of each code's text among ``names``."""
    row = {name: place for place, name in enumerate(names)}
    found: Int64 = of_names(trace, name_code, row.__getitem__, np.int64)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class ModuleSide:
    """Modules: the rows of the module table, and their numbers."""

    frame: pl.DataFrame
    side: Side


def module_side(basis: StepBasis) -> ModuleSide:
    """Modules by place in the tree."""
    trace = basis.trace
    table = modules(trace, basis.selection).tables["modules"]
    tree = module_tree(trace)
    times = module_times(trace)
    mask = slice_mask(trace, basis.selection)[tree.slice]
    row = {path: place for place, path in enumerate(table.frame["path"])}
    row_of_node = np.array([row.get(path, -1) for path in tree.nodes.path], np.int64)
    key = row_of_node[tree.node[mask]] if tree.count else np.empty(0, np.int64)
    step = slice_steps(trace)[tree.slice[mask]]
    height = table.frame.height
    samples = {
        f"{stem}_us": step_samples(basis, key, step, total_ns[mask] / NS_PER_US, keys=height)
        if tree.count
        else unknown_samples(height)
        for stem, total_ns in (
            ("host_total", times.host_total_ns),
            ("device_total", times.device_total_ns),
        )
    }
    values = _values(table.frame, MODULE_MEASURES, basis.divisor)
    side = Side(table.frame.height, values, samples, dict(table.null_reasons))
    return ModuleSide(table.frame, side)
